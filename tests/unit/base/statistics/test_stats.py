"""stats.py against brute force and against independently computed values."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

from benchgate.base.statistics import stats
from benchgate.base.statistics.stats import Interval

SAMPLE = st.integers(min_value=1, max_value=60).map(float)


def brute_force(base: list[float], other: list[float]) -> dict[float, Fraction]:
    """Enumerates every resample of both arms, with the standard library's median."""
    tops = Counter(statistics.median(draw) for draw in itertools.product(base, repeat=len(base)))
    bottoms = Counter(statistics.median(draw) for draw in itertools.product(other, repeat=len(other)))
    total = len(base) ** len(base) * len(other) ** len(other)
    masses: dict[float, Fraction] = {}
    for (top, top_count), (bottom, bottom_count) in itertools.product(tops.items(), bottoms.items()):
        ratio = top / bottom
        masses[ratio] = masses.get(ratio, Fraction(0)) + Fraction(top_count * bottom_count, total)
    return masses


def share(distribution: stats.Bootstrap) -> dict[float, Fraction]:
    return {ratio: Fraction(weight, distribution.total) for ratio, weight in distribution.atoms}


def at_or_below(distribution: stats.Bootstrap, value: float) -> Fraction:
    return sum((mass for ratio, mass in share(distribution).items() if ratio <= value), Fraction(0))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_bootstrap_is_the_enumeration_of_all_resamples(n: int) -> None:
    base = [101.0, 97.0, 104.0, 99.0, 110.0][:n]
    other = [52.0, 50.0, 55.0, 49.0, 51.0][:n]
    assert share(stats.bootstrap(base, other)) == brute_force(base, other)


@settings(max_examples=40, deadline=None)
@given(st.lists(SAMPLE, min_size=1, max_size=4), st.lists(SAMPLE, min_size=1, max_size=4))
def test_the_bootstrap_is_exact_for_ties_and_unequal_lengths(base: list[float], other: list[float]) -> None:
    assert share(stats.bootstrap(base, other)) == brute_force(base, other)


def test_the_weights_of_five_samples_agree_with_a_calculation_by_hand() -> None:
    """Of 5**5 = 3125 resamples the smallest sample is the median if it is drawn 3, 4 or 5 times:
    10*16 + 5*4 + 1 = 181. The rest follows from symmetry and the same count for two samples."""
    distribution = stats.bootstrap([1.0, 2.0, 3.0, 4.0, 5.0], [1.0])
    assert distribution.atoms == ((1.0, 181), (2.0, 811), (3.0, 1141), (4.0, 811), (5.0, 181))
    assert distribution.total == 3125


def test_every_resample_is_counted_once_at_the_largest_look() -> None:
    samples = [float(value) for value in range(100, 125)]
    distribution = stats.bootstrap(samples, samples)
    assert sum(weight for _, weight in distribution.atoms) == distribution.total == 25**50


def test_the_interval_of_a_known_distribution() -> None:
    """The weights of the test above, divided by 3125: .05792, .25952, .36512, .25952, .05792."""
    distribution = stats.bootstrap([1.0, 2.0, 3.0, 4.0, 5.0], [1.0])
    assert distribution.interval(0.0276) == stats.Interval(1.0, 5.0)
    assert distribution.interval(0.06) == stats.Interval(2.0, 4.0)
    assert distribution.interval(0.32) == stats.Interval(3.0, 3.0)
    assert at_or_below(distribution, 1.0) == Fraction(181, 3125)
    assert at_or_below(distribution, 0.99) == 0
    assert at_or_below(distribution, 5.0) == 1


def test_a_mass_of_exactly_alpha_is_small_enough() -> None:
    """Two samples have masses 1/4, 1/2, 1/4, which floating point represents exactly."""
    assert stats.bootstrap([1.0, 2.0], [1.0]).interval(0.25) == stats.Interval(1.5, 1.5)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(SAMPLE, min_size=3, max_size=5),
    st.lists(SAMPLE, min_size=3, max_size=5),
    st.floats(min_value=0.02, max_value=50),
    st.sampled_from([0.0276, 0.05, 0.2]),
)
def test_the_interval_agrees_with_the_mass_at_the_threshold(
    base: list[float], other: list[float], threshold: float, alpha: float
) -> None:
    masses = brute_force(base, other)
    thresholds = [threshold, *masses]
    interval = stats.bootstrap(base, other).interval(alpha)
    for limit in thresholds:
        mass = sum(mass for ratio, mass in masses.items() if ratio <= limit)
        assert (interval.low > limit) == (mass <= Fraction(alpha))
        assert (interval.high <= limit) == (mass >= 1 - Fraction(alpha))


