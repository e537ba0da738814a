"""Change points: planted steps are found where they are, and noise without a step is left alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from benchgate.features.history import changes

Noise = Callable[[np.random.Generator, int], "np.ndarray[tuple[int], np.dtype[np.float64]]"]

NOISES: dict[str, Noise] = {
    "lognormal": lambda random, n: random.lognormal(0, 0.03, n),
    "heavy tails": lambda random, n: random.standard_cauchy(n),
    "one in ten is an outlier": lambda random, n: np.where(
        random.random(n) < 0.1, 2.0, random.normal(1, 0.01, n)
    ),
    "few different values": lambda random, n: np.round(random.normal(10, 1, n)),
}


@pytest.mark.parametrize("name", NOISES)
def test_noise_is_called_a_change_less_often_than_the_error(name: str) -> None:
    """Of 400 courses at most 20 may show a change; the seeds are fixed, so this never depends on luck."""
    random = np.random.default_rng(20260101)
    lengths = (14, 20, 30, 60)
    wrong = [bool(changes.by_ranks(list(NOISES[name](random, n)))) for n in lengths for _ in range(100)]
    assert sum(wrong) <= 20


def test_a_generous_error_does_call_noise_a_change() -> None:
    """The test above can fail: without dividing the error, noise is called a change far more often."""
    random = np.random.default_rng(20260101)
    calls = [changes._most_unlikely(*changes._orders(random.normal(0, 1, 30)), 0, 30)[0] for _ in range(100)]
    assert sum(bound < math.log(0.5) for bound in calls) >= 10


@pytest.mark.parametrize(("before", "after"), [(30, 4), (4, 30), (10, 6), (15, 15), (60, 40)])
@pytest.mark.parametrize("step", [1.2, 1 / 1.2])
def test_a_planted_step_is_found_where_it_is(before: int, after: int, step: float) -> None:
    random = np.random.default_rng(7)
    values = np.concatenate([random.lognormal(0, 0.01, before), step * random.lognormal(0, 0.01, after)])
    assert changes.by_ranks(list(values)) == (before,)


def test_a_regression_that_was_repaired_is_two_changes() -> None:
    random = np.random.default_rng(8)
    parts = [
        random.lognormal(0, 0.01, 40),
        1.1 * random.lognormal(0, 0.01, 15),
        random.lognormal(0, 0.01, 40),
    ]
    assert changes.by_ranks(list(np.concatenate(parts))) == (40, 55)


def test_a_staircase_has_all_its_steps() -> None:
    random = np.random.default_rng(9)
    values = np.concatenate([level * random.lognormal(0, 0.005, 25) for level in (1.0, 1.1, 1.25, 1.4)])
    assert changes.by_ranks(list(values)) == (25, 50, 75)


def test_one_outlier_is_no_change() -> None:
    values = [1.0 + n % 3 / 100 for n in range(40)]
    values[20] = 50.0
    assert changes.by_ranks(values) == ()


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [5.0] * 200])
def test_too_few_or_equal_points_have_no_change(values: list[float]) -> None:
    assert changes.by_ranks(values) == ()


@pytest.mark.parametrize(("before", "after"), [(3, 4), (2, 6), (5, 3), (1, 7)])
def test_the_bound_is_never_below_the_exact_probability(before: int, after: int) -> None:
    """Counted over every order of few points."""
    total = before + after
    places = list(itertools.combinations(range(total), before))
    pairs = [sum(b > a for a in firsts for b in set(range(total)) - set(firsts)) for firsts in places]
    for ordered in range(before * after + 1):
        exact = sum(count >= ordered for count in pairs) / len(places)
        assert math.exp(changes.log_bound(before, after, ordered)) >= exact * (1 - 1e-9)


def test_the_bound_of_complete_separation_is_exact() -> None:
    assert changes.log_bound(27, 3, 81) == pytest.approx(-math.log(math.comb(30, 3)))


# ---- on the instruction clock


SEEDS = [1000.0, 1001.0, 1002.0, 1003.0, 1004.0]


def test_the_same_samples_are_no_change() -> None:
    assert changes.by_samples([SEEDS] * 10) == ()


def test_one_session_is_enough_for_a_change() -> None:
    slower = [1.02 * number for number in SEEDS]
    assert changes.by_samples([SEEDS, SEEDS, slower, slower, SEEDS]) == (2, 4)


def test_a_difference_below_a_thousandth_is_no_change_but_adds_up() -> None:
    """The reference is the first session of the level."""
    sessions = [[number * 1.0006**n for number in [1000.0] * 5] for n in range(4)]
    assert changes.by_samples(sessions) == (2,)


def test_figures_around_zero_change_if_no_sample_overlaps() -> None:
    assert changes.by_samples([[0.0] * 5, [0.0, 0.0, 0.0, 0.0, 1.0], [3.0] * 5]) == (2,)
