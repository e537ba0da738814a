"""Scaling laws: the fit is scipy's, the intervals hold the truth, and a bent row is seen to be none."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from benchgate.base.statistics.laws import CHANCE, Law, Model, ScalingFit, fitted

ALPHA = 0.0276
NOISE_FREE = 1e-9


def exact(law: Law, counts: Sequence[int], runs: int = 5) -> tuple[tuple[int, tuple[float, ...]], ...]:
    return tuple((count, (law.time(count),) * runs) for count in counts)


def noisy(
    source: random.Random, law: Law, counts: Sequence[int], bend: float = 1.0
) -> tuple[tuple[int, tuple[float, ...]], ...]:
    """Five runs an arm, CV 3%. `bend`: by how much the second arm is off the curve."""
    return tuple(
        (
            count,
            tuple(
                law.time(count) * (bend if count == counts[1] else 1.0) * source.lognormvariate(0, 0.03)
                for _ in range(5)
            ),
        )
        for count in counts
    )


def by_scipy(model: Model, counts: Sequence[int], times: Sequence[float]) -> tuple[float, float, float]:
    """Sigma, kappa and the sum of squares. time = d / n + b + c (n - 1), each at least 0, with a = d + b."""
    n, measured = np.array(counts, float), np.array(times)
    columns = [1 / n, np.ones(len(n)), n - 1][: 3 if model is Model.USL else 2]
    result = lsq_linear(
        np.stack(columns, 1) / measured[:, None], np.ones(len(n)), bounds=(0, np.inf), tol=1e-14
    )
    d, b, *c = result.x
    return b / (d + b), (c[0] if c else 0.0) / (d + b), 2 * result.cost


@pytest.mark.parametrize("model", list(Model))
def test_a_law_is_found_again_from_its_own_times(model: Model) -> None:
    law = Law(100.0, 0.05, 0.002 if model is Model.USL else 0.0)
    fit = fitted(model, exact(law, (1, 2, 4, 8, 16)), ALPHA)
    assert fit.law.sigma == pytest.approx(0.05, abs=NOISE_FREE)
    assert fit.law.kappa == pytest.approx(law.kappa, abs=NOISE_FREE)
    assert max(map(abs, fit.residuals)) < NOISE_FREE
    assert fit.is_shaped


def test_the_bounded_fit_is_that_of_scipy() -> None:
    """The rows follow no law, so every bound is met."""
    source = random.Random(3)
    at_bounds = set()
    for _ in range(100):
        model = source.choice(list(Model))
        counts = (1, *sorted(source.sample(range(2, 33), model.fewest)))
        scale = [
            (1 + 0.1 * (n - 1) * source.random() + 0.01 * source.random() * n * (n - 1)) / n for n in counts
        ]
        times = [100 * number * source.uniform(0.7, 1.3) for number in scale]
        law = Law.of(model, counts, times)
        sigma, kappa, _ = by_scipy(model, counts, times)
        assert (law.sigma, law.kappa) == pytest.approx((sigma, kappa), abs=1e-7)
        at_bounds.add((law.sigma in (0.0, 1.0), law.kappa == 0.0))
    assert len(at_bounds) >= 3


def test_sigma_and_kappa_stay_in_their_bounds() -> None:
    """Four CPUs that take longer than one, and four that are more than four times as fast."""
    assert Law.of(Model.AMDAHL, (1, 2, 4), (100.0, 120.0, 150.0)).sigma == 1.0
    superlinear = Law.of(Model.USL, (1, 2, 4, 8, 16), (100.0, 45.0, 20.0, 9.0, 4.0))
    assert (superlinear.sigma, superlinear.kappa) == (0.0, 0.0)


def test_the_peak_is_where_the_curve_turns() -> None:
    law = Law(100.0, 0.04, 0.006)
    best = max(range(1, 100), key=law.speedup)
    assert abs(law.peak - best) < 1
    assert law.peak == pytest.approx(math.sqrt(0.96 / 0.006))
    assert Law(100.0, 0.04, 0.0).peak == math.inf


@pytest.mark.parametrize(("model", "counts"), [(Model.AMDAHL, (1, 2)), (Model.USL, (1, 2, 4, 8))])
def test_too_few_cpu_counts_have_no_fit(model: Model, counts: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=f"{model} needs {model.fewest} CPU counts"):
        fitted(model, exact(Law(100.0, 0.1, 0.0), counts), ALPHA)


def test_a_time_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="above zero"):
        fitted(Model.AMDAHL, ((1, (1.0,) * 5), (2, (1.0,) * 5), (4, (0.0, 1.0, 1.0, 1.0, 1.0))), ALPHA)


def test_the_same_runs_give_the_same_bits() -> None:
    arms = noisy(random.Random(4), Law(100.0, 0.05, 0.0), (1, 2, 4, 8))
    first = fitted(Model.AMDAHL, arms, ALPHA)
    fitted.cache_clear()
    assert fitted(Model.AMDAHL, arms, ALPHA) == first


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated sessions need less exact intervals than a report."""
    monkeypatch.setattr("benchgate.base.statistics.laws.DRAWS", 400)


