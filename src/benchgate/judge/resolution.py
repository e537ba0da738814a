"""What the instruction clock could not resolve in the runs of each cell.

Takes judged runs; gives the largest value of each field over a cell's counted runs, by cell id. A cell on
another lane, or whose clock left no totals, has no entry. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchgate.base.runs import Disorder, Outcome, Resolution
from benchgate.judge.judged_run import JudgedRun


def resolutions(runs: Iterable[JudgedRun]) -> dict[str, Resolution]:
    of: dict[str, list[Resolution]] = {}
    for one in runs:
        if one.outcome is Outcome.OK and one.verified and one.verified.resolution:
            of.setdefault(one.run.cell.id, []).append(one.verified.resolution)
    return {cell_id: _largest(found) for cell_id, found in of.items()}


def _largest(found: list[Resolution]) -> Resolution:
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


def _worst(found: list[Disorder]) -> Disorder | None:
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
