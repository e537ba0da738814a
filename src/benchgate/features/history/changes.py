"""Finds where the level of a series changes, with a bound on false alarms.

Takes figures in the order of time; gives the numbers of the points at which a new level begins. Uses no
random numbers. Does not fail on finite figures.

On wall time (`by_ranks`): if nothing changes, every order of a stretch of points is equally likely, whatever
the noise looks like. A border in a stretch is then tested by how many pairs (one point before it, one after
it) are in ascending order, the statistic of Mann and Whitney. Its exact generating function, a Gaussian
binomial coefficient, gives an upper bound of the probability of so extreme a count; for complete separation
the bound is the exact probability. Ties count against a change. The stretches are those of seeded binary
segmentation (S. Kovacs et al., Biometrika 110, 2023), which depend on the number of points only, and the
error is divided among all borders of all stretches. So the probability that a change is reported in any
stretch that has none is at most `error`. The shortest stretch that shows a change decides where it is
(narrowest over threshold).

On the instruction clock (`by_samples`): figures have no noise of the host, the same guest gives the same
samples, and so any difference is one of the guest. A new level begins where the interval of the ratio of two
sessions' medians, over their interleavings, is entirely beyond LEAST.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from benchgate.base.statistics.stats import ratio_interval

ERROR = 0.05
MOST_POINTS = 1000
"""The longest course that is searched: memory and time grow with the square."""
LEAST = 1.001
"""A new build moves code and so changes figures on the instruction clock by less than this."""
ALPHA = 0.01
BY_SAMPLES = (
    f"a new level begins where the ratio to the level's first session is beyond {LEAST - 1:.1%} by its whole "
    f"interval over the seeds (alpha {ALPHA:g} on each side)"
)
_DECAY = math.sqrt(0.5)
_TRIED = 8
"""The most unlikely borders of a stretch, of which the bound is computed."""
_NEAR = 2.3
"""A border whose count is fewer standard deviations than this from the expected one is not tried."""
_THETAS = np.geomspace(1e-3, 40.0, 64)
"""The bound is valid at each; the smallest is taken."""

Counts = NDArray[np.int64]


def by_ranks_said(error: float) -> str:
    return (
        f"changes by ranks over all stretches; a course without any shows one with a probability of at most "
        f"{error:g}"
    )


# ---- on wall time


def by_ranks(values: Sequence[float], error: float = ERROR) -> tuple[int, ...]:
    stretches = _stretches(len(values), error)
    if not stretches:
        return ()
    rising, falling = _orders(np.asarray(values))
    seen = [(b - a, bound, at, a, b) for a, b, share in stretches
            for bound, at in [_most_unlikely(rising, falling, a, b)] if bound <= math.log(share)]  # fmt: skip
    result: list[int] = []
    for _, _, at, a, b in sorted(seen):
        if not any(a < other < b for other in result):
            result.append(at)
    return _settled(sorted(result), len(values), rising, falling)


def _settled(found: list[int], count: int, rising: Counts, falling: Counts) -> tuple[int, ...]:
    """Each border again where it is the most unlikely between its neighbours."""
    borders = [0, *found, count]
    for n in range(1, len(borders) - 1):
        a, b = borders[n - 1], borders[n + 1]
        bound, at = _most_unlikely(rising, falling, a, b)
        borders[n] = at if bound < 0 else borders[n]
    return tuple(borders[1:-1])


def _stretches(count: int, error: float) -> list[tuple[int, int, float]]:
    """Begin, end and the error of one border in one direction: half of it for the whole course, the other
    half for all shorter stretches. Those too short to reach it are not tried."""
    whole = error / 2 / (2 * max(count - 1, 1))
    parts = [part for length in _lengths(count) for part in _spread(count, length)]
    while parts:
        share = error / 2 / sum(2 * (b - a - 1) for a, b in parts)
        enough = [(a, b) for a, b in parts if _log_comb(b - a, (b - a) // 2) >= -math.log(share)]
        if len(enough) == len(parts):
            break
        parts = enough
    top = [(0, count, whole)] if _log_comb(count, count // 2) >= -math.log(whole) else []
    return top + ([(a, b, share) for a, b in parts] if parts else [])


def _lengths(count: int) -> Iterator[float]:
    length = count * _DECAY
    while length >= 8:
        yield length
        length *= _DECAY


def _spread(count: int, length: float) -> Iterator[tuple[int, int]]:
    """Stretches of this length over the whole course, each half over the next one."""
    number = 2 * math.ceil(count / length) - 1
    shift = (count - length) / (number - 1)
    for n in range(number):
        yield math.floor(n * shift), min(math.ceil(n * shift + length), count)


def _orders(values: NDArray[np.float64]) -> tuple[Counts, Counts]:
    """How many pairs are in ascending and in descending order, summed up over both places."""
    count = len(values)
    both = np.zeros((2, count + 1, count + 1), dtype=np.int64)
    earlier, later = values[:, None], values[None, :]
    for sums, holds in zip(both, (earlier < later, earlier > later), strict=True):
        sums[1:, 1:] = holds.cumsum(axis=0).cumsum(axis=1)
    return both[0], both[1]


def _pairs(sums: Counts, a: int, b: int) -> Counts:
    """How many pairs have one point in a..k and one in k..b, for each border k in a+1..b-1."""
    k = np.arange(a + 1, b)
    return np.asarray(sums[k, b] - sums[a, b] - sums[k, k] + sums[a, k])


def _by_distance(rising: Counts, falling: Counts, a: int, b: int) -> list[int]:
    """The borders of a stretch that are far from what is expected, the farthest first."""
    k = np.arange(a + 1, b)
    pairs = (k - a) * (b - k)
    most = np.maximum(_pairs(rising, a, b), _pairs(falling, a, b))
    away = (most - pairs / 2) / np.sqrt(pairs * (b - a + 1) / 12)
    return [int(k[n]) for n in np.argsort(-away, kind="stable")[:_TRIED] if away[n] > _NEAR]


def _most_unlikely(rising: Counts, falling: Counts, a: int, b: int) -> tuple[float, int]:
    """The logarithm of the bound, and its border."""
    best = _by_distance(rising, falling, a, b)
    most = np.maximum(_pairs(rising, a, b), _pairs(falling, a, b))
    return min(((log_bound(k - a, b - k, int(most[k - a - 1])), k) for k in best), default=(0.0, a))


def log_bound(before: int, after: int, ordered: int) -> float:
    """An upper bound of the logarithm of a probability: that at least `ordered` of the before * after pairs
    are in ascending order, if every order is equally likely (Chernoff, by the exact generating function)."""
    few, many = sorted((before, after))
    missing = before * after - ordered
    if missing >= before * after / 2:
        return 0.0
    steps = np.arange(1, few + 1)[:, None]
    inside = np.log1p(-np.exp(-_THETAS * (many + steps))) - np.log1p(-np.exp(-_THETAS * steps))
    return min(0.0, float(np.min(_THETAS * missing + inside.sum(axis=0))) - _log_comb(few + many, few))


def _log_comb(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


# ---- on the instruction clock


def by_samples(sessions: Sequence[Sequence[float]]) -> tuple[int, ...]:
    result, first = [], 0
    for n in range(1, len(sessions)):
        if _differ(sessions[first], sessions[n]):
            result.append(n)
            first = n
    return tuple(result)


def _differ(one: Sequence[float], other: Sequence[float]) -> bool:
    if sorted(one) == sorted(other):
        return False
    if min(*one, *other) <= 0:  # there is no ratio around zero
        return max(one) < min(other) or max(other) < min(one)
    interval = ratio_interval(one, other, ALPHA)
    return interval.low > LEAST or interval.high < 1 / LEAST
