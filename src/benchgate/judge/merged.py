"""Percentiles of all counted runs of a cell together, from their merged histograms. For reports only.

Takes judged runs and the metrics that each row declares; gives the percentiles by cell id and name. They are
shown beside the runs' own percentiles, which are the samples that gates use: an interval needs several. A
percentile that one of the runs lacks is left out. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchgate.base.histogram import percentile_of
from benchgate.base.metrics import NS, SECOND_NS, Metric, MetricKind
from benchgate.base.runs import Outcome, VerifiedRun
from benchgate.judge.judged_run import JudgedRun


def merged_percentiles(
    runs: Iterable[JudgedRun], declared: Mapping[str, Mapping[str, Metric]]
) -> dict[str, dict[str, float]]:
    """`declared`: by row."""
    of: dict[str, list[VerifiedRun]] = {}
    metrics: dict[str, Mapping[str, Metric]] = {}
    for one in runs:
        if one.outcome is Outcome.OK and one.verified:
            of.setdefault(one.run.cell.id, []).append(one.verified)
            metrics[one.run.cell.id] = declared[one.run.cell.row]
    found = {cell_id: _of_cell(mine, metrics[cell_id]) for cell_id, mine in of.items()}
    return {cell_id: values for cell_id, values in found.items() if values}


def _of_cell(runs: Sequence[VerifiedRun], declared: Mapping[str, Metric]) -> dict[str, float]:
    return {
        name: percentile_of([(run.histograms[metric.of], _unit(metric, run)) for run in runs], metric.at)
        for name, metric in declared.items()
        if metric.kind is MetricKind.PERCENTILE and all(name in run.metrics for run in runs)
    }


def _unit(metric: Metric, run: VerifiedRun) -> float:
    """How many of the metric's unit one of the histogram's is. A run without `hz` has no percentile in ns."""
    return SECOND_NS / run.hz if metric.unit == NS and run.hz else 1
