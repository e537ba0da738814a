"""The lines of the clock's log about what the machine measured of each thread: what is read, and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.statistics.histogram import Histogram
from benchgate.insn.counts import witnessed
from benchgate.insn.log_reader import read_log
from benchgate.insn.operations import AskedTimes, Children
from tests.unit.insn.test_log_reader import COMPLETE

LINES = """measured latency
unmeasured wakeup the log has no room for it
thread 0 126 0 1100 9000 1110 9010
thread 1 127 1 1200 - - -
spans latency 0 inner 3 331 10 310
buckets latency 0 inner 10:1 11:1
buckets latency 0 inner 283:1
spans latency 0 outer 3 351 10 330
buckets latency 0 outer 10:1 11:1 293:1
spans latency 1 inner 0 0 0 0
spans latency 1 outer 0 0 0 0
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "clock.log"


def with_lines(lines: str) -> str:
    return COMPLETE.replace("check notes", f"{lines}check notes")


def test_histograms_of_each_thread_are_read(path: Path) -> None:
    path.write_text(with_lines(LINES), encoding="ascii")
    log = read_log(path)
    first, second = log.operations["latency"]
    assert first.inner == Histogram(3, 331, 10, 310, {10: 1, 11: 1, 283: 1})
    assert first.outer == Histogram(3, 351, 10, 330, {10: 1, 11: 1, 293: 1})
    assert (first.thread, first.worker, first.vcpu, first.begin, first.end) == (126, None, 0, 1100, 9000)
    assert (first.started, first.ended) == (1110, 9010)
    assert second.inner == second.outer == Histogram(0, 0, 0, 0, {})
    assert (second.thread, second.vcpu, second.end, second.started, second.ended) == (
        127,
        1,
        None,
        None,
        None,
    )
    assert log.unmeasured == {"wakeup": "the log has no room for it"}
    assert "wakeup" not in log.operations


def test_an_earlier_log_has_measured_nothing(path: Path) -> None:
    path.write_text(COMPLETE, encoding="ascii")
    log = read_log(path)
    assert not log.operations
    assert not log.unmeasured


def test_a_log_without_an_end_has_measured_nothing(path: Path) -> None:
    path.write_text(with_lines(LINES).replace("closed\n", ""), encoding="ascii")
    assert read_log(path).operations == {}


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("measured latency\nun", "measured latency\nmeasured latency\nun", "each once"),
        ("measured latency\nun", "measured la.tency\nun", "measured NAME"),
        ("unmeasured wakeup", "unmeasured latency", "not measured"),
        ("the log has no room for it", "\x07", "unmeasured NAME REASON"),
        ("thread 1 127 1", "thread 2 127 1", "in order"),
        ("thread 1 127 1", "thread 1 127 2", "not a number below 2"),
        ("thread 1 127 1", "thread 1 4294967296 1", "not a number below"),
        ("thread 1 127 1 1200 - - -", "thread 1 127 1 1200 - -", "in order"),
        ("thread 1 127 1 1200 - -", "thread 1 127 1 - - -", "not a number"),
        ("spans latency 0 inner 3", "spans latency 2 inner 3", "not a number below 2"),
        ("spans latency 0 inner 3", "spans latency 0 middle 3", "inner"),
        ("spans latency 0 inner 3", "spans wakeup 0 inner 3", "of a name that is measured"),
        ("spans latency 0 inner 3", "spans latency 0 inner 4", "not as many"),
        ("spans latency 0 inner 3 331", "spans latency 0 inner 3 333", "does not fit"),
        ("spans latency 0 inner 3 331 10", "spans latency 0 inner 3 331 9", "does not fit"),
        ("inner 3 331 10 310", "inner 3 331 10 312", "does not fit"),
        ("inner 3 331 10 310", "inner 3 331 10", "once"),
        ("inner 3 331 10 310", f"inner 3 {2**64} 10 310", "not a number below"),
        ("spans latency 1 inner 0 0 0 0\n", "", "no line"),
        ("spans latency 1 inner 0 0", "spans latency 1 inner 0 5", "no span, but a sum"),
        ("spans latency 1 outer 0", "spans latency 0 outer 0", "once"),
        ("buckets latency 0 inner 283:1", "buckets latency 1 inner 283:1", "without a line"),
        ("buckets latency 0 inner 283:1", "buckets latency 0 inner 11:1", "ascending"),
        ("buckets latency 0 inner 283:1", "buckets latency 0 inner 283:0", "empty"),
        ("buckets latency 0 inner 283:1", "buckets latency 0 inner 7424:1", "not a number below 7424"),
        ("buckets latency 0 inner 283:1", "buckets latency 0 inner 283", "not a number"),
        ("buckets latency 0 inner 283:1", "buckets latency 0 inner", "latency NAME|expected|inner"),
        ("outer 3 351 10 330", "outer 3 300 10 330", "does not fit"),
        ("11:1 293:1", "11:2", "does not fit|other spans"),
    ],
)
def test_a_wrong_line_is_refused(path: Path, old: str, new: str, why: str) -> None:
    assert LINES.count(old) == 1
    path.write_text(with_lines(LINES.replace(old, new)), encoding="ascii")
    with pytest.raises(VerifyError, match=why):
        read_log(path)


def test_more_threads_than_are_recorded_are_refused(path: Path) -> None:
    threads = "".join(f"thread {n} {n} 0 1 2 3 4\n" for n in range(257))
    path.write_text(with_lines(f"measured latency\n{threads}"), encoding="ascii")
    with pytest.raises(VerifyError, match="at most 256"):
        read_log(path)


