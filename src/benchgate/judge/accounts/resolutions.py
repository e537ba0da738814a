"""What the instruction clock could not resolve in the runs of each cell.

Takes judged runs; gives the largest value of each field of their resolutions, by cell. Nothing fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from benchgate.base.runs import Disorder, Resolution
from benchgate.judge.judged_run import JudgedRun, counted_by_cell


def resolutions(runs: Iterable[JudgedRun]) -> dict[str, Resolution]:
    cells = counted_by_cell(runs).items()
    found = {cell_id: [run.resolution for run in of if run.resolution] for cell_id, of in cells}
    return {cell_id: _largest(known) for cell_id, known in found.items() if known}


def _largest(found: Sequence[Resolution]) -> Resolution:
    return Resolution(
        step=max(one.step for one in found),
        handovers=max(one.handovers for one in found),
        late=max(one.late for one in found),
        printed=max(one.printed for one in found),
        order=_worst([one.order for one in found if one.order]),
        late_in_total=max(
            (one.late_in_total for one in found if one.late_in_total is not None), default=None
        ),
    )


def _worst(found: Sequence[Disorder]) -> Disorder | None:
    """The most accesses of one run, and the worst access of all runs with its line."""
    if not found:
        return None
    worst = max(found, key=lambda one: one.worst_ns)
    return replace(
        worst,
        count=max(one.count for one in found),
        total_ns=max(one.total_ns for one in found),
        crossed=max(one.crossed for one in found),
    )
