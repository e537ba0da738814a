"""What an end means: each cause, stage and status against the ending it must get."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.machine.watch import (
    GUEST_WATCH,
    NATIVE_WATCH,
    Cause,
    Sight,
    Stage,
    Watch,
    clean,
    judge,
)
from benchgate.model import Deadlines, Ending

DEADLINES = Deadlines(boot_s=7, run_s=9)
CLOSED = Cause.CLOSED


@pytest.mark.parametrize(
    ("sight", "status", "ending"),
    [
        (Sight(CLOSED, Stage.ENDED), 33, Ending.DONE),
        (Sight(CLOSED, Stage.ENDED), 0, Ending.DONE),
        (Sight(CLOSED, Stage.ENDED), 35, Ending.FAILED),
        (Sight(CLOSED, Stage.ENDED), 1, Ending.EOF),
        (Sight(CLOSED, Stage.ENDED), -9, Ending.EOF),
        (Sight(CLOSED, Stage.ENDED), None, Ending.EOF),
        (Sight(CLOSED, Stage.RUNNING), 33, Ending.EOF),
        (Sight(CLOSED, Stage.RUNNING), 35, Ending.FAILED),
        (Sight(CLOSED, Stage.BOOTING), 0, Ending.EOF),
        (Sight(CLOSED, Stage.BOOTING), -6, Ending.EOF),
        (Sight(Cause.PANIC, Stage.ENDED), 33, Ending.PANIC),
        (Sight(Cause.FAILURE, Stage.ENDED), 33, Ending.FAILED),
        (Sight(Cause.DEADLINE, Stage.BOOTING), 0, Ending.BOOT_DEADLINE),
        (Sight(Cause.DEADLINE, Stage.RUNNING), 33, Ending.RUN_DEADLINE),
        (Sight(Cause.DEADLINE, Stage.ENDED), 33, Ending.RUN_DEADLINE),
        (Sight(Cause.FLOOD, Stage.RUNNING), 33, Ending.OUTPUT_LIMIT),
        (Sight(Cause.FINISHED, Stage.ENDED), 0, Ending.DONE),
    ],
)
def test_endings(sight: Sight, status: int | None, ending: Ending) -> None:
    found, detail = judge(sight, status, GUEST_WATCH, DEADLINES)
    assert found is ending
    assert (detail == "") == (ending is Ending.DONE)


@given(st.sampled_from(Cause), st.sampled_from(Stage), st.none() | st.integers(-64, 255))
def test_only_a_finished_console_is_done(cause: Cause, stage: Stage, status: int | None) -> None:
    ending, _ = judge(Sight(cause, stage), status, GUEST_WATCH, DEADLINES)
    good = cause is CLOSED and stage is Stage.ENDED and status in (0, 33)
    assert (ending is Ending.DONE) == (good or cause is Cause.FINISHED)


def test_without_an_end_line_the_status_decides() -> None:
    watch = Watch(success=frozenset({5}))
    assert judge(Sight(CLOSED, Stage.RUNNING), 5, watch, DEADLINES) == (Ending.DONE, "")
    assert judge(Sight(CLOSED, Stage.RUNNING), 33, watch, DEADLINES)[0] is Ending.FAILED


def test_details_name_signal_deadline_and_complaint() -> None:
    def detail(sight: Sight, status: int | None = 0, watch: Watch = GUEST_WATCH, complaint: str = "") -> str:
        return judge(sight, status, watch, DEADLINES, complaint)[1]

    assert detail(Sight(CLOSED, Stage.BOOTING), -11) == "the machine was killed by SIGSEGV while it booted"
    assert detail(Sight(CLOSED, Stage.BOOTING), -63).startswith("the machine was killed by signal 63")
    assert detail(Sight(CLOSED, Stage.RUNNING), 1, complaint="no memory").endswith("while it ran: no memory")
    assert "not ready within 7 s; it printed nothing" in detail(Sight(Cause.DEADLINE, Stage.BOOTING))
    assert "(9 s); the last line was: x" in detail(Sight(Cause.DEADLINE, Stage.RUNNING, "x"))
    assert "(16 s for boot and run)" in detail(Sight(Cause.DEADLINE, Stage.RUNNING), 0, NATIVE_WATCH)
    assert "1000 bytes" in detail(Sight(Cause.FLOOD, Stage.BOOTING, note="more than 1000 bytes"))


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        (b"\n[    1.2] Kernel panic - not syncing: x", True),
        (b"\r\npanic: cpu=3 bad", True),
        (b"\n[    0.1] kernel.panic: 5", False),
        (b"\nno panic: all is well", False),
    ],
)
def test_what_counts_as_a_panic(text: bytes, matches: bool) -> None:
    assert any(re.search(pattern, text) for pattern in GUEST_WATCH.panics) is matches


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (GUEST_WATCH.ends[0], b"\n@bench end lines=6 seq=6 crc=12345678\n", True),
        (GUEST_WATCH.ends[0], b"\n@bench end lines=6 seq=6 crc=1234", False),
        (GUEST_WATCH.ends[0], b"\nxx@bench end lines=6\n", False),
        (GUEST_WATCH.ready, b"\nbenchready quiet=yes\n", True),
        (GUEST_WATCH.ready, b"\nbenchready\n", True),
        (GUEST_WATCH.ready, b"\nbenchreadyish\n", False),
        (GUEST_WATCH.ready, b"\nwaiting for benchready quiet\n", False),
    ],
)
def test_lines_count_only_whole_and_from_their_begin(pattern: bytes, text: bytes, matches: bool) -> None:
    assert bool(re.search(pattern, text)) is matches


@pytest.mark.parametrize("pattern", [b"(", b"", b"x*", b"[\\r\\n]?"])
def test_a_pattern_that_cannot_tell_anything_is_refused(pattern: bytes) -> None:
    with pytest.raises(ValueError, match=r"regular expression|any console"):
        Watch(ends=(pattern,))
    with pytest.raises(ValueError, match=r"regular expression|any console"):
        Watch(panics=(pattern,))


@given(st.binary(max_size=400))
def test_clean_never_lets_a_terminal_act(raw: bytes) -> None:
    line = clean(raw)
    assert line.isascii()
    assert all(" " <= c <= "~" for c in line)
    assert len(line) <= 160


def test_clean_shows_plain_text_as_it_is() -> None:
    assert clean(b"\r\n  a  b\x1b[2J\tc \r\n") == "a b?[2J c"
