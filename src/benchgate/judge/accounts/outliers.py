"""The runs that are far from their arm's median, and what sets them apart.

Takes judged runs; gives a sentence for each outlying one, in their order. Does not fail.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from benchgate.base.cells import Lane
from benchgate.base.runs import VerifiedRun
from benchgate.base.text import counted
from benchgate.judge.judged_run import JudgedRun, counted_by_cell

FEWEST_RUNS = 5
SHARE, SPREADS = 0.05, 7
"""An outlying run differs from the median by more than this share of it, and by more than this many median
absolute deviations."""
FOREIGN_FACTOR = 2


def outliers(runs: Sequence[JudgedRun]) -> tuple[str, ...]:
    arms = counted_by_cell(runs).values()
    result = sorted((run.run.attempt, text) for arm in arms for run, text in _outlying(arm))
    return tuple(text for _, text in result)


def _outlying(arm: Sequence[VerifiedRun]) -> Iterator[tuple[VerifiedRun, str]]:
    if len(arm) < FEWEST_RUNS:
        return
    middle = statistics.median(run.work for run in arm)
    spread = statistics.median(abs(run.work - middle) for run in arm)
    reach = max(SHARE * middle, SPREADS * spread)
    usual = [run for run in arm if abs(run.work - middle) <= reach]
    for run in arm:
        if abs(run.work - middle) > reach:
            why = "; ".join(_apart(run, usual)) or "its workers' CPUs are like those of the other runs"
            times = f"{run.work / middle:.2f} times the median of {run.run.cell.id}"
            yield run, f"{_name(run)} took {times}: {why}"


def _name(run: VerifiedRun) -> str:
    seed = f" (seed {run.run.seed})" if run.run.lane is Lane.INSN else ""
    return f"run {run.run.attempt:04}{seed}"


def _apart(run: VerifiedRun, usual: Sequence[VerifiedRun]) -> Iterator[str]:
    shared, moved = _shared(run), _moved(run)
    if len(shared) > max(len(_shared(verified_run)) for verified_run in usual):
        yield f"more than one worker began on {_listed([f'CPU {cpu}' for cpu in shared])}"
    if len(moved) > max(len(_moved(verified_run)) for verified_run in usual):
        yield _listed(moved)
    most = max(verified_run.foreign or 0 for verified_run in usual)
    if run.foreign is not None and run.foreign > FOREIGN_FACTOR * most:
        yield f"{run.foreign:,} {run.unit} of foreign CPU time, at most {most:,} in the other runs"


def _shared(run: VerifiedRun) -> list[int]:
    """The CPUs on which several workers began."""
    begun = Counter(worker.cpu for worker in run.workers)
    return sorted(cpu for cpu, workers in begun.items() if workers > 1)


def _moved(run: VerifiedRun) -> list[str]:
    moved = [worker for worker in run.workers if worker.cpu != worker.cpu_end]
    return [f"worker {worker.id} moved from CPU {worker.cpu} to {worker.cpu_end}" for worker in moved]


def _listed(parts: Sequence[str], most: int = 3) -> str:
    more = [f"{counted(len(parts) - most, 'other')}"] if len(parts) > most else []
    return ", ".join([*parts[:most], *more])
