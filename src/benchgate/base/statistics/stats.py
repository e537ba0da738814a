"""The numbers behind a verdict: medians, their ratio, and the exact bootstrap of that ratio.

Takes plain samples, gives plain numbers; uses no random numbers, no clock and no file. Invalid samples (none,
not finite, for a ratio not positive) fail with ValueError.

The bootstrap is computed exactly instead of by random resampling. There are n**n equally likely resamples of
n samples. How many of them have the k-th order statistic as their median is a difference of two binomial
tails. The ratio of two medians therefore has at most n*n weighted atoms. Every weight is a whole number, so
the result has the same bits on every machine. For even n the median lies between two order statistics, and
the pairs are counted in the same way. An arm of any length therefore has an interval, although verdicts are
reached at odd looks only.
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

VISIBLE_STEP = 0.001
"""A printing step is reported if it is more than this share of the figures."""


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Summary of one arm. `cv` is the standard deviation divided by the mean."""

    median: float
    low: float
    high: float
    cv: float | None


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The exact distribution of a ratio of medians: (ratio, how many of `total` resamples), ascending."""

    atoms: tuple[tuple[float, int], ...]
    total: int

    def interval(self, alpha: float) -> Interval:
        """The interval that is equivalent to a test on the mass at or below a threshold.

        `low` is above a threshold exactly if the mass at or below that threshold is <= alpha, and
        `high` is at or below it exactly if that mass is >= 1 - alpha.
        """
        if not 0 < alpha < 0.5:
            raise ValueError(f"alpha must lie between 0 and 0.5, not {alpha}")
        exact = Fraction(alpha)
        return Interval(self._first_above(exact), self._first_reaching(1 - exact))

    def quantile(self, share: float) -> float:
        return self._first_reaching(Fraction(share))

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
    require_finite(samples)
    return float(statistics.median(samples))


def ratio_of_medians(base: Sequence[float], other: Sequence[float]) -> float:
    """How many times faster `other` is: the base arm's median time over the other arm's."""
    _check(base)
    _check(other)
    return median(base) / median(other)


def spread(samples: Sequence[float]) -> Spread:
    return Spread(median(samples), min(samples), max(samples), coefficient_of_variation(samples))


def coefficient_of_variation(samples: Sequence[float]) -> float | None:
    """The standard deviation divided by the mean; None for a single sample, and for samples around zero."""
    require_finite(samples)
    if len(samples) < 2 or min(samples) <= 0:
        return None
    return statistics.stdev(samples) / statistics.fmean(samples)


def bootstrap(base: Sequence[float], other: Sequence[float]) -> Bootstrap:
    """The exact bootstrap of `ratio_of_medians(base, other)`; the arms are resampled independently."""
    _check(base)
    _check(other)
    weights: dict[float, int] = {}
    bottoms = medians(other)
    for top, top_weight in medians(base):
        for bottom, bottom_weight in bottoms:
            ratio = top / bottom
            weights[ratio] = weights.get(ratio, 0) + top_weight * bottom_weight
    return Bootstrap(tuple(sorted(weights.items())), len(base) ** len(base) * len(other) ** len(other))


def median_quantiles(samples: Sequence[float], low: float, high: float) -> Interval:
    """Two quantiles of the exact bootstrap of the median."""
    require_finite(samples)
    result = Bootstrap(tuple(sorted(medians(samples))), len(samples) ** len(samples))
    return Interval(result.quantile(low), result.quantile(high))


def ratio_interval(
    base: Sequence[float], other: Sequence[float], alpha: float, steps: tuple[float, float] = (0.0, 0.0)
) -> Interval:
    """The interval of `ratio_of_medians(base, other)`. `steps` says by how much all samples of an arm may be
    off in the same direction, because of its clock's resolution; this widens the interval."""
    top, bottom = steps
    low = high = bootstrap(base, other).interval(alpha)
    if top or bottom:
        low = _moved(base, -top, other, bottom, alpha) or Interval(0.0, 0.0)
        high = _moved(base, top, other, -bottom, alpha) or Interval(math.inf, math.inf)
    return Interval(low.low, high.high)


def _moved(
    base: Sequence[float], top: float, other: Sequence[float], bottom: float, alpha: float
) -> Interval | None:
    """The interval after each arm is moved; None if a sample would not be positive."""
    tops, bottoms = [number + top for number in base], [number + bottom for number in other]
    return bootstrap(tops, bottoms).interval(alpha) if min(*tops, *bottoms) > 0 else None


def median_interval(samples: Sequence[float], looks: tuple[int, ...], error: float) -> Interval:
    """The interval of the median of which these are samples, at the last of these looks.

    It lies between two order statistics, so it makes no assumption about the noise except that the samples
    are independent. It misses the median on either side with a probability of at most `error`, over all looks
    together. It is infinite if so few samples cannot do that.
    """
    require_finite(samples)
    if len(samples) != looks[-1]:
        raise ValueError(f"{len(samples)} samples at a look of {looks[-1]}")
    ordered, beyond = sorted(samples), _most_beyond(looks, Fraction(error))
    if beyond < 0:
        return Interval(-math.inf, math.inf)
    return Interval(float(ordered[beyond]), float(ordered[-1 - beyond]))


