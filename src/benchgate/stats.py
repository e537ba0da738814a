"""The numbers behind a verdict: medians, their ratio, and the exact bootstrap of that ratio.

Takes plain samples, gives plain numbers; no random numbers, no clock, no file. Fails with ValueError on
samples that cannot be meant (none, not finite, not positive).

The bootstrap is counted, not drawn. A resample of n samples is one of n**n equally likely ones; how many
of them have the k-th order statistic as their median is a difference of two binomial tails. So the ratio
of two medians has n*n weighted atoms, and every weight is a whole number: anyone gets the same bits.
For even n the median lies between two order statistics; their pairs are counted in the same way, so that
an arm of any length has an interval (verdicts are only reached at odd looks).
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Spread:
    """What one arm looks like. `cv` is the standard deviation over the mean; None for a single sample."""

    n: int
    median: float
    low: float
    high: float
    cv: float | None


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The exact distribution of a ratio of medians: (ratio, how many of `total` resamples), ascending."""

    atoms: tuple[tuple[float, int], ...]
    total: int

    def at_or_below(self, value: float) -> float:
        """The mass at or below a value."""
        return float(Fraction(sum(weight for ratio, weight in self.atoms if ratio <= value), self.total))

    def interval(self, alpha: float) -> Interval:
        """The bounds that say the same as the rule `mass at or below the threshold`.

        `low` is above a threshold exactly when the mass at or below that threshold is <= alpha, and
        `high` is at or below it exactly when that mass is >= 1 - alpha.
        """
        if not 0 < alpha < 0.5:
            raise ValueError(f"alpha must lie between 0 and 0.5, not {alpha}")
        exact = Fraction(alpha)
        return Interval(self._first_above(exact), self._first_reaching(1 - exact))

    def _first_above(self, share: Fraction) -> float:
        bound = share * self.total
        return next(ratio for ratio, below in self._cumulative() if below > bound)

    def _first_reaching(self, share: Fraction) -> float:
        bound = share * self.total
        return next(ratio for ratio, below in self._cumulative() if below >= bound)

    def _cumulative(self) -> Iterator[tuple[float, int]]:
        below = 0
        for ratio, weight in self.atoms:
            below += weight
            yield ratio, below


def median(samples: Sequence[float]) -> float:
    _check(samples)
    return float(statistics.median(samples))


def ratio_of_medians(base: Sequence[float], other: Sequence[float]) -> float:
    """How many times faster `other` is: the base arm's median time over the other arm's."""
    return median(base) / median(other)


def spread(samples: Sequence[float]) -> Spread:
    return Spread(
        len(samples), median(samples), min(samples), max(samples), coefficient_of_variation(samples)
    )


def coefficient_of_variation(samples: Sequence[float]) -> float | None:
    _check(samples)
    if len(samples) < 2:
        return None
    return statistics.stdev(samples) / statistics.fmean(samples)


def bootstrap(base: Sequence[float], other: Sequence[float]) -> Bootstrap:
    """The exact bootstrap of `ratio_of_medians(base, other)`, the arms resampled apart."""
    _check(base)
    _check(other)
    weights: dict[float, int] = {}
    bottoms = _medians(other)
    for top, top_weight in _medians(base):
        for bottom, bottom_weight in bottoms:
            ratio = top / bottom
            weights[ratio] = weights.get(ratio, 0) + top_weight * bottom_weight
    return Bootstrap(tuple(sorted(weights.items())), len(base) ** len(base) * len(other) ** len(other))


def paired_log_interval(base: Sequence[float], other: Sequence[float], alpha: float) -> Interval | None:
    """The paired t interval of the log ratio, run by run: a diagnostic, never a ground for a verdict.

    Under drift that both arms share it is narrower than the bootstrap. None where pairs do not exist.
    """
    if len(base) != len(other) or len(base) < 2:
        return None
    _check(base)
    _check(other)
    logs = [math.log(one / two) for one, two in zip(base, other, strict=True)]
    centre, error = statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
    reach = _student_quantile(len(logs) - 1, 1 - alpha) * error
    return Interval(math.exp(centre - reach), math.exp(centre + reach))


def _medians(samples: Sequence[float]) -> list[tuple[float, int]]:
    """Every median that a resample can have, with the number of resamples (of n**n) that have it."""
    ordered = sorted(samples)
    n = len(ordered)
    if n % 2:
        return list(zip(ordered, _order_statistic_counts(n, n // 2 + 1), strict=True))
    pairs = _middle_pair_counts(n)
    return [((ordered[i] + ordered[j]) / 2, count) for (i, j), count in pairs.items()]


@functools.cache
def _order_statistic_counts(n: int, rank: int) -> tuple[int, ...]:
    """How many resamples have the k-th smallest sample (k from 0) as their rank-th smallest value.

    That value is among the k smallest samples when at least `rank` of n draws fall there.
    """
    tails = [sum(math.comb(n, hits) * k**hits * (n - k) ** (n - hits) for hits in range(rank, n + 1))
             for k in range(n + 1)]  # fmt: skip
    return tuple(tails[k + 1] - tails[k] for k in range(n))


def _middle_pair_counts(n: int) -> dict[tuple[int, int], int]:
    """For even n: how many resamples have samples i <= j as their two middle values.

    For i < j half of the draws fall at or below i with at least one on it, and half at or above j with
    at least one on it. What is left of "the lower middle value is i" has both middle values on i.
    """
    half = n // 2
    lower = _order_statistic_counts(n, half)
    counts: dict[tuple[int, int], int] = {}
    for i in range(n):
        left = (i + 1) ** half - i**half
        for j in range(i + 1, n):
            counts[i, j] = math.comb(n, half) * left * ((n - j) ** half - (n - j - 1) ** half)
        counts[i, i] = lower[i] - sum(counts[i, j] for j in range(i + 1, n))
    return counts


def _student_quantile(freedom: int, share: float) -> float:
    # scipy takes a fifth of a second to load; only a report needs it, not a session's start.
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(freedom, share))


def _check(samples: Sequence[float]) -> None:
    if not samples:
        raise ValueError("no samples: an absent figure is not a figure")
    for sample in samples:
        if not (math.isfinite(sample) and sample > 0):
            raise ValueError(f"a sample must be finite and above zero, not {sample!r}")
