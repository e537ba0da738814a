"""The books of a session's runs on machines: where the time of each run went.

Takes judged runs; gives the books of each that counts, those of each cell's median run marked. Fails with
VerifyError if a log cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchgate.base.runs import Disorder, VerifiedRun
from benchgate.insn.memory_log import MemoryBooks
from benchgate.judge.judged_run import JudgedRun, counted_by_cell, median_of
from benchgate.judge.run_files import RunFiles


@dataclass(frozen=True, slots=True)
class RunBooks:
    run: int
    cell: str
    row: str
    cpus: int
    seed: int
    books: MemoryBooks
    orders: Mapping[str, Disorder]
    total: int
    """The run's total window, in ns."""
    is_median: bool
    """True for the median run of its cell (judged_run.median_of)."""


def run_books(runs: Sequence[JudgedRun]) -> tuple[RunBooks, ...]:
    """The books have the order of execution."""
    cells = counted_by_cell(runs).values()
    medians = {median_of(of).run.attempt for of in cells}
    counted = sorted((run for of in cells for run in of), key=lambda run: run.run.attempt)
    return tuple(one for run in counted for one in _of_run(run, is_median=run.run.attempt in medians))


def _of_run(run: VerifiedRun, *, is_median: bool) -> Iterator[RunBooks]:
    raw = run.run
    log = RunFiles(raw).clock if raw.clock_log is not None else None
    if log is None or log.memory is None:
        return
    cell = raw.cell
    yield RunBooks(
        run=raw.attempt,
        cell=cell.id,
        row=cell.row,
        cpus=cell.cpus,
        seed=raw.seed,
        books=log.memory,
        orders=log.orders,
        total=run.total,
        is_median=is_median,
    )