def test_a_ratio_equal_to_the_threshold_counts_as_at_or_below_it() -> None:
    assert at_or_below(stats.bootstrap([16.0], [10.0]), 1.6) == 1
    assert at_or_below(stats.bootstrap([16.0000001], [10.0]), 1.6) == 0


def test_five_runs_decide_only_if_all_base_runs_are_beyond_the_threshold() -> None:
    """With 5 runs per arm only 1 of 252 arrangements separates the arms completely. One base run of five
    below the threshold leaves a mass of 181/3125 = 5.8%, too much for alpha = 0.0276."""
    other = [10.0] * 5
    assert stats.bootstrap([17.0, 17.1, 17.2, 17.3, 17.4], other).interval(0.0276).low > 1.6
    assert stats.bootstrap([15.9, 17.1, 17.2, 17.3, 17.4], other).interval(0.0276).low < 1.6


def test_the_published_row_is_the_ratio_of_its_medians() -> None:
    """1,639 divided by 875 scaled cycles is published as 1.873x, divided by 1,111 as 1.475x."""
    assert round(stats.ratio_of_medians([1600.0, 1639.0, 1700.0], [875.0]), 3) == 1.873
    assert round(stats.ratio_of_medians([1639.0], [1111.0]), 3) == 1.475


def test_median_spread_and_coefficient_of_variation() -> None:
    seen = stats.spread([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])
    assert (seen.median, seen.low, seen.high) == (4.5, 2.0, 9.0)
    assert seen.cv == pytest.approx(math.sqrt(32 / 7) / 5)
    assert stats.coefficient_of_variation([3.0]) is None
    assert stats.coefficient_of_variation([3.0, 3.0]) == 0


def test_paired_log_t_with_a_quantile_from_a_printed_table() -> None:
    """t(0.95; 4 degrees of freedom) = 2.132 in printed tables of Student's t."""
    base = [math.exp(value) for value in (0.50, 0.52, 0.48, 0.51, 0.49)]
    interval = stats.paired_log_interval(base, [1.0] * 5, 0.05)
    error = math.sqrt(sum(value**2 for value in (0, 0.02, -0.02, 0.01, -0.01)) / 4) / math.sqrt(5)
    assert interval is not None
    assert math.log(interval.low) == pytest.approx(0.5 - 2.132 * error, abs=1e-5)
    assert math.log(interval.high) == pytest.approx(0.5 + 2.132 * error, abs=1e-5)


@pytest.mark.parametrize("runs", [2, 3, 4, 5, 6, 11, 25, 60])
@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.05, 0.005, 0.001])
def test_paired_log_t_with_the_quantile_of_scipy(runs: int, alpha: float) -> None:
    logs = [math.sin(n) for n in range(runs)]
    interval = stats.paired_log_interval([math.exp(log) for log in logs], [1.0] * runs, alpha)
    assert interval is not None
    reach = stdtrit(runs - 1, 1 - alpha) * statistics.stdev(logs) / math.sqrt(runs)
    assert math.log(interval.high / interval.low) == pytest.approx(2 * reach, rel=1e-8, abs=1e-12)


def test_samples_without_pairs_have_no_paired_interval() -> None:
    assert stats.paired_log_interval([1.0, 2.0], [1.0], 0.05) is None
    assert stats.paired_log_interval([1.0], [1.0], 0.05) is None


def test_serial_dependence_is_standardised_over_all_orders_of_the_samples() -> None:
    """Independent samples come in every order equally often: mean 0 and, but for rounding, variance 1."""
    orders = [stats.serial_dependence(order) for order in itertools.permutations((1.0, 2.0, 4.0, 8.0, 9.0))]
    assert statistics.fmean(orders) == pytest.approx(0, abs=1e-12)
    assert statistics.pvariance(orders) == pytest.approx(1)


def test_serial_dependence_of_a_rise_by_hand() -> None:
    """Ranks 1 to 5: four steps of 1 over a sum of squares of 10, so von Neumann's ratio is 0.4, not 2."""
    rise = 1.6 / math.sqrt(4 * 3 * 106 / (5 * 5 * 6 * 16))
    assert stats.serial_dependence([1, 2, 4, 8, 9]) == pytest.approx(rise)
    assert stats.serial_dependence([9, 8, 4, 2, 1]) == pytest.approx(rise)
    assert stats.serial_dependence([1, 9, 2, 8, 4]) < 0
    assert stats.serial_dependence([1, 2, 4, 8, 9], [1, 2, 4, 8, 9]) == pytest.approx(rise * math.sqrt(2))
    assert stats.serial_dependence([3] * 5) == stats.serial_dependence([1, 2]) == 0


