"""The runs of a study: of each run its scores, and what was used of each resource, in whole units; and a
figure over the seeds, with its interval. Pure.

Takes values of a run; gives a frozen MixMeasurement. Fails with ValueError for a score below 0. `Runs` has
what was made, by key.

An `Estimate` is of samples as exact fractions: their median and the ends of the exact bootstrap of the median
(base/statistics/stats.py), between which it lies with 1 - 2 ALPHA. With fewer than nine samples these are the
lowest and the highest. Fails with ValueError if there is no sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import Annotated

from benchgate.base.jsonfields import Between, Matches
from benchgate.base.statistics.stats import median_quantiles, ratio_interval
from benchgate.features.mix.study import RESOURCES, Kept, Study
from benchgate.features.mix.study_orders import alone_key, input_of, seeds

_Resource = Annotated[str, Matches("|".join(RESOURCES), "a resource")]
_Figures = Mapping[_Resource, int | None]
"""What is used of each resource in the window, or the capacity: ns of CPU time, bytes of the others; of cache
and memory it is the most at one time."""
ALPHA = 0.05
DIGITS = 6
"""Decimals of a share or a sensitivity. The programme is solved with what the tables say, so that anyone can
solve it again."""


@dataclass(frozen=True, slots=True)
class PartMeasurement:
    name: str
    """`primes.small#1`."""
    score: Kept
    runs: int
    use: _Figures
    starved: str = ""
    """The resource for want of which it was ended: its score is that of what it completed."""

    def __post_init__(self) -> None:
        if self.score < 0:
            raise ValueError("score is below 0")

    @property
    def input(self) -> str:
        return input_of(self.name)


@dataclass(frozen=True, slots=True)
class MixMeasurement:
    window_ns: Annotated[int, Between(1)]
    parts: tuple[PartMeasurement, ...]
    use: _Figures
    """What the whole guest used; None if it could not be read."""
    capacity: _Figures
    """What the guest could use in this window. A resource that is calibrated has none here."""
    missing: Mapping[_Resource, str]
    """Why a resource has no figure."""

    def used(self, resource: str) -> int | None:
        """What all parts used together; the guest's figure where only the whole guest can be asked."""
        if self.use.get(resource) is not None:
            return self.use[resource]
        each = [part.use.get(resource) for part in self.parts]
        known = [number for number in each if number is not None]
        return sum(known) if known and len(known) == len(each) else None

    def rate(self, resource: str) -> Fraction | None:
        """What was used of it, for each nanosecond of the window."""
        used = self.used(resource)
        return None if used is None else Fraction(used, self.window_ns)


@dataclass(frozen=True, slots=True)
class StudyRun:
    """A run that was made: it has either measured something, or a reason why not."""

    measured: MixMeasurement | None
    reason: str = ""
    fraction: Kept | None = None
    """Of a run with a limit: the limit divided by what the part used alone."""
    folder: str = ""
    """Of its last attempt, below the study's; empty if there was none, because there is no such limit."""

    @property
    def is_no_limit(self) -> bool:
        return self.measured is None and not self.folder


Runs = Mapping[str, StudyRun]


def alone(study: Study, runs: Runs, name: str) -> dict[int, MixMeasurement]:
    """The valid runs of an input alone, by seed."""
    return valid({seed: runs.get(alone_key(name, seed)) for seed in seeds(study)})


def valid(runs: Mapping[int, StudyRun | None]) -> dict[int, MixMeasurement]:
    return {seed: run.measured for seed, run in runs.items() if run is not None and run.measured is not None}


def why_none(runs: Mapping[int, StudyRun] | Mapping[int, StudyRun | None]) -> str:
    """A sentence for runs of which none is valid."""
    made = [run for run in runs.values() if run is not None]
    if not made:
        return "it was not run yet"
    return f"INVALID: {made[0].reason}" + (f" ({made[0].folder})" if made[0].folder else "")


@dataclass(frozen=True, slots=True)
class Estimate:
    value: Fraction
    low: float
    high: float
    samples: tuple[Fraction, ...]


def figure(samples: Sequence[Fraction]) -> Estimate:
    interval = median_quantiles([float(sample) for sample in samples], ALPHA, 1 - ALPHA)
    return Estimate(Fraction(median(samples)), interval.low, interval.high, tuple(samples))


def decimals(value: Fraction, digits: int = DIGITS) -> str:
    """A number in the notation of the tables: rounded, without an exponent."""
    text = f"{round(value * 10**digits):0{digits + 1}d}"
    return f"{text[:-digits]}.{text[-digits:]}"


def rounded(value: Fraction) -> Fraction:
    """The number that the tables show."""
    return Fraction(round(value * 10**DIGITS), 10**DIGITS)


def highest(floors: Sequence[float | None]) -> float | None:
    """None if one of them is not known."""
    known = [number for number in floors if number is not None]
    return max(known) if len(known) == len(floors) else None


def floor(samples: Sequence[Fraction]) -> float | None:
    """The A/A noise: by how much two medians of such samples differ, as a share of them. None if a single
    sample, or one of 0, tells nothing."""
    if len(samples) < 2 or min(samples) <= 0:
        return None
    values = [float(sample) for sample in samples]
    interval = ratio_interval(values, values, ALPHA)
    return max(interval.high, 1 / interval.low) - 1
