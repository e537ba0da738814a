"""What the clock's log says of an exploration, and the lines that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.exploration import MOST_POINTS, StallPoint, Strategy
from benchgate.insn.explore_log import LOOKS, Delay
from benchgate.insn.log_reader import read_log
from tests.unit.insn.test_log_reader import COMPLETE

HEAD = "explore sync 9\n"
LINES = "delay 1 700 250 12000 ffffffff80001234\nat 0 1000\nat 1 1f00\ndelay 0 90 0 300 1010\nat 1 1f08\n"
LOG = (
    COMPLETE.replace("beat 0\n", f"{HEAD}beat 0\n")
    .replace("mark 03", f"{LINES}mark 03")
    .replace("halted 400\n", "halted 400 delayed 250\n")
    .replace("end 9400\n", "end 9400\nexplored 812 2\n")
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clock.log"


def test_stalls_places_and_totals_are_read(path: Path) -> None:
    path.write_text(LOG, encoding="ascii")
    log = read_log(path)
    seen = log.explored
    assert seen is not None
    assert (seen.strategy, seen.seed, seen.steps, seen.made, seen.full) == (Strategy.SYNC, 9, 812, 2, False)
    assert seen.delays == (Delay(1, 700, 250, 12000, 0xFFFFFFFF80001234), Delay(0, 90, 0, 300, 0x1010))
    assert seen.delays[0].point == StallPoint(1, 700, 250)
    assert dict(seen.places) == {0: 0x1000, 1: 0x1F08}
    assert [total.delayed for total in log.totals] == [250, 250]
    assert seen in log.repeatable


def test_the_last_places_of_each_vcpu_are_kept(path: Path) -> None:
    """The last place alone of a guest that hangs may be chance."""
    looks = "".join(f"at 0 {0x1000 + n:x}\n" for n in range(LOOKS + 5))
    path.write_text(LOG.replace("end 9400\n", f"{looks}end 9400\n"), encoding="ascii")
    seen = read_log(path).explored
    assert seen is not None
    assert seen.places[0] == 0x1000 + LOOKS + 4
    assert seen.before[0] == tuple(range(0x1005, 0x1005 + LOOKS))


def test_a_plain_run_has_none_and_a_killed_one_has_its_stalls(path: Path) -> None:
    path.write_text(COMPLETE, encoding="ascii")
    assert read_log(path).explored is None
    path.write_text(LOG[: LOG.index("mark 03")], encoding="ascii")
    seen = read_log(path).explored
    assert seen is not None
    assert (len(seen.delays), seen.steps, seen.made) == (2, None, None)


def test_more_stalls_than_the_log_may_have_are_said(path: Path) -> None:
    many = "delay 1 700 250 12000 0\n" * MOST_POINTS
    text = LOG.replace(LINES, f"{many}unlogged 5\n").replace(
        "explored 812 2", f"explored 812 {MOST_POINTS + 7}"
    )
    path.write_text(text, encoding="ascii")
    seen = read_log(path).explored
    assert seen is not None
    assert (seen.full, seen.made) == (True, MOST_POINTS + 7)
    path.write_text(text.replace("unlogged 5\n", "delay 1 700 250 12000 0\n"), encoding="ascii")
    with pytest.raises(VerifyError, match="there are more than 20000 stalls"):
        read_log(path)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (HEAD, "", "expected `delay VCPU INSTRUCTION NS TIME PC` after `explore`"),
        (HEAD, HEAD + HEAD, "expected `explore STRATEGY SEED`, once"),
        ("explore sync", "explore luck", "'luck' is not a valid Strategy"),
        ("delay 1", "delay 2", "vCPU 2 of 2 cannot have been stalled"),
        ("700 250", "700 1000000001", "cannot have been stalled for 1000000001 ns"),
        ("300 1010", "300 1010 4", "expected `delay"),
        ("300 1010", "300 0x10", "expected `delay"),
        ("at 1 1f08", "at 2 1f08", "there is no vCPU 2"),
        ("at 1 1f08", "at 1 1F08", "expected `at VCPU PC`"),
        ("explored 812 2", "explored 812 3", "3 stalls were made, but 2 are listed"),
        ("explored 812 2", "unlogged 4", "expected `unlogged TIME` after 20000 stalls"),
        ("halted 400 delayed 250\nvcpu 1", "halted 400\nvcpu 1", "expected `vcpu N .* halted H delayed D`"),
    ],
)
def test_a_line_in_another_form_is_refused_with_its_number(path: Path, old: str, new: str, why: str) -> None:
    assert old in LOG
    path.write_text(LOG.replace(old, new, 1), encoding="ascii")
    with pytest.raises(VerifyError, match=rf"clock\.log:\d+: .*{why}"):
        read_log(path)


def test_a_plain_run_has_no_delayed_time(path: Path) -> None:
    path.write_text(COMPLETE.replace("halted 400\nvcpu 1", "halted 400 delayed 0\nvcpu 1"), encoding="ascii")
    with pytest.raises(VerifyError, match=r"expected `vcpu N .* halted H`"):
        read_log(path)
