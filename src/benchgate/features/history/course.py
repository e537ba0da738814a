"""The course of one series: its points in time, the levels between changes, and the changes.

Takes points and their samples; gives a `Course`, frozen. Pure; does not fail. Which points are compared, and
why, is in changes.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchgate.base.cells import Lane
from benchgate.base.statistics.stats import median
from benchgate.base.workload.metrics import MetricDirection
from benchgate.features.history import changes
from benchgate.features.history.entry import CourseSeries


@dataclass(frozen=True, slots=True)
class CoursePoint:
    session: str
    started: str
    commit: str
    is_dirty: bool
    """Whether there were uncommitted changes."""
    verified: bool
    runs: int
    median: float
    low: float | None
    """None: too few runs for an interval."""
    high: float | None
    guest: str


@dataclass(frozen=True, slots=True)
class Change:
    """The level of the figure is another one from this point on."""

    at: int
    """The number of the first point of the new level."""
    before: float
    after: float
    better: MetricDirection
    """The metric's direction."""

    @property
    def ratio(self) -> float | None:
        """None around zero, where a ratio has no meaning."""
        return self.after / self.before if min(self.before, self.after) > 0 else None

    @property
    def is_worse(self) -> bool:
        return (self.after > self.before) == (self.better is MetricDirection.LESS)


@dataclass(frozen=True, slots=True)
class Course:
    series: CourseSeries
    points: tuple[CoursePoint, ...]
    """Oldest first."""
    changes: tuple[Change, ...]
    method: str
    """How changes were sought, in words."""
    left_out: int = 0
    """Older points that were not read."""


def course_of(
    series: CourseSeries,
    points: Sequence[CoursePoint],
    samples: Mapping[str, Sequence[float]],
    error: float,
    left_out: int = 0,
) -> Course:
    """`samples`: those of each session; only the instruction clock's are needed. Unverified points are drawn,
    but no change is sought in them."""
    checked = [n for n, point in enumerate(points) if point.verified]
    medians = [points[n].median for n in checked]
    if series.lane == Lane.INSN:
        steps = changes.by_samples([samples[points[n].session] for n in checked])
        method = changes.BY_SAMPLES
    else:
        steps, method = changes.by_ranks(medians, error), changes.by_ranks_said(error)
    borders = (0, *steps, len(checked))
    levels = [median(medians[a:b]) for a, b in itertools.pairwise(borders) if a < b]
    result = tuple(
        Change(checked[step], before, after, MetricDirection(series.better))
        for step, before, after in zip(steps, levels, levels[1:], strict=False)
    )
    return Course(series, tuple(points), result, method, left_out)