@pytest.mark.parametrize("samples", [[], [math.inf], [math.nan]])
def test_invalid_samples_are_refused(samples: list[float]) -> None:
    for use in (stats.median, stats.spread, stats.coefficient_of_variation):
        with pytest.raises(ValueError):
            use(samples)


def test_a_figure_of_zero_has_a_median_and_a_spread_but_no_variation() -> None:
    assert stats.spread([0.0, 2.0, 4.0]) == stats.Spread(2.0, 0.0, 4.0, None)


@pytest.mark.parametrize("samples", [[], [0.0], [-1.0, 2.0], [math.inf], [math.nan]])
def test_samples_without_a_ratio_are_refused(samples: list[float]) -> None:
    with pytest.raises(ValueError):
        stats.ratio_of_medians([1.0], samples)
    with pytest.raises(ValueError):
        stats.bootstrap([1.0], samples)


@pytest.mark.parametrize("alpha", [0.0, 0.5, -0.1, 1.0])
def test_an_alpha_outside_0_to_half_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        stats.bootstrap([1.0], [1.0]).interval(alpha)


def crossing(looks: tuple[int, ...], beyond: tuple[int, ...]) -> Fraction:
    """The share of all sequences of coin tosses in which some look has at most that many heads."""
    wrong = 0
    for tosses in itertools.product((0, 1), repeat=looks[-1]):
        wrong += any(sum(tosses[:n]) <= most for n, most in zip(looks, beyond, strict=True))
    return Fraction(wrong, 2 ** looks[-1])


@pytest.mark.parametrize("looks", [(5,), (5, 9), (5, 9, 15), (9, 15), (7,)])
def test_the_interval_of_a_median_misses_it_as_often_as_its_error_at_most(looks: tuple[int, ...]) -> None:
    """Every sequence of 15 samples below and above the median is counted."""
    ends = []
    for last in range(1, len(looks) + 1):
        samples = [float(n) for n in range(looks[last - 1])]
        ends.append(round(stats.median_interval(samples, looks[:last], 0.05).low))
    assert crossing(looks, tuple(ends)) <= Fraction(0.05)
    more = (*ends[:-1], ends[-1] + 1)
    assert crossing(looks, more) > Fraction(0.05)


def test_the_interval_of_a_median_lies_between_order_statistics() -> None:
    """All 5 samples are below the median in 1 of 32 cases, and at most one of 9 is in 10 of 512."""
    assert stats.median_interval([5, 1, 4, 2, 3], (5,), 0.05) == Interval(1, 5)
    nine = [9, 1, 8, 2, 7, 3, 6, 4, 5]
    assert stats.median_interval(nine, (9,), 0.05) == Interval(2, 8)
    assert stats.median_interval(nine, (9,), 0.019) == Interval(1, 9)
    assert stats.median_interval([0, 0, 0, 0, 0], (5,), 0.05) == Interval(0, 0)


def test_too_few_samples_for_the_error_give_no_interval() -> None:
    assert stats.median_interval([1, 2, 3, 4, 5], (5,), 0.03) == Interval(-math.inf, math.inf)


def test_a_median_needs_the_samples_of_its_look() -> None:
    for samples in ([1.0] * 4, [1.0] * 4 + [math.nan]):
        with pytest.raises(ValueError):
            stats.median_interval(samples, (5,), 0.05)


# ---- samples in coarse steps


def test_a_step_widens_the_interval_by_as_much_on_both_sides() -> None:
    """40 and 10 ticks may each be one tick more or less, so the ratio is from 39/11 to 41/9."""
    interval = stats.ratio_interval((40.0,) * 5, (10.0,) * 5, 0.025, (1.0, 1.0))
    assert (interval.low, interval.high) == pytest.approx((39 / 11, 41 / 9))


def test_without_steps_it_is_the_interval_of_the_bootstrap() -> None:
    tops, bottoms = (40.0, 41.0, 42.0, 43.0, 45.0), (10.0, 10.5, 11.0, 12.0, 9.0)
    assert stats.ratio_interval(tops, bottoms, 0.025) == stats.bootstrap(tops, bottoms).interval(0.025)


def test_a_step_as_large_as_a_sample_leaves_no_bound() -> None:
    interval = stats.ratio_interval((3.0,) * 5, (1.0,) * 5, 0.025, (1.0, 1.0))
    assert (interval.low, interval.high) == (1.0, math.inf)
