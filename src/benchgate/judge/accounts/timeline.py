"""Shows when and where a run's workers worked, what each vCPU did meanwhile, and the recorded call stacks.

Takes judged runs; gives the `Timeline`s of the median and of the slowest run of each cell, cell by cell.
Everything comes from the run's files: the worker lines of its console and, on the instruction clock, the
columns of its log. A run with neither has no timeline. Fails with VerifyError if a file cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from benchgate.base.cells import Lane
from benchgate.base.runs import VerifiedRun
from benchgate.insn.activity import Activity
from benchgate.insn.profile import Stacks, read_folded
from benchgate.judge.judged_run import JudgedRun, Recording, counted_by_cell, median_of, recordings
from benchgate.judge.run_files import RunFiles

MEDIAN, SLOWEST, ONLY = "median", "slowest", "only"


@dataclass(frozen=True, slots=True)
class WorkerSpan:
    """One worker: it began on `cpu` and ended on `cpu_end`."""

    worker: int
    cpu: int
    cpu_end: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class ChosenRun:
    """A run that is drawn for its cell."""

    cell: str
    cpus: int
    folder: str
    """The run's folder, below the session's."""
    run: int
    seed: int | None
    """None: not on the instruction clock."""
    which: str
    """The median of the runs of its cell that are drawn or recorded, the slowest, or the only one."""
    work: int
    unit: str


def facts_of(run: VerifiedRun, which: str) -> dict[str, Any]:
    """The fields of a ChosenRun."""
    cell, seed = run.run.cell, run.run.seed if run.run.lane is Lane.INSN else None
    facts = {"cell": cell.id, "cpus": cell.cpus, "folder": f"runs/{run.run.folder.name}", "seed": seed}
    return {**facts, "run": run.run.attempt, "which": which, "work": run.work, "unit": run.unit}


@dataclass(frozen=True, slots=True)
class Timeline(ChosenRun):
    """The total window, from 0 to `length`, in the run's unit."""

    share: float
    """The work of this run, as a multiple of the median run's."""
    length: int
    workers: tuple[WorkerSpan, ...]
    activity: Activity | None
    """A run without workers has the activity of the whole run, because such a guest has no marks."""


def timelines(runs: Sequence[JudgedRun]) -> tuple[Timeline, ...]:
    cells = counted_by_cell(runs).values()
    result = (_timeline(run, which, median.work) for cell in cells for median, run, which in chosen(cell))
    return tuple(timeline for timeline in result if timeline is not None)


def chosen(runs: Sequence[VerifiedRun]) -> list[tuple[VerifiedRun, VerifiedRun, str]]:
    """The median run, each chosen run, and what it is."""
    median, slowest = median_of(runs), max(runs, key=lambda run: (run.work, run.run.attempt))
    if len(runs) == 1:
        return [(median, median, ONLY)]
    return [(median, median, MEDIAN), (median, slowest, SLOWEST)]


def _timeline(run: VerifiedRun, which: str, median: int) -> Timeline | None:
    files = RunFiles(run.run)
    activity = None if run.run.clock_log is None else files.clock.activity
    if not run.workers and activity is None:
        return None
    whole = activity.end - activity.begin if activity else 0
    return Timeline(
        **facts_of(run, which),
        share=run.work / median,
        length=run.total if run.workers else whole,
        workers=_workers(files, run.total) if run.workers else (),
        activity=activity,
    )


def _workers(files: RunFiles, total: int) -> tuple[WorkerSpan, ...]:
    """`total` is the run's total window. On the instruction clock the guest may count it in another unit."""
    seen = files.transcript
    begin, length = seen.total_start, max(seen.total_end - seen.total_start, 1)

    def since(time: int) -> int:
        return (time - begin) * total // length

    return tuple(WorkerSpan(of.id, of.cpu, of.cpu_end, since(of.start), since(of.end)) for of in seen.reports)


# ---- call stacks


FOLDED = "stacks.folded"


def flames(runs: Iterable[JudgedRun]) -> tuple[Recording[Stacks], ...]:
    return recordings(runs, FOLDED, read_folded)