def shares(fits: Sequence[ScalingFit], parameter: str, truth: float) -> tuple[float, float, float]:
    """How often the interval is above the truth, below it, and how often the shape is denied."""
    above = sum(fit.intervals[parameter].low > truth for fit in fits)
    below = sum(fit.intervals[parameter].high < truth for fit in fits)
    return above / len(fits), below / len(fits), sum(not fit.is_shaped for fit in fits) / len(fits)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize(
    ("model", "counts", "kappa", "parameter", "truth"),
    [
        (Model.AMDAHL, (1, 2, 4), 0.0, "sigma", 0.05),
        (Model.AMDAHL, (1, 2, 4, 8), 0.0, "sigma", 0.05),
        (Model.USL, (1, 2, 4, 8, 16), 0.002, "kappa", 0.002),
    ],
)
def test_intervals_hold_the_truth_and_noise_is_not_taken_for_a_bend(
    model: Model, counts: tuple[int, ...], kappa: float, parameter: str, truth: float
) -> None:
    """Five runs an arm, CV 3%. At alpha 0.0276 a side each share should be at most that; 120 sessions of a
    share of 0.0276 exceed 0.08 in 1 of 500 cases."""
    source, law = random.Random(5), Law(100.0, 0.05, kappa)
    above, below, denied = shares(
        [fitted(model, noisy(source, law, counts), ALPHA) for _ in range(120)], parameter, truth
    )
    assert max(above, below) <= 0.08
    assert denied <= CHANCE + 0.06


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize(("model", "kappa"), [(Model.AMDAHL, 0.0), (Model.USL, 0.002)])
def test_a_bend_that_noise_does_not_explain_is_seen(model: Model, kappa: float) -> None:
    """The second arm is 10% off the curve, more than three standard deviations of a run."""
    source, law = random.Random(6), Law(100.0, 0.05, kappa)
    fits = [fitted(model, noisy(source, law, (1, 2, 4, 8, 16), bend=1.1), ALPHA) for _ in range(40)]
    assert sum(not fit.is_shaped for fit in fits) >= 32
    assert all(fit.worst[0] in (1, 2, 4) for fit in fits if not fit.is_shaped)


def test_a_row_that_loses_most_of_its_speedup_and_then_keeps_it_is_no_usl() -> None:
    """1.87x at two CPUs and 1.48x at four force a negative sigma; no bounded law goes through both."""
    times = {1: 100.0, 2: 100 / 1.873, 4: 100 / 1.475, 8: 100 / 1.46, 16: 100 / 1.45}
    arms = tuple(
        (count, tuple(time * by for by in (0.99, 0.995, 1.0, 1.005, 1.01))) for count, time in times.items()
    )
    fit = fitted(Model.USL, arms, ALPHA)
    assert not fit.is_shaped
    assert abs(fit.worst[1]) > 0.05


def test_residuals_below_the_tolerance_widen_the_interval_instead() -> None:
    """A curve that is 0.3% off without any noise is no other shape, but sigma is then known only so well."""
    law = Law(100.0, 0.05, 0.0)
    arms = tuple((n, (law.time(n) * (1.003 if n == 2 else 1.0),) * 5) for n in (1, 2, 4))
    fit = fitted(Model.AMDAHL, arms, ALPHA)
    assert fit.is_shaped
    assert fit.intervals["sigma"].low < 0.05 < fit.intervals["sigma"].high
    bent = tuple((n, (law.time(n) * (1.02 if n == 2 else 1.0),) * 5) for n in (1, 2, 4))
    assert not fitted(Model.AMDAHL, bent, ALPHA).is_shaped


def test_a_coarse_clock_widens_the_interval_to_all_that_it_may_hide() -> None:
    """Each arm may be 1% longer or shorter than it seems: scipy fits every such row."""
    counts, law = (1, 2, 4, 8), Law(100.0, 0.05, 0.0)
    arms = exact(law, counts)
    sharp, coarse = (fitted(Model.AMDAHL, arms, ALPHA, off).intervals["sigma"] for off in ((), (0.01,) * 4))
    assert sharp.high - sharp.low < NOISE_FREE
    corners = itertools.product((0.99, 1.01), repeat=4)
    rows = [[law.time(n) * by for n, by in zip(counts, corner, strict=True)] for corner in corners]
    result = [by_scipy(Model.AMDAHL, counts, row)[0] for row in rows]
    assert coarse.low == pytest.approx(min(result), rel=0.02)
    assert coarse.high == pytest.approx(max(result), rel=0.02)
