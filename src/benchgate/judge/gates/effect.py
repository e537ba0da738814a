"""The smallest effect that a gate could have seen: how far from its threshold the truth must be.

Takes the samples behind a figure and its interval; gives a share of the threshold, or None if it has none:
the interval has no end, or the figure is not above zero. Nothing fails.

A gate decides if the whole interval is beyond the threshold. The truth must therefore be away from it by the
length of the interval's arm, and by as much again as the figure itself errs on the wrong side in one of five
sessions (POWER). Both come from the noise of these runs. The larger of both directions counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchgate.base.statistics.stats import Interval, bootstrap, median, median_quantiles, ratio_of_medians

POWER = 0.8
"""An effect of this size is found in at least this share of sessions."""


def of_ratio(
    tops: Sequence[float], bottoms: Sequence[float], interval: Interval, blur: float
) -> float | None:
    """Takes the ratio of two arms' medians. `blur` is the share by which it may be off (Measurement.blur)."""
    drawn = bootstrap(tops, bottoms)
    errors = Interval(drawn.quantile(1 - POWER), drawn.quantile(POWER))
    return _relative(ratio_of_medians(tops, bottoms), interval, errors, blur)


def of_median(samples: Sequence[float], interval: Interval, blur: float) -> float | None:
    """Takes the median of a metric itself."""
    return _relative(median(samples), interval, median_quantiles(samples, 1 - POWER, POWER), blur)


def absolute(value: float, interval: Interval, errors: Interval, threshold: float) -> float | None:
    """Takes a figure whose noise does not grow with it, such as a parameter of a law."""
    reach = max(value - interval.low + value - errors.low, interval.high - value + errors.high - value)
    return _finite(reach / threshold) if threshold > 0 else None


def _relative(value: float, interval: Interval, errors: Interval, blur: float) -> float | None:
    """Noise of times and rates grows with them, so it is the same share of any truth."""
    if min(interval.low, errors.low, value) <= 0:
        return None
    up, down = value / interval.low * value / errors.low, interval.high / value * errors.high / value
    return _finite(max(up, down) * (1 + blur) - 1)


def _finite(share: float) -> float | None:
    return share if math.isfinite(share) else None