RETURNS = """counted syscalls
counted returns
counted exchanged
counting work 1100 9100
saw work 0 syscalls 9
called work 0 0 4 400
called work 0 1 5 4096
saw work 0 returns 7
returned work 0 0 3 128
returned work 0 1 4 4000
saw work 1 exchanged 100
exchanged work 1 0 100
"""


def test_what_calls_gave_is_counted_by_name(path: Path) -> None:
    path.write_text(with_lines(RETURNS), encoding="ascii")
    counts = read_log(path).counts
    assert counts is not None
    assert counts.work is not None
    seen = witnessed(counts.work.vcpus, {"read": 0, "write": 1, "futex": 202})
    assert {name: value for name, value in seen.items() if name.partition(".")[0] == "done"} == {
        **{"done.read": 3, "done.write": 4, "done.futex": 0}
    }
    assert (seen["moved.read"], seen["moved.write"], seen["moved.futex"]) == (128, 4000, 0)
    assert (seen["exchanged.read"], seen["exchanged.write"]) == (100, 0)


def test_what_was_not_seen_is_not_zero(path: Path) -> None:
    lines = "\n".join(
        line for line in RETURNS.splitlines() if "exchanged" not in line and "return" not in line
    )
    path.write_text(with_lines(f"{lines}\n"), encoding="ascii")
    counts = read_log(path).counts
    assert counts is not None
    assert counts.work is not None
    assert set(witnessed(counts.work.vcpus, {"read": 0})) == {"syscalls", "syscalls.read", "bytes.read"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("saw work 0 returns 7", "saw work 0 returns 8"),
        ("returned work 0 0 3 128", "returned work 0 0 3"),
        ("returned work 0 0 3 128", "returned so_far 0 0 3 128"),
        ("returned work 0 0 3 128", "returned total 0 0 3 128"),
        ("returned work 0 0 3 128", "returned work 0 1024 3 128"),
        ("returned work 0 0 3 128", "returned work 0 1 3 128"),
        ("saw work 1 exchanged 100", "saw work 1 exchanged 99"),
        ("exchanged work 1 0 100\n", "exchanged work 1 0 50\nexchanged work 1 0 50\n"),
        ("exchanged work 1 0 100\n", "exchanged work 1 0 100 1\n"),
        ("counted exchanged\n", ""),
        ("counted returns\n", ""),
    ],
)
def test_wrong_counts_of_returns_are_refused(path: Path, old: str, new: str) -> None:
    place = RETURNS.rindex(old)
    path.write_text(with_lines(RETURNS[:place] + new + RETURNS[place + len(old) :]), encoding="ascii")
    with pytest.raises(VerifyError):
        read_log(path)


ASKED = (
    LINES
    + """asked latency 0 3 9000 8700
asked latency 1 0 0 0
children 0 4 2 7 5
children 1 0 0 0 0
"""
)


def test_what_threads_asked_for_and_made_is_read(path: Path) -> None:
    path.write_text(with_lines(ASKED), encoding="ascii")
    log = read_log(path)
    assert [one.asked for one in log.operations["latency"]] == [
        AskedTimes(3, 9000, 8700),
        AskedTimes(0, 0, 0),
    ]
    assert log.children == (Children(4, 2, 7, 5), Children(0, 0, 0, 0))


def test_an_earlier_log_says_nothing_of_them(path: Path) -> None:
    path.write_text(with_lines(LINES), encoding="ascii")
    assert read_log(path).children == ()
    own = ASKED.replace("4 2 7 5", "4 2 7 5 9").replace("1 0 0 0 0", "1 0 0 0 0 6")
    path.write_text(with_lines(own), encoding="ascii")
    assert read_log(path).children == (Children(4, 2, 7, 5, 9), Children(0, 0, 0, 0, 6))
    earlier = ASKED.replace("4 2 7 5", "4 2 7").replace("1 0 0 0 0", "1 0 0 0")
    path.write_text(with_lines(earlier), encoding="ascii")
    assert read_log(path).children == (Children(4, 2, 7), Children(0, 0, 0))
    path.write_text(with_lines(LINES), encoding="ascii")
    log = read_log(path)
    assert [one.asked for one in log.operations["latency"]] == [None, None]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("asked latency 0 3 9000 8700", "asked latency 0 3 9000"),
        ("asked latency 0 3 9000 8700", "asked latency 2 3 9000 8700"),
        ("asked latency 0 3 9000 8700", "asked wakeup 0 3 9000 8700"),
        ("asked latency 0 3 9000 8700", f"asked latency 0 3 {2**64} 8700"),
        ("asked latency 1", "asked latency 0"),
        ("children 0 4 2 7 5", "children 0 4 2"),
        ("children 0 4 2 7 5", "children 0 4 2 7 5 1 1"),
        ("children 1 0 0 0 0", "children 1 0 0 0 1"),
        ("children 0 4 2 7 5", "children 0 4 5 7 5"),
        ("children 0 4 2 7 5", "children 0 0 0 7 0"),
        ("children 1 0", "children 0 0"),
        ("children 1 0", "children 2 0"),
    ],
)
def test_wrong_lines_of_what_they_asked_for_and_made_are_refused(path: Path, old: str, new: str) -> None:
    assert ASKED.count(old) == 1
    path.write_text(with_lines(ASKED.replace(old, new)), encoding="ascii")
    with pytest.raises(VerifyError):
        read_log(path)
