"""bench-lines.txt: single operations' costs as the lines that Kevlar's runner reads (`benchgate docs micro`).

Takes a SessionView; gives one block of lines for each system, lane and CPU count, or None if the session
measured no operation. The cost is the median of the runs; an operation that the system lacks is a BENCH_SKIP
with its reason. A session that is not complete has no BENCH_END. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchgate.base import grouped
from benchgate.base.gates import VERIFIED, Word
from benchgate.base.statistics.stats import median
from benchgate.base.text import one_line
from benchgate.evidence.figures_file import COST, OPERATION
from benchgate.render.figures import series_of
from benchgate.render.view import SessionView

NAME = "bench-lines.txt"
Block = tuple[str, str, int]
"""A system, a lane and a CPU count. A skipped operation is in the blocks of all lanes."""


def render(view: SessionView) -> str | None:
    measured = grouped(_measured(view), key=lambda pair: pair[0])
    blocks = {block: [line for _, line in of] for block, of in measured.items()}
    for system, cpus, line in _skipped(view):
        for block, lines in blocks.items():
            if (block[0], block[2]) == (system, cpus):
                lines.append(line)
    end = ["BENCH_END"] if view.state == "complete" else []
    text: list[str] = []
    for (system, lane, cpus), lines in blocks.items():
        text += [f"BENCH_START {system}-{lane}-smp{cpus}", *lines, *end]
    return "\n".join(text) + "\n" if text else None


def _measured(view: SessionView) -> Iterator[tuple[Block, str]]:
    for series in series_of(view):
        name, iters = dict(series.params).get(OPERATION), dict(series.params).get("iters", 1)
        for arm in series.arms:
            cost = next(
                (metric for metric in arm.metrics if metric.metric.name == COST and metric.unit == "ns"), None
            )
            if name is None or cost is None or arm.is_broken or not isinstance(iters, int):
                continue
            total = max(1, round(median(cost.values) * iters))
            line = f"BENCH {_named(name, series.params)} {iters} {total} {total // iters}"
            yield (series.system, series.lane, arm.cpus), line


def _named(name: object, params: tuple[tuple[str, object], ...]) -> str:
    """Operations that differ in another parameter too are different operations."""
    shared = "_shared" if dict(params).get("share") == "one" else ""
    return f"{name}{shared}"


def _skipped(view: SessionView) -> Iterator[tuple[str, int, str]]:
    for verdict in view.verdicts:
        name = dict(verdict.params).get(OPERATION)
        if verdict.gate == VERIFIED and verdict.outcome is Word.SKIP and name is not None:
            line = f"BENCH_SKIP {_named(name, verdict.params)} ({one_line(verdict.reason, 200)})"
            yield verdict.system, verdict.cpus, line
