"""activity.c and events.c: what the log and the file say adds up to what the clock told them.

The expected figures are counted here, interval by interval.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.insn.c.native import load

COLUMNS = 200


def library(folder: Path, change: tuple[str, str] | None = None, name: str = "activity") -> ctypes.CDLL:
    """A fresh copy, because its state is static."""
    folder.mkdir()
    beside = tuple({"activity", "events", "journal"} - {name})
    return load(folder, name, beside=beside, change=change)


class Watched:
    """One library, with two vCPUs; `log` and `events` are the lines that it wrote."""

    def __init__(self, folder: Path, *, whole: bool = False, change: tuple[str, str] | None = None) -> None:
        self.folder = folder
        self.library = library(folder / "built", change)
        assert self.library.journal_open(bytes(folder / "log"))
        assert not self.library.events_setup(bytes(folder / "events"), 2, whole)
        self.library.activity_setup(2, whole, ctypes.c_uint64(0))

    def __call__(self, name: str, *values: int) -> None:
        typed = [ctypes.c_uint64(value) if value >= 0 else ctypes.c_int(value) for value in values]
        getattr(self.library, f"activity_{name}")(*typed)

    def log(self, end: int) -> list[list[str]]:
        self("report", end)
        return [line.split() for line in (self.folder / "log").read_text().splitlines()]

    @property
    def events(self) -> list[str]:
        return (self.folder / "events").read_text().splitlines()


def columns(log: list[list[str]], what: str, vcpu: int) -> list[int]:
    (result,) = (line[2] for line in log if line[:2] == [what, str(vcpu)])
    return list(bytes.fromhex(result))


def test_each_interval_is_in_its_column(tmp_path: Path) -> None:
    """Columns of 1024 ns. vCPU 0 works for the first one, waits for half of the second; vCPU 1 sleeps."""
    seen = Watched(tmp_path)
    seen("window", True, 5_000)
    seen("ran", 0, 4_000, 6_024, 2_024)  # the first 1,000 ns are before the window
    seen("ran", 0, 6_024, 6_536, 0)
    seen("slept", 1, 5_000, 7_048, 0)
    seen("window", False, 7_048)
    log = seen.log(9_000)
    assert ["columns", "2", "1024", "5000", "7048"] in log
    assert (columns(log, "worked", 0), columns(log, "spun", 0)) == ([255, 0], [0, 128])
    assert (columns(log, "worked", 1), columns(log, "spun", 1)) == ([0, 0], [0, 0])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 50_000), st.floats(0, 1), st.integers(0, 30_000)), min_size=1))
def test_columns_become_longer_and_nothing_is_lost(
    tmp_path_factory: pytest.TempPathFactory, turns: list[tuple[int, float, int]]
) -> None:
    seen = Watched(tmp_path_factory.mktemp("activity"), whole=True)
    now, worked, spun = 0, 0, 0
    for length, share, gap in turns:
        did = int(length * share)
        seen("ran", 1, now, now + length, did)
        worked, spun, now = worked + did, spun + length - did, now + length + gap
    log = seen.log(now)
    (head,) = ([int(word) for word in line[1:]] for line in log if line[0] == "columns")
    count, width, begin, end = head
    assert (begin, end) == (0, now)
    assert (count - 1) * width < now <= count * width
    assert count <= COLUMNS
    assert width == 1024 or count > COLUMNS // 2
    # Each column is rounded to a 255th, and each piece of an interval to a nanosecond.
    slack = count * width / 510 + len(turns) * count + 2
    assert sum(columns(log, "worked", 1)) * width / 255 == pytest.approx(worked, abs=slack)
    assert sum(columns(log, "spun", 1)) * width / 255 == pytest.approx(spun, abs=slack)


def test_the_pairs_and_the_events_say_who_woke_whom_in_the_window(tmp_path: Path) -> None:
    seen = Watched(tmp_path)
    seen("slept", 1, 10, 20, 0)  # before the window
    seen("window", True, 100)
    seen("ran", 0, 100, 150, 50)
    seen("slept", 1, 90, 150, 0)
    seen("ran", 0, 150, 180, 30)
    seen("ran", 0, 180, 250, 10)  # mostly waits
    seen("interrupted", 0, 200, 1)
    seen("slept", 1, 160, 210, -1)
    seen("rests", 1, 220, 300)
    seen("window", False, 300)
    seen("slept", 1, 220, 400, 0)  # after it
    log = seen.log(500)
    woke = [line[1:] for line in log if line[0] == "woke"]
    assert woke == [["0", "1", "0", "1"], ["1", "0", "1", "0"]]
    host = [line[1:] for line in log if line[0] == "host"]
    assert host == [["wakes_of_1", "1"], ["interrupts_of_1", "0"]]
    assert seen.events == [
        *("insn-events 1", "vcpus 2", "open 100"),
        *("halt 1 90 150 0", "work 0 100 180", "kick 0 200 1", "halt 1 160 210 -", "rest 1 220 300"),
        "spin 0 180 250",
        *("close 300", "end 300"),
    ]


def test_a_file_of_events_is_bounded(tmp_path: Path) -> None:
    small = load_small(tmp_path)
    assert not small.events_setup(bytes(tmp_path / "events"), 2, True)
    for time in range(10, 100, 10):
        small.events_interrupted(ctypes.c_uint64(0), ctypes.c_uint64(time), ctypes.c_int(-1))
    small.events_report(ctypes.c_uint64(100))
    lines = (tmp_path / "events").read_text().splitlines()
    assert lines[2:] == ["kick 0 10 -", "kick 0 20 -", "kick 0 30 -", "full 40", "end 100"]


def load_small(folder: Path) -> ctypes.CDLL:
    return library(folder / "small", ("#define MOST_EVENTS 250000", "#define MOST_EVENTS 3"), "events")


def test_a_clock_that_loses_a_part_of_an_interval_is_found(tmp_path: Path) -> None:
    """The check above can fail."""
    broken = Watched(tmp_path, change=("part - work", "0"))
    broken("window", True, 0)
    broken("ran", 0, 0, 1_024, 0)
    broken("window", False, 1_024)
    assert columns(broken.log(2_000), "spun", 0) == [0]
