"""Each cause, stage and exit status must give the right ending."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.runs import Deadlines, Ending
from benchgate.base.text import one_line
from benchgate.run.ending import Cause, Stage, confirmed, ending_of
from benchgate.run.ending import Observation as Seen
from benchgate.run.watch import GUEST_WATCH, NATIVE_WATCH, Watch

DEADLINES = Deadlines(boot_s=7, run_s=9)
CLOSED = Cause.CLOSED


@pytest.mark.parametrize(
    ("seen", "status", "ending"),
    [
        (Seen(CLOSED, Stage.ENDED), 33, Ending.DONE),
        (Seen(CLOSED, Stage.ENDED), 0, Ending.DONE),
        (Seen(CLOSED, Stage.ENDED), 35, Ending.FAILED),
        (Seen(CLOSED, Stage.ENDED), 1, Ending.EOF),
        (Seen(CLOSED, Stage.ENDED), -9, Ending.EOF),
        (Seen(CLOSED, Stage.ENDED), None, Ending.EOF),
        (Seen(CLOSED, Stage.RUNNING), 33, Ending.EOF),
        (Seen(CLOSED, Stage.RUNNING), 35, Ending.FAILED),
        (Seen(CLOSED, Stage.BOOTING), 0, Ending.EOF),
        (Seen(CLOSED, Stage.BOOTING), -6, Ending.EOF),
        (Seen(Cause.PANIC, Stage.ENDED), 33, Ending.PANIC),
        (Seen(Cause.FAILURE, Stage.ENDED), 33, Ending.FAILED),
        (Seen(Cause.DEADLINE, Stage.BOOTING), 0, Ending.BOOT_DEADLINE),
        (Seen(Cause.DEADLINE, Stage.RUNNING), 33, Ending.RUN_DEADLINE),
        (Seen(Cause.DEADLINE, Stage.ENDED), 33, Ending.RUN_DEADLINE),
        (Seen(Cause.FLOOD, Stage.RUNNING), 33, Ending.OUTPUT_LIMIT),
        (Seen(Cause.FINISHED, Stage.ENDED), 0, Ending.DONE),
    ],
)
def test_endings(seen: Seen, status: int | None, ending: Ending) -> None:
    result, detail = ending_of(seen, status, GUEST_WATCH, DEADLINES)
    assert result is ending
    assert (detail == "") == (ending is Ending.DONE)


@given(st.sampled_from(Cause), st.sampled_from(Stage), st.none() | st.integers(-64, 255))
def test_only_a_finished_console_is_done(cause: Cause, stage: Stage, status: int | None) -> None:
    ending, _ = ending_of(Seen(cause, stage), status, GUEST_WATCH, DEADLINES)
    good = cause is CLOSED and stage is Stage.ENDED and status in (0, 33)
    assert (ending is Ending.DONE) == (good or cause is Cause.FINISHED)


@pytest.mark.parametrize("reports", [["guest-panic"], ["guest-shutdown", "guest-reset"], ["\x1b[2J"], None])
def test_an_end_that_the_yaml_does_not_name_is_a_failure(reports: list[str] | None) -> None:
    ending, detail = confirmed((Ending.DONE, ""), reports, GUEST_WATCH)
    assert ending is Ending.FAILED
    assert detail.isprintable()
    kept, both = confirmed((Ending.PANIC, "the guest panicked"), reports, GUEST_WATCH)
    assert (kept, both) == (Ending.PANIC, f"the guest panicked; {detail}")


@pytest.mark.parametrize("reports", [[], ["guest-shutdown"]])
def test_an_end_that_the_yaml_names_changes_nothing(reports: list[str]) -> None:
    assert confirmed((Ending.DONE, ""), reports, GUEST_WATCH) == (Ending.DONE, "")


def test_without_an_end_line_the_status_decides() -> None:
    watch = Watch(success=frozenset({5}))
    assert ending_of(Seen(CLOSED, Stage.RUNNING), 5, watch, DEADLINES) == (Ending.DONE, "")
    assert ending_of(Seen(CLOSED, Stage.RUNNING), 33, watch, DEADLINES)[0] is Ending.FAILED


def test_a_good_status_after_a_line_that_looks_like_a_panic_is_none() -> None:
    seen = Seen(CLOSED, Stage.ENDED, "halted", suspect="PANIC: stack")
    ending, why = ending_of(seen, 0, GUEST_WATCH, DEADLINES)
    assert ending is Ending.PANIC
    assert "ended well by its status, but" in why
    assert "`PANIC: stack`" in why


def test_a_silent_boot_says_where_to_look() -> None:
    assert "first serial port" in ending_of(Seen(Cause.DEADLINE, Stage.BOOTING), 0, GUEST_WATCH, DEADLINES)[1]


def test_details_name_signal_deadline_and_complaint() -> None:
    def detail(seen: Seen, status: int | None = 0, watch: Watch = GUEST_WATCH, complaint: str = "") -> str:
        return ending_of(seen, status, watch, DEADLINES, complaint)[1]

    assert detail(Seen(CLOSED, Stage.BOOTING), -11) == "the process was killed by SIGSEGV while it booted"
    assert detail(Seen(CLOSED, Stage.BOOTING), -63).startswith("the process was killed by signal 63")
    stopped = detail(Seen(CLOSED, Stage.RUNNING), None)
    assert stopped == "the process closed its console and had to be stopped while it ran"
    assert detail(Seen(CLOSED, Stage.RUNNING), 1, complaint="no memory").endswith("while it ran: no memory")
    assert "not ready within 7 s; it printed nothing" in detail(Seen(Cause.DEADLINE, Stage.BOOTING))
    assert "(9 s); the last line was: x" in detail(Seen(Cause.DEADLINE, Stage.RUNNING, "x"))
    assert "(16 s for boot and run)" in detail(Seen(Cause.DEADLINE, Stage.RUNNING), 0, NATIVE_WATCH)
    assert "1000 bytes" in detail(Seen(Cause.FLOOD, Stage.BOOTING, note="more than 1000 bytes"))


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
def test_a_line_must_be_complete_to_count(pattern: bytes, text: bytes, matches: bool) -> None:
    assert bool(re.search(pattern, text)) is matches


@pytest.mark.parametrize("pattern", [b"(", b"", b"x*", b"[\\r\\n]?"])
def test_a_pattern_that_matches_any_console_is_refused(pattern: bytes) -> None:
    with pytest.raises(ValueError, match=r"regular expression|any console"):
        Watch(ends=(pattern,))
    with pytest.raises(ValueError, match=r"regular expression|any console"):
        Watch(panics=(pattern,))


@given(st.binary(max_size=400))
def test_one_line_never_contains_terminal_escapes(raw: bytes) -> None:
    line = one_line(raw)
    assert line == "" or line.isprintable()
    assert len(line) <= 160


def test_one_line_keeps_plain_text_and_shows_escapes() -> None:
    assert one_line(b"\r\n  a  b\x1b[2J\tc \r\n") == "a b\\x1b[2J c"
