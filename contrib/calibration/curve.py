"""Finds the levels of a memory system in the curve of a pointer chase over sizes.

Takes points (size, latency); gives levels, the steps between them, and where a stated machine disagrees with
the curve; and the file of curves beside a machine file, as CSV. Fails with ValueError for points that are not
in ascending order or not above zero, and with UsageError, which names file and line, for another file.

A chase can only be disturbed towards longer times, and a larger array is never faster. So the curve is
replaced by its lower envelope: the smallest latency at this size or any larger one. One disturbed point then
changes nothing. A level is a part of the envelope that is flat over at least some octaves; the parts between
levels are ramps: a cache that replaces lines not exactly in the order of their use has no sharp edge.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchgate.base.errors import UsageError
from benchgate.base.files import read_start
from benchgate.base.statistics.stats import median, median_interval
from benchgate.base.text import visible

FLAT = 1.25
"""The envelope of one level rises by at most this factor."""
DISTINCT = 1.6
"""Neighbouring levels that differ by less are one level: a slow rise, such as that of a TLB."""
LEAST_OCTAVES = 0.74
"""A level is at least this long (a little less than three quarters: sizes are rounded to pages)."""
LEAST_POINTS = 3
ERROR = 0.05
"""The error probability of either bound of a level's latency, where it has enough points."""
SHARE, ROUNDING_NS = 0.1, 0.75
"""A stated latency may be so far outside of a level's interval: a tenth, or the step of whole ns."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    size: int
    """Bytes."""
    ns: float
    """The latency in the pass with the least disturbance."""
    typical_ns: float
    """The median of the passes."""


@dataclass(frozen=True, slots=True)
class LatencyLevel:
    ns: float
    low: float
    high: float
    """The interval of `ns`; with too few points for one, the lowest and the highest point."""
    first: int
    last: int
    """The sizes between which the curve is flat."""


@dataclass(frozen=True, slots=True)
class CapacityStep:
    """The capacity of a level is between `low`, where the curve still is on it, and `high`, where it is
    nearer to the next one."""

    low: int
    high: int
    size: int
    """The size where the curve crosses the middle between both levels, in logarithms."""

    def contains(self, size: int) -> bool:
        return self.low <= size <= self.high


@dataclass(frozen=True, slots=True)
class CacheStatement:
    """What a machine file says of one cache. `ns` None: by definition, so it is not compared."""

    name: str
    size: int
    ns: float | None


class _PointRange(NamedTuple):
    """Points with these indices, both included."""

    first: int
    last: int


def levels(points: Sequence[CurvePoint]) -> tuple[LatencyLevel, ...]:
    """The levels in ascending order; a curve without steps has one, and one that is nowhere flat has none."""
    return tuple(_level(points, run) for run in _runs(points))


def steps(points: Sequence[CurvePoint]) -> tuple[CapacityStep, ...]:
    """The steps between neighbouring levels."""
    heights, runs = envelope(points), _runs(points)
    pairs = itertools.pairwise(_level(points, run) for run in runs)
    middles = (math.sqrt(one.ns * other.ns) for one, other in pairs)
    return tuple(_step(points, heights, run.last, middle) for run, middle in zip(runs, middles, strict=False))


def envelope(points: Sequence[CurvePoint]) -> list[float]:
    sizes = [point.size for point in points]
    if sizes != sorted(set(sizes)) or any(point.ns <= 0 or not math.isfinite(point.ns) for point in points):
        raise ValueError("the points of a curve must have ascending sizes and latencies above zero")
    return list(itertools.accumulate((point.ns for point in reversed(points)), min))[::-1]


def fitting(step: CapacityStep, size: int, inner: int) -> bool:
    """Whether a cache of `size` bytes has this step. `inner`: the sizes of the levels inside it, which count
    too if no line is in both: an exclusive cache holds so much more."""
    return step.contains(size) or step.contains(size + inner)


def disagreements(
    stated: Sequence[CacheStatement], memory_ns: float, points: Sequence[CurvePoint]
) -> list[str]:
    """What a machine file states of its caches and memory, held against a curve. Empty: they agree."""
    latency_levels, edges = levels(points), steps(points)
    if not latency_levels:
        return ["the curve is nowhere flat, so it shows no level"]
    said = []
    if len(edges) != len(stated):
        seen = ", ".join(f"{_kib(edge.low)} to {_kib(edge.high)}" for edge in edges) or "none"
        names = ", ".join(f"{statement.name} {_kib(statement.size)}" for statement in stated)
        levels_seen = f"the curve {len(edges)} steps ({seen})"
        said.append(f"the file has {len(stated)} levels of caches ({names}), {levels_seen}")
    inner = 0
    for statement, level, edge in zip(stated, latency_levels, edges, strict=False):
        if not fitting(edge, statement.size, inner):
            step = f"the step is between {_kib(edge.low)} and {_kib(edge.high)}"
            said.append(f"{statement.name}: {_kib(statement.size)}, but {step}")
        if statement.ns is not None and not _near(statement.ns, level):
            said.append(_differs(statement.name, statement.ns, level))
        inner += statement.size
    if len(latency_levels) == len(stated) + 1 and not _near(memory_ns, latency_levels[-1]):
        said.append(_differs("memory", memory_ns, latency_levels[-1]))
    return said


def _near(ns: float, level: LatencyLevel) -> bool:
    room = max(SHARE * level.ns, ROUNDING_NS)
    return level.low - room <= ns <= level.high + room


def _differs(name: str, ns: float, level: LatencyLevel) -> str:
    return f"{name}: {ns:g} ns, but the curve is at {level.ns:.2f} ns ({level.low:.2f} to {level.high:.2f})"


def _kib(size: int) -> str:
    return f"{size / 1024:g} KiB"


def _level(points: Sequence[CurvePoint], run: _PointRange) -> LatencyLevel:
    values = [point.ns for point in points[run.first : run.last + 1]]
    interval = median_interval(values, (len(values),), ERROR)
    low, high = max(interval.low, min(values)), min(interval.high, max(values))
    return LatencyLevel(median(values), low, high, points[run.first].size, points[run.last].size)


def _step(points: Sequence[CurvePoint], heights: Sequence[float], last: int, middle: float) -> CapacityStep:
    beyond = next(n for n in range(last + 1, len(points)) if heights[n] > middle)
    left, right = points[beyond - 1].size, points[beyond].size
    part = math.log(middle / heights[beyond - 1]) / math.log(heights[beyond] / heights[beyond - 1])
    return CapacityStep(points[last].size, right, round(left * (right / left) ** part))


def _runs(points: Sequence[CurvePoint]) -> list[_PointRange]:
    heights = envelope(points)
    merged: list[_PointRange] = []
    for run in _flat_runs(points, heights, 0, len(points)):
        if merged and _middle(heights, run) < DISTINCT * _middle(heights, merged[-1]):
            merged[-1] = _PointRange(merged[-1].first, run.last)
        else:
            merged.append(run)
    return merged


def _middle(heights: Sequence[float], run: _PointRange) -> float:
    return median(heights[run.first : run.last + 1])


def _flat_runs(
    points: Sequence[CurvePoint], heights: Sequence[float], begin: int, end: int
) -> Iterator[_PointRange]:
    """The longest flat run between these indices, and those on both sides of it, in ascending order."""
    runs = [_PointRange(first, _last_flat(heights, first, end)) for first in range(begin, end)]
    longest = max(runs, key=lambda run: (_octaves(points, run), -run.first), default=None)
    is_long = longest and longest.last - longest.first + 1 >= LEAST_POINTS
    if longest and is_long and _octaves(points, longest) >= LEAST_OCTAVES:
        yield from _flat_runs(points, heights, begin, longest.first)
        yield longest
        yield from _flat_runs(points, heights, longest.last + 1, end)


def _last_flat(heights: Sequence[float], first: int, end: int) -> int:
    return max(n for n in range(first, end) if heights[n] <= FLAT * heights[first])


def _octaves(points: Sequence[CurvePoint], run: _PointRange) -> float:
    return math.log2(points[run.last].size / points[run.first].size)


# ---- the file of curves


HEAD = ("kind", "bytes", "ns", "typical_ns")
LARGEST = 1 << 24


def curves_text(curves: Mapping[str, tuple[CurvePoint, ...]], decides: str) -> str:
    """The kind that decides comes first."""
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(HEAD)
    for kind in sorted(curves, key=lambda kind: (kind != decides, kind)):
        for point in curves[kind]:
            writer.writerow((kind, point.size, f"{point.ns:.4f}", f"{point.typical_ns:.4f}"))
    return output.getvalue()


def load_curves(path: Path) -> dict[str, tuple[CurvePoint, ...]]:
    """In the file's order: the first kind is the one that decides."""
    try:
        raw = read_start(path, LARGEST, follow=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    return parse_curves(raw.decode("utf-8", errors="replace"), path)


def parse_curves(raw: str, path: Path) -> dict[str, tuple[CurvePoint, ...]]:
    rows = list(csv.reader(raw.splitlines()))
    if not rows or tuple(rows[0]) != HEAD:
        raise UsageError(
            f"{path}:1: expected `{','.join(HEAD)}`, as `python -m contrib.calibration` writes it"
        )
    result: dict[str, list[CurvePoint]] = {}
    for number, row in enumerate(rows[1:], 2):
        try:
            kind, size, ns, typical = row
            point = CurvePoint(int(size), float(ns), float(typical))
        except ValueError:
            shown = visible(",".join(row))[:80]
            raise UsageError(f"{path}:{number}: `{shown}` is not a point of a curve") from None
        before = result.setdefault(kind, [])
        if not (0 < point.ns < math.inf and (not before or point.size > before[-1].size)):
            raise UsageError(f"{path}:{number}: sizes must ascend, and latencies must be above zero")
        before.append(point)
    if not result:
        raise UsageError(f"{path}: has no points")
    return {kind: tuple(points) for kind, points in result.items()}
