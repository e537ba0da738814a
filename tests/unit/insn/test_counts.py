"""The lines of the clock's log about what the machine counted: what is read, added up, and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.insn.counts import CountedCpu, witnessed
from benchgate.insn.log_reader import read_log
from tests.unit.insn.test_log_reader import COMPLETE

LINES = """counted syscalls
counted atomics
counted events.park
counting total 1000 9200
saw total 0 syscalls 7
saw total 0 atomics 3
called total 0 1 5 4096
called total 0 39 2 -
saw total 1 events.park 12
counting work 1100 9100
saw work 1 atomics 2
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clock.log"


def with_lines(lines: str) -> str:
    return COMPLETE.replace("check notes", f"{lines}check notes")


def test_both_windows_are_read(path: Path) -> None:
    path.write_text(with_lines(LINES), encoding="ascii")
    counts = read_log(path).counts
    assert counts is not None
    assert counts.total is not None
    assert counts.work is not None
    assert counts.names == ("syscalls", "atomics", "events.park")
    assert (counts.total.begin, counts.total.end) == (1000, 9200)
    assert counts.total.vcpus[0] == CountedCpu(
        {"syscalls": 7, "atomics": 3, "events.park": 0}, {1: 5, 39: 2}, {1: 4096}
    )
    assert counts.work.vcpus[1].values == {"syscalls": 0, "atomics": 2, "events.park": 0}


def test_vcpus_are_added_up_under_the_names_of_calls() -> None:
    cpus = (
        CountedCpu({"syscalls": 7, "atomics": 3}, {1: 5, 39: 2}, {1: 4096}),
        CountedCpu({"syscalls": 1, "atomics": 0}, {1: 1}, {1: 4}),
    )
    assert witnessed(cpus, {"write": 1, "read": 0}) == {
        **{"syscalls": 8, "atomics": 3},
        **{"syscalls.write": 6, "bytes.write": 4100, "syscalls.read": 0, "bytes.read": 0},
    }


def test_lines_of_the_console_carry_what_was_counted_so_far(path: Path) -> None:
    said = """counted syscalls
saw so_far 0 syscalls 3
called so_far 0 1 3 12
line 12 900
line 13 901
saw so_far 0 syscalls 5
called so_far 0 1 5 12
line 20 1000
uncounted
line 21 1001
"""
    path.write_text(COMPLETE.replace("mark 03", f"{said}mark 03"), encoding="ascii")
    first, second, third, last = (line.counted for line in read_log(path).lines)
    assert first is second
    assert first is not None
    assert third is not None
    assert third[0].since(first[0]) == CountedCpu({"syscalls": 2}, {1: 2}, {1: 0})
    assert third[1].since(first[1]).values == {"syscalls": 0}
    assert last is None


@pytest.mark.parametrize("lines", ["", LINES.replace("counting work 1100 9100\nsaw work 1 atomics 2\n", "")])
def test_logs_of_earlier_versions_and_without_an_end_have_none(path: Path, lines: str) -> None:
    path.write_text(with_lines(lines), encoding="ascii")
    counts = read_log(path).counts
    assert (counts is None) == (not lines)
    assert counts is None or counts.work is None
    path.write_text(with_lines(LINES).replace("closed\n", ""), encoding="ascii")
    assert read_log(path).counts is None


def test_they_repeat_with_the_run(path: Path) -> None:
    path.write_text(with_lines(LINES), encoding="ascii")
    first = read_log(path)
    path.write_text(with_lines(LINES.replace("events.park 12", "events.park 13")), encoding="ascii")
    assert read_log(path).repeatable == first.repeatable  # one run may be told of functions, the other not
    path.write_text(with_lines(LINES.replace("atomics 3", "atomics 4")), encoding="ascii")
    assert read_log(path).repeatable != first.repeatable


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("counted atomics", "counted syscalls"),
        ("counted atomics", "counted Atomics"),
        ("counted atomics", "counted atomics 1"),
        ("counting total 1000 9200", "counting boot 1000 9200"),
        ("counting total 1000 9200", "counting total 1000"),
        ("counting work", "counting total"),
        ("counting work 1100 9100", "counted spaces"),
        ("saw total 0 atomics 3", "saw work 0 atomics 3"),
        ("saw total 0 atomics 3", "saw total 2 atomics 3"),
        ("saw total 0 atomics 3", "saw total 0 faults 3"),
        ("saw total 0 atomics 3", "saw total 0 syscalls 7"),
        ("saw total 0 atomics 3", "saw total 0 atomics 0"),
        ("saw total 0 atomics 3", "saw total 0 atomics -3"),
        ("saw total 0 atomics 3", "saw total 0 atomics"),
        ("called total 0 39 2 -", "called total 0 39 1 -"),
        ("called total 0 39 2 -", "called total 0 1024 2 -"),
        ("called total 0 39 2 -", "called total 0 39 2"),
        ("called total 0 39 2 -", "called total 0 1 2 -"),
        ("called total 0 39 2 -", "called total 0 39 2 x"),
        ("counted syscalls\n", ""),
    ],
)
def test_a_line_outside_the_format_is_refused(path: Path, old: str, new: str) -> None:
    assert LINES.count(old) == 1
    path.write_text(with_lines(LINES.replace(old, new)), encoding="ascii")
    with pytest.raises(VerifyError, match=r"clock\.log:\d+: "):
        read_log(path)


@pytest.mark.parametrize(
    "lines",
    [
        "saw so_far 0 syscalls 3\ncalled so_far 0 1 3 -\nline 12 900\nsaw so_far 0 syscalls 3\n",
        "uncounted\nsaw so_far 0 syscalls 3\n",
        "uncounted\nuncounted\n",
        "saw so_far 0 syscalls 3\nline 12 900\n",
    ],
)
def test_counts_so_far_only_grow_and_stay_whole(path: Path, lines: str) -> None:
    said = f"counted syscalls\n{lines}"
    path.write_text(COMPLETE.replace("mark 03", f"{said}mark 03"), encoding="ascii")
    with pytest.raises(VerifyError, match=r"clock\.log:\d+: "):
        read_log(path)
