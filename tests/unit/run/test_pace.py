"""A stage's time: the host's, or the guest's by the clock's log, whose writer and host clock are played."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from benchgate.run.pace import SILENT_S, GuestPace, HostPace, TalkPace

HEAD = "insn-clock 1\nlevel full\n"


class Host:
    """A clock of the host that the test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "clock.log"


def write(log: Path, text: str) -> None:
    with log.open("a") as stream:
        stream.write(text)


def test_on_wall_time_the_host_decides() -> None:
    host = Host()
    pace = HostPace(host)
    pace.begin(5)
    assert 0 < pace.left() <= 5
    host.now += 4.9
    assert 0 < pace.left() < 0.2
    host.now += 0.2
    assert pace.left() == 0


def test_a_slow_host_does_not_end_a_guest_that_makes_progress(log: Path) -> None:
    host = Host()
    pace = GuestPace(log, host)
    write(log, HEAD)
    pace.begin(5)
    for tenth in range(50):
        host.now += 500
        write(log, f"beat {tenth * 100_000_000}\n")
        assert pace.left() > 0
    write(log, "beat 5000000001\n")
    assert (pace.left(), pace.kind) == (0, " of guest time")


def test_a_stage_begins_at_the_guests_time(log: Path) -> None:
    pace = GuestPace(log, Host())
    write(log, f"{HEAD}beat 9000000000\n")
    pace.begin(5)
    write(log, "beat 13900000000\nmark 01 0 13900000000\n")
    assert pace.left() > 0
    write(log, "beat 14000")
    assert pace.left() > 0
    write(log, "000000\n")
    assert pace.left() == 0


def test_who_explores_does_not_wait_for_a_guest_that_is_halted_for_good(log: Path) -> None:
    host = Host()
    pace = GuestPace(log, host, halted_s=1.0)
    write(log, f"{HEAD}beat 1000\n")
    pace.begin(60)
    host.now += 2
    assert pace.left() > 0
    write(log, "halted 2000\n")
    assert pace.left() > 0
    host.now += 1
    assert (pace.left(), pace.kind) == (0, ", in which all its CPUs were halted")


def test_a_guest_that_is_halted_for_good_has_its_seconds_by_the_host(log: Path) -> None:
    host = Host()
    pace = GuestPace(log, host)
    write(log, f"{HEAD}beat 1000\nhalted 2000\n")
    pace.begin(5)
    host.now += 4.9
    assert pace.left() > 0
    host.now += 0.2
    assert (pace.left(), pace.kind) == (0, ", in which all its CPUs were halted")


def test_a_halt_that_ends_is_progress(log: Path) -> None:
    host = Host()
    pace = GuestPace(log, host)
    write(log, f"{HEAD}halted 2000\n")
    pace.begin(5)
    host.now += 4.9
    write(log, "beat 10000000\n")
    assert pace.left() > 0
    host.now += 100
    assert pace.left() > 0


@pytest.mark.parametrize("begun", ["", HEAD])
def test_a_clock_that_writes_nothing_ends_the_stage(log: Path, begun: str) -> None:
    host = Host()
    pace = GuestPace(log, host)
    write(log, begun)
    pace.begin(5)
    host.now += SILENT_S - 1
    assert pace.left() > 0
    host.now += 2
    assert (pace.left(), pace.kind) == (0, ", or its clock stood still")


def test_a_log_that_is_missing_is_a_clock_that_writes_nothing(log: Path) -> None:
    host = Host()
    pace = GuestPace(log, host)
    pace.begin(700)
    host.now += 699
    assert pace.left() > 0
    host.now += 2
    assert pace.left() == 0


class Stopping:
    """A guest that stands still at a limit of its own time."""

    limit_ns = 0
    time_ns = 1_000_000_000
    is_halted = False

    @property
    def is_late(self) -> bool:
        return self.time_ns >= self.limit_ns


def test_a_guest_that_is_typed_at_stops_at_the_end_of_its_stage() -> None:
    guest = Stopping()
    pace = TalkPace(guest)
    pace.begin(5)
    assert pace.left() > 0
    assert guest.limit_ns == 6_000_000_000
    guest.time_ns = 5_999_999_999
    assert pace.left() > 0
    guest.time_ns = 6_000_000_000
    assert pace.left() == 0
    assert pace.kind == " of guest time"
    guest.is_halted = True
    assert pace.kind == " of guest time, at whose end no CPU had run for a second,"


def test_a_shorter_stage_beside_another_does_not_move_its_end() -> None:
    """The follower gives a panic a few seconds of its own."""
    guest = Stopping()
    pace = TalkPace(guest)
    pace.begin(50)
    beside = copy.copy(pace)
    beside.begin(2)
    assert (pace.left(), beside.left()) != (0, 0)
    assert guest.limit_ns == 3_000_000_000
    assert pace.left() > 0
    assert guest.limit_ns == 51_000_000_000
