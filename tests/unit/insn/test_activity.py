"""The lines of the clock's log about what each vCPU did: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.insn.activity import Column, Wakes
from benchgate.insn.log_reader import read_log
from tests.unit.insn.test_log_reader import COMPLETE

LINES = """columns 2 1000 1000 2500
worked 0 ff40
spun 0 0040
worked 1 8000
spun 1 0000
host wakes_of_0 3
host interrupts_of_0 4
woke 1 0 5 0
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clock.log"


def with_lines(lines: str) -> str:
    return COMPLETE.replace("end 9400", f"{lines}end 9400")


def test_shares_and_pairs_are_read(path: Path) -> None:
    path.write_text(with_lines(LINES), encoding="ascii")
    seen = read_log(path).activity
    assert seen is not None
    assert (seen.begin, seen.end, seen.width) == (1000, 2500, 1000)
    assert seen.vcpus[0][0] == Column(1.0, 0.0)
    # The second column is half as long, and 0x40 is 64/255 of a whole one.
    assert seen.vcpus[0][1].worked == pytest.approx(128 / 255)
    assert seen.vcpus[0][1].halted == 0  # the two shares are rounded up, to 256/255
    assert seen.vcpus[1][0].halted == pytest.approx(127 / 255)
    assert seen.wakes == (Wakes(0, None, 3, 4), Wakes(1, 0, 5, 0))


@pytest.mark.parametrize("cut", ["", "columns 2 1000 1000 2500\nworked 0 ff40\nspun 0 0040\n"])
def test_a_log_without_them_and_one_that_stops_among_them_have_none(path: Path, cut: str) -> None:
    whole = with_lines(cut)
    path.write_text(whole[: whole.index("end 9400")], encoding="ascii")
    assert read_log(path).activity is None


def test_they_repeat_with_the_run(path: Path) -> None:
    path.write_text(with_lines(LINES), encoding="ascii")
    first = read_log(path)
    path.write_text(with_lines(LINES.replace("woke 1 0 5 0", "woke 1 0 6 0")), encoding="ascii")
    assert read_log(path).repeatable != first.repeatable


def test_wake_ups_for_qemus_own_jobs_do_not_repeat(path: Path) -> None:
    path.write_text(with_lines(LINES), encoding="ascii")
    first = read_log(path)
    path.write_text(with_lines(LINES.replace("wakes_of_0 3", "wakes_of_0 2")), encoding="ascii")
    assert read_log(path).activity != first.activity
    assert read_log(path).repeatable == first.repeatable


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("columns 2", "columns 201", "do not fit"),
        ("columns 2", "columns 3", "do not fit"),
        ("columns 2 1000", "columns 2 0", "do not fit"),
        ("columns 2 1000 1000 2500", "columns 2 1000 1000 1000", "do not fit"),
        ("columns 2 1000 1000 2500", "columns 2 1000 2500 1000", "do not fit"),
        ("columns 2 1000 1000 2500\n", "", "after `columns`"),
        ("columns 2 1000 1000 2500\n", "columns 2 1000 1000 2500\n" * 2, "once"),
        ("worked 0 ff40", "worked 0 ff4", "two hex digits"),
        ("worked 0 ff40", "worked 0 FF40", "two hex digits"),
        ("worked 0 ff40", "worked 0 ff4g", "two hex digits"),
        ("worked 0 ff40", "worked 1 ff40", "in order of the vCPUs"),
        ("spun 1 0000", "spun 1 0000\nspun 2 0000", "does not exist"),
        ("woke 1 0", "woke 2 0", "no vCPU 2"),
        ("woke 1 0", "woke 1 7", "no vCPU 7"),
        ("woke 1 0 5 0", "woke 1 0 5", "expected `woke"),
        ("woke 1 0 5 0", "woke 1 0 5 -4", "not a number"),
        ("woke 1 0 5 0", "woke 1 0 5 9999999999999999999", "not a number"),
        ("woke 1 0 5 0\n", "woke 1 0 5 0\n" * 4097, "at most 4096 times"),
    ],
)
def test_a_line_outside_the_format_is_refused(path: Path, old: str, new: str, why: str) -> None:
    assert old in LINES
    path.write_text(with_lines(LINES.replace(old, new)), encoding="ascii")
    with pytest.raises(VerifyError, match=why):
        read_log(path)
