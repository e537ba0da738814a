"""The noise floor of each arm of a session: by how much two arms of nothing but its own noise differ.

Takes arms; gives a `NoiseFloor` for each with enough runs. Nothing fails.

The floor is an A/A test without more runs. If the arm were measured twice, both times with as many runs, the
ratio of both medians would be 1 but for noise. The exact bootstrap gives the distribution of that ratio, both
arms being resamples of the arm's own runs, and the floor is the end of its interval, at the policy's alpha: a
difference below it is no difference. On the instruction clock the samples are seeds, so the floor is that of
interleavings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchgate.base.cells import Lane
from benchgate.base.gates import SMALLEST_LOOK, Arm
from benchgate.base.statistics.stats import coefficient_of_variation, median, ratio_interval


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """The noise floor of the metric `work` in one arm."""

    cell_id: str
    lane: Lane
    runs: int
    floor: float
    """A share: 0.021 if two such arms differ by up to 2.1%."""
    halves: float
    """The median of every second run over that of the others, in the order of execution: what this session's
    own halves differ by."""
    cv: float | None
    """The standard deviation divided by the mean."""


def floors(arms: Mapping[str, Arm], alpha: float) -> Iterator[NoiseFloor]:
    for arm in arms.values():
        of = arm.work
        if of is None or len(of.samples) < SMALLEST_LOOK or min(of.samples) <= 0 or arm.invalid:
            continue
        interval = ratio_interval(of.samples, of.samples, alpha)
        yield NoiseFloor(
            cell_id=arm.cell.id,
            lane=of.lane,
            runs=len(of.samples),
            floor=max(interval.high, 1 / interval.low) - 1,
            halves=median(of.samples[1::2]) / median(of.samples[::2]),
            cv=coefficient_of_variation(of.samples),
        )
