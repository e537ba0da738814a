"""A figure over the seeds of a study, with its interval. Pure.

Takes samples as exact fractions; gives the median and the ends of the exact bootstrap of the median
(base/statistics/stats.py), between which it lies with 1 - 2 ALPHA. With fewer than nine samples these are the
lowest and the highest. Fails with ValueError if there is no sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from benchgate.base.statistics.stats import median_quantiles, ratio_interval

ALPHA = 0.05
DIGITS = 6
"""Decimals of a share or a sensitivity. The programme is solved with what the tables say, so that anyone can
solve it again."""


@dataclass(frozen=True, slots=True)
class Estimate:
    value: Fraction
    low: float
    high: float
    samples: tuple[Fraction, ...]


def figure(samples: Sequence[Fraction]) -> Estimate:
    interval = median_quantiles([float(one) for one in samples], ALPHA, 1 - ALPHA)
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
    known = [one for one in floors if one is not None]
    return max(known) if len(known) == len(floors) else None


def floor(samples: Sequence[Fraction]) -> float | None:
    """The A/A noise: by how much two medians of such samples differ, as a share of them. None if a single
    sample, or one of 0, tells nothing."""
    if len(samples) < 2 or min(samples) <= 0:
        return None
    values = [float(one) for one in samples]
    interval = ratio_interval(values, values, ALPHA)
    return max(interval.high, 1 / interval.low) - 1
