"""What a maker takes from a run, verified or not. One in which no guest ran says nothing of a kernel."""

from __future__ import annotations

import io
from collections.abc import Generator, Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchgate.base.errors import BootError, UsageError
from benchgate.base.exploration import Exploration, Strategy
from benchgate.base.runs import Ending, RawRun
from benchgate.features.explore.session.guest_maker import GuestMaker, window_ns
from benchgate.features.explore.session.loop import ExplorationJob
from benchgate.features.explore.tests.exploresim import planned
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.run.parallel import AttemptJob as Run
from benchgate.run.runner import LocalRunner
from benchgate.session.progress import Progress
from tests.unit.factories import cell, raw_run, verified


class Runs(LocalRunner):
    """Gives runs that ended like this."""

    def __init__(self, ending: Ending) -> None:
        self.ending = ending

    def execute_all(self, jobs: Iterable[Run], at_once: int) -> Generator[tuple[int, RawRun]]:
        assert at_once == 1
        for number, _ in enumerate(jobs):
            yield number, replace(raw_run(planned().cell), ending=self.ending, detail="QEMU did not answer.")


def made(ending: Ending, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Why the run has no result."""
    monkeypatch.setattr(GuestMaker, "request", lambda _self, job: job)
    maker = GuestMaker(Options(), Progress(io.StringIO(), live=False), ExitStack())
    maker._runner = Runs(ending)
    job = ExplorationJob(planned(), Exploration(Strategy.SYNC, seed=1), 1, folder, 1, "run 1")
    (result,) = maker.make([job], 1)
    return result.made.reason


def test_a_qemu_that_runs_no_guest_ends_the_exploration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BootError, match=r"no guest ran: QEMU did not answer\. .* the same command") as error:
        made(Ending.NO_START, tmp_path, monkeypatch)
    assert str(error.value).startswith("primes-kernel-smp2: ")


def test_a_guest_that_ended_without_a_result_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert made(Ending.EOF, tmp_path, monkeypatch)


@pytest.mark.parametrize(("unit", "ns"), [("insn", 800), ("ns", 800), ("cycles", None)])
def test_a_window_is_compared_with_others_if_its_length_is_guest_time(unit: str, ns: int | None) -> None:
    """`ns`: between two lines of the console, or a figure that the clock agreed with."""
    assert window_ns(verified(raw_run(cell()), 800, unit=unit)) == ns


def test_an_oracle_that_cannot_be_loaded_is_refused_before_a_boot(tmp_path: Path) -> None:
    oracle = tmp_path / "oracle.py"
    oracle.write_text("\nimport nosuch\n")
    primes = replace(catalog.load_workload("primes"), oracle=oracle)
    maker = GuestMaker(Options(), Progress(io.StringIO(), live=False), ExitStack())
    with pytest.raises(UsageError, match=r"oracle of workload primes .*oracle\.py:2: ModuleNotFoundError"):
        maker.open([SimpleNamespace(workload=primes)])  # type: ignore[list-item]
