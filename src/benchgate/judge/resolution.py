"""What the instruction clock could not resolve in the runs of each cell.

Takes judged runs; gives the largest value of each field over a cell's counted runs, by cell id. A cell on
another lane, or whose clock left no totals, has no entry. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchgate.base.runs import Outcome, Resolution
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
    )
