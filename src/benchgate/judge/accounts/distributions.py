"""The histograms of all counted runs of a cell together, small enough to draw. Only reports use them.

Takes judged runs and the metrics that each row declares; gives a `Distribution` per cell and histogram, with
eight columns for each power of two, and the percentiles of all runs together, which are shown beside the
runs' own: those are the samples that gates use. A histogram that one of the runs lacks, or whose unit is not
known, is left out. Does not fail.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchgate.base.runs import VerifiedRun
from benchgate.base.statistics.histogram import Histogram, percentile_of
from benchgate.base.workload.metrics import NS, SECOND_NS, Metric, MetricKind
from benchgate.judge.judged_run import JudgedRun, counted_by_cell

COLUMNS = 8
PERCENTS = (50.0, 90.0, 99.0, 99.9, 99.99, 100.0)


@dataclass(frozen=True, slots=True)
class Distribution:
    name: str
    unit: str
    """The unit is `ns`, or that of the metrics that read it; it may be empty."""
    count: int
    low: float
    high: float
    columns: tuple[tuple[float, float, int], ...]
    """(from, to, how many values), ascending; columns without values are left out."""
    percentiles: tuple[tuple[float, float], ...]
    """(percent, value)."""


def distributions(
    runs: Iterable[JudgedRun], declared: Mapping[str, Mapping[str, Metric]]
) -> dict[str, tuple[Distribution, ...]]:
    """`declared` has the metrics by row; the result is by cell id."""
    cells = counted_by_cell(runs).items()
    result = {cell_id: tuple(_of_cell(mine, declared[mine[0].run.cell.row])) for cell_id, mine in cells}
    return {cell_id: some for cell_id, some in result.items() if some}


def _of_cell(runs: Sequence[VerifiedRun], declared: Mapping[str, Metric]) -> Iterable[Distribution]:
    for name in runs[0].histograms:
        mine = (MetricKind.PERCENTILE, name)
        units = {metric.unit for metric in declared.values() if (metric.kind, metric.of) == mine}
        unit = units.pop() if len(units) == 1 else ""
        if all(_is_usable(run, name, unit) for run in runs):
            yield _together(name, unit, [(run.histograms[name], _length(run, name, unit)) for run in runs])


def _is_usable(run: VerifiedRun, name: str, unit: str) -> bool:
    filled = name in run.histograms and run.histograms[name].count > 0
    return filled and (unit != NS or bool(_hz(run, name)))


def _hz(run: VerifiedRun, name: str) -> int | None:
    """How many of this histogram's units are a second. What the machine measured is in ns."""
    return SECOND_NS if name in run.measured else run.hz


def _length(run: VerifiedRun, name: str, unit: str) -> float:
    """Gives how many of the unit make one of the histogram's."""
    hz = _hz(run, name)
    return SECOND_NS / hz if unit == NS and hz else 1.0


def _together(name: str, unit: str, parts: Sequence[tuple[Histogram, float]]) -> Distribution:
    columns: Counter[int] = Counter()
    for histogram, length in parts:
        for middle, count in histogram.middles():
            columns[_column(middle * length)] += count
    return Distribution(
        name=name,
        unit=unit,
        count=sum(histogram.count for histogram, _ in parts),
        low=min(histogram.min * length for histogram, length in parts),
        high=max(histogram.max * length for histogram, length in parts),
        columns=tuple((*_ends(column), count) for column, count in sorted(columns.items())),
        percentiles=tuple((at, percentile_of(parts, at)) for at in PERCENTS),
    )


def _column(value: float) -> int:
    """Values below 1, which a logarithm cannot place, give 0."""
    return math.floor(COLUMNS * math.log2(value)) + 1 if value >= 1 else 0


def _ends(column: int) -> tuple[float, float]:
    return (0.0, 1.0) if column == 0 else (2 ** ((column - 1) / COLUMNS), 2 ** (column / COLUMNS))


# ---- percentiles


def merged_percentiles(
    runs: Iterable[JudgedRun], declared: Mapping[str, Mapping[str, Metric]]
) -> dict[str, dict[str, float]]:
    """`declared` has the metrics by row."""
    cells = counted_by_cell(runs).items()
    result = {cell_id: _percentiles_of(mine, declared[mine[0].run.cell.row]) for cell_id, mine in cells}
    return {cell_id: values for cell_id, values in result.items() if values}


def _percentiles_of(runs: Sequence[VerifiedRun], declared: Mapping[str, Metric]) -> dict[str, float]:
    return {
        name: percentile_of(
            [(run.histograms[metric.of], _length(run, metric.of, metric.unit)) for run in runs], metric.at
        )
        for name, metric in declared.items()
        if metric.kind is MetricKind.PERCENTILE
        and all(name in run.metrics for run in runs)
        and any(run.histograms[metric.of].count for run in runs)
    }
