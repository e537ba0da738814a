"""Wall time on a fleet: whole rows on one worker that holds its host's lock, and is lost with them."""

from __future__ import annotations

import csv
import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.base.paths import data_root
from benchgate.features.fleet.tests import fleetkit
from benchgate.features.fleet.tests.fleetkit import Fleet, Program, Session
from benchgate.host import lock
from tests.machines import processes_with, wait_until

pytestmark = [pytest.mark.fleet, pytest.mark.alone]
UP = fleetkit.UP
RUNS = 5
LONG_HI = 3_000_000
"""Runs for a second or more, to be caught."""


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    fleetkit.require()
    with fleetkit.fleet(tmp_path) as made:
        made.scheduler()
        yield made


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """The policy without the rule of void runs: other programs of this host are not what is tested."""
    text = (data_root() / "fixtures" / "gates" / "default.yaml").read_text()
    rule = text.index("\nvoid:\n")
    quiet = re.sub(r"(?m)^(  (?!most|share)\w+:) .*$", r"\1 off", text[rule:])
    path = tmp_path / "quiet.yaml"
    path.write_text(text[:rule] + quiet)
    return path


def measuring(fleet: Fleet, name: str) -> Program:
    made = fleet.begin_worker(name, "good", "--any-guest", "--measuring")
    made.await_said(UP)
    assert "a measuring host" in made.said
    return made


def timed(fleet: Fleet, policy: Path, *words: str, hi: int = fleetkit.QUICK_HI, rows: int = 1) -> Session:
    options = ("--clock", "wall", "--accel", "tcg", "--runs", str(RUNS), "--policy", str(policy))
    return fleet.session(*options, *words, "--fleet", fleet.address, hi=hi, rows=rows)


def guests(fleet: Fleet) -> list[int]:
    """The guests of the measuring host. Without the clock's log a command line names no file of the run."""
    return processes_with(str(fleet.place("scales") / "inputs"))


def await_guest(fleet: Fleet, made: Session) -> None:
    """Waits until a guest runs on the measuring host."""
    seen: list[int] = []

    def is_seen() -> bool:
        seen.extend(guests(fleet))
        return bool(seen) or made.program.process.poll() is not None

    assert wait_until(is_seen)
    assert seen, made.program.said


def workers_of(session: Session) -> list[str]:
    files = sorted(session.folder.glob("runs/*/worker.json"))
    return [json.loads(file.read_text())["worker"] for file in files]


def outcomes(session: Session) -> list[str]:
    with (session.folder / "results.csv").open(newline="") as file:
        return [row["outcome"] for row in csv.DictReader(file)]


def holder() -> int:
    """The process that has this host's measuring lock; 0: nobody."""
    result = lock.holder()
    return 0 if result is None else result.pid


def test_rows_of_wall_time_are_made_on_the_measuring_host(fleet: Fleet, policy: Path) -> None:
    """Also the smokes; and of the other clock it makes no run."""
    worker = measuring(fleet, "scales")
    fleet.workers(other="good")
    made = timed(fleet, policy, hi=LONG_HI, rows=2)
    await_guest(fleet, made)
    assert holder() == worker.process.pid
    assert made.ended() == 0, made.program.said
    assert wait_until(lambda: holder() == 0)
    assert outcomes(made) == ["warmup", *["ok"] * RUNS] * 2
    assert set(workers_of(made)) == {"scales"}
    assert len(workers_of(made)) == 2 * (1 + RUNS)
    assert list(made.folder.glob("smokes/*/worker.json"))
    facts = json.loads((made.folder / "session.json").read_text())
    assert [fact["name"] for fact in facts["fleet"]["workers"]] == ["scales"]
    assert all((run / "host.json").is_file() for run in made.folder.glob("runs/*"))
    exact = fleet.session("--fleet", fleet.address)
    assert exact.ended() == 0, exact.program.said
    assert set(workers_of(exact)) == {"other"}
    assert "makes runs in wall time only" in exact.program.said


def test_a_second_session_waits_for_the_first(fleet: Fleet, policy: Path) -> None:
    measuring(fleet, "scales")
    first = timed(fleet, policy, hi=LONG_HI)
    first.program.await_said("worker scales measures for this session")
    second = timed(fleet, policy)
    second.program.await_said("another session of the fleet measures there")
    assert first.ended() == 0, first.program.said
    assert second.ended() == 0, second.program.said
    assert outcomes(first) == outcomes(second) == ["warmup", *["ok"] * RUNS]


def test_a_session_that_is_killed_lets_the_host_go(fleet: Fleet, policy: Path) -> None:
    measuring(fleet, "scales")
    made = timed(fleet, policy, hi=LONG_HI)
    await_guest(fleet, made)
    made.program.signal(signal.SIGKILL)
    assert wait_until(lambda: guests(fleet) == [])
    assert wait_until(lambda: holder() == 0)


def test_a_worker_that_is_killed_ends_the_session_with_one_sentence(fleet: Fleet, policy: Path) -> None:
    worker = measuring(fleet, "scales")
    made = timed(fleet, policy, hi=LONG_HI)
    await_guest(fleet, made)
    worker.signal(signal.SIGKILL)
    assert made.ended() not in (0, 1), made.program.said
    assert re.search(
        r"worker scales\b.* (is lost|does not measure for this session any more)", made.program.said
    )
    assert "Traceback" not in made.program.said
    assert outcomes(made) is not None
    assert holder() == 0


def test_without_a_measuring_host_the_session_says_so(fleet: Fleet, policy: Path) -> None:
    fleet.workers(other="good")
    made = timed(fleet, policy)
    assert made.ended() == 4
    assert "no worker of the fleet was a measuring host within 60 s" in made.program.said
    assert "other: it is no measuring host (--measuring)" in made.program.said
    assert "Traceback" not in made.program.said