@functools.cache
def _most_beyond(looks: tuple[int, ...], error: Fraction) -> int:
    """How many samples may lie beyond an end of the interval at the last look; -1 if it has no end.

    A sample is below the median with probability 1/2. `paths` counts, by how many samples are below it, the
    sequences of samples that no earlier look has excluded. Each look takes as many as `error` has left, so
    that an earlier look does not depend on a later one.
    """
    paths, taken, spent, beyond = {0: 1}, 0, Fraction(0), -1
    for look in looks:
        for _ in range(look - taken):
            paths = {n: paths.get(n, 0) + paths.get(n - 1, 0) for n in range(max(paths) + 2)}
        taken, beyond = look, -1
        for count in range(look // 2):
            share = Fraction(paths.get(count, 0), 2**look)
            if spent + share > error:
                break
            spent, beyond = spent + share, count
            paths[count] = 0
    return beyond


def paired_log_interval(base: Sequence[float], other: Sequence[float], alpha: float) -> Interval | None:
    """The paired t interval of the log ratio, run by run: a diagnostic that no verdict uses.

    It is narrower than the bootstrap if both arms drift together. None if the samples do not form pairs.
    """
    if len(base) != len(other) or len(base) < 2:
        return None
    _check(base)
    _check(other)
    logs = [math.log(one / two) for one, two in zip(base, other, strict=True)]
    centre, error = statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
    reach = _student_quantile(len(logs) - 1, 1 - alpha) * error
    return Interval(math.exp(centre - reach), math.exp(centre + reach))


def serial_dependence(*series: Sequence[float]) -> float:
    """How much neighbours resemble each other, in standard deviations above what independent samples give.

    It is von Neumann's ratio of ranks (R. Bartels, JASA 77, 1982), pooled over the series. Ranks, because the
    noise of run times has a long tail. Series of fewer than 3 samples, or of equal ones, show nothing: 0.
    """
    return math.fsum(map(_resemblance, series)) / math.sqrt(len(series))


def _resemblance(samples: Sequence[float]) -> float:
    require_finite(samples)
    n = len(samples)
    ranks = [sum(x < y for x in samples) + sum(x == y for x in samples) / 2 for y in samples]
    centre = statistics.fmean(ranks)
    squares = math.fsum((rank - centre) ** 2 for rank in ranks)
    if n < 3 or squares == 0:
        return 0.0
    ratio = math.fsum((one - two) ** 2 for one, two in itertools.pairwise(ranks)) / squares
    variance = 4 * (n - 2) * (5 * n * n - 2 * n - 9) / (5 * n * (n + 1) * (n - 1) ** 2)
    return (2 - ratio) / math.sqrt(variance)


def medians(samples: Sequence[float]) -> list[tuple[float, int]]:
    """Every possible median of a resample, ascending for an odd number of samples, with the number of
    resamples (of n**n) that have it."""
    ordered = sorted(samples)
    n = len(ordered)
    if n % 2:
        return list(zip(ordered, _order_statistic_counts(n, n // 2 + 1), strict=True))
    pairs = _middle_pair_counts(n)
    return [((ordered[i] + ordered[j]) / 2, count) for (i, j), count in pairs.items()]


@functools.cache
def _order_statistic_counts(n: int, rank: int) -> tuple[int, ...]:
    """How many resamples have the k-th smallest sample (k from 0) as their rank-th smallest value.

    That value is among the k smallest samples if at least `rank` of n draws are.
    """
    tails = [sum(math.comb(n, hits) * k**hits * (n - k) ** (n - hits) for hits in range(rank, n + 1))
             for k in range(n + 1)]  # fmt: skip
    return tuple(tails[k + 1] - tails[k] for k in range(n))


def _middle_pair_counts(n: int) -> dict[tuple[int, int], int]:
    """For even n: how many resamples have samples i <= j as their two middle values.

    For i < j, half of the draws are at or below i and at least one is i; the other half are at or above j
    and at least one is j. All other resamples whose lower middle value is i have i as both middle values.
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


@functools.cache
def _student_quantile(freedom: int, share: float) -> float:
    """The value of Student's t that has this share, at least a half, below it, by bisection of an angle.

    scipy has it too, but takes a third of a second to import, in every session and every `benchgate verify`.
    """
    low, high = 0.0, math.pi / 2
    while low < (angle := (low + high) / 2) < high:
        if _share_within(angle, freedom) < 2 * share - 1:
            low = angle
        else:
            high = angle
    return math.sqrt(freedom) * math.tan(low)


def _share_within(angle: float, freedom: int) -> float:
    """How probable it is that |t| / sqrt(freedom) is below the tangent of this angle (Abramowitz and Stegun,
    26.7.3 and 26.7.4)."""
    is_odd, cosine = freedom % 2, math.cos(angle)
    term = cosine if is_odd else 1.0
    total = 0.0
    for power in range(2 + is_odd, freedom + 1, 2):
        total += term
        term *= cosine**2 * (power - 1) / power
    within = math.sin(angle) * total
    return (angle + within) * 2 / math.pi if is_odd else within


def _check(samples: Sequence[float]) -> None:
    """Refuses samples that are not above zero, because a ratio needs such samples."""
    require_finite(samples)
    if min(samples) <= 0:
        raise ValueError(f"a sample must be finite and above zero, not {min(samples)!r}")


def require_finite(samples: Sequence[float]) -> None:
    """ValueError if there is no sample, or one that is not finite."""
    if not samples:
        raise ValueError("there are no samples")
    for sample in samples:
        if not math.isfinite(sample):
            raise ValueError(f"a sample must be finite and above zero, not {sample!r}")
