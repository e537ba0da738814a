"""Whatever happens to a fleet, a session loses no run, makes none twice, and leaves no guest.

`nox -s fleet-faults` runs them; `./run tests` has the first one (boots/test_killed_worker.py).
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.features.fleet.tests import fleetkit
from benchgate.features.fleet.tests.fleetkit import LONG_HI, SEEDS, WHOLE, Fleet, Session, assert_same
from tests.machines import wait_until

pytestmark = [pytest.mark.fleet, pytest.mark.alone]


@pytest.fixture(scope="module", autouse=True)
def _needs_dask() -> None:
    fleetkit.require()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """The same session on this machine alone."""
    with fleetkit.fleet(tmp_path_factory.mktemp("alone")) as none:
        made = none.session()
        assert made.ended() == 0, made.program.said
        assert made.seeds() == WHOLE
        yield made


@pytest.fixture(scope="module")
def long_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with fleetkit.fleet(tmp_path_factory.mktemp("long")) as none:
        made = none.session(hi=LONG_HI)
        assert made.ended() == 0, made.program.said
        yield made


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with fleetkit.fleet(tmp_path) as made:
        made.scheduler()
        yield made


def on(fleet: Fleet) -> tuple[str, str]:
    return "--fleet", fleet.address


def test_a_worker_that_answers_with_another_runs_folder(fleet: Fleet, alone: Session) -> None:
    fleet.workers(good="good", wrong="other")
    made = fleet.session(*on(fleet))
    assert_same(made, alone)
    assert "worker wrong of the fleet gets no more runs: " in made.program.said
    assert "its folder is of another run" in made.program.said


def test_a_worker_that_lies_about_a_time(fleet: Fleet) -> None:
    """The first seed is made on both workers. Without a third one nobody can say who is wrong."""
    fleet.workers(good="good", wrong="lies")
    made = fleet.session(*on(fleet))
    assert made.ended() != 0, made.program.said
    said = " ".join(made.program.said.split())
    assert re.search("(good and wrong|wrong and good) made different runs of seed 1", said), said
    assert "clock.log:" in said
    assert "PASS" not in said


def test_a_third_worker_takes_the_odd_one_out(fleet: Fleet) -> None:
    """Of three workers each has been compared after two rows, so a liar is found wherever it is."""
    fleet.workers(one="good", two="good", wrong="lies")
    made = fleet.session(*on(fleet), rows=2)
    assert made.ended() == 0, made.program.said
    said = " ".join(made.program.said.split())
    assert re.search(
        r"worker wrong of the fleet gets no more runs: its run of primes\S+ is not that of two", said
    )
    assert made.seeds() == [*WHOLE, *WHOLE[1:]]  # only the first row of a workload repeats a seed


def test_a_worker_with_a_wrong_clock(fleet: Fleet, alone: Session) -> None:
    """Nothing that is compared, and nothing that decides, comes from a worker's time of day."""
    fleet.workers(ahead="clock")
    assert_same(fleet.session(*on(fleet)), alone)


def test_a_worker_with_a_full_disk(fleet: Fleet, alone: Session) -> None:
    fleet.workers(good="good", full="disk")
    made = fleet.session(*on(fleet))
    assert_same(made, alone)
    assert "full" in made.program.said


def test_a_scheduler_that_goes_away_and_comes_back(fleet: Fleet, long_alone: Session) -> None:
    fleet.workers(one="good", two="good")
    made = fleet.session(*on(fleet), hi=LONG_HI)
    assert wait_until(lambda: fleet.qemus() != [])
    assert fleet.programs[0].signal(signal.SIGKILL) == -signal.SIGKILL
    fleet.scheduler()
    assert_same(made, long_alone)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_session_that_ends_early_and_continues(
    fleet: Fleet, long_alone: Session, number: signal.Signals
) -> None:
    fleet.workers(one="good", two="good")
    early = fleet.session(*on(fleet), hi=LONG_HI)
    assert wait_until(lambda: len(list(early.reports.glob("runs/*/runs/0003-*"))) == 1), early.program.said
    code = early.program.signal(number)
    assert code == (2 if number == signal.SIGINT else -number)
    assert wait_until(lambda: fleet.qemus() == []), "a guest that nobody waits for"
    before = early.seeds()
    assert before == WHOLE[: len(before)]
    assert 1 <= len(before) <= SEEDS

    made = fleet.session(*on(fleet), "--resume", str(early.folder), hi=LONG_HI)
    assert_same(made, long_alone)
    assert all((place / "worker.json").exists() for place in made.folder.glob("runs/*"))


def test_a_worker_whose_operator_does_not_allow_the_guest(fleet: Fleet) -> None:
    listed = fleet.folder / "allowed"
    listed.write_text("# nothing\n")
    fleet.begin_worker("strict", "good", "--allow", str(listed)).await_said(fleetkit.UP)
    made = fleet.session(*on(fleet))
    assert made.ended() == 4, made.program.said
    said = " ".join(made.program.said.split())
    assert f"not in {listed}, and this worker accepts no signatures" in said
    assert f"benchgate fleet allow {listed} clock=" in said
    assert fleet.qemus() == []
