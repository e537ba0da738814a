"""When samples are in groups, by arithmetic: what the rule must find, and what it must not."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from benchgate.base.statistics.regimes import LONERS, REACH, regimes

APART = 0.2


@pytest.mark.parametrize(
    ("samples", "groups"),
    [
        ([21.0, 21.3, 64.1, 21.1, 64.0], ((0, 1, 3), (2, 4))),
        ([31.6, 30.6, 0.97, 31.0, 30.1], ((2,), (0, 1, 3, 4))),  # one run of five, as in issue 52
        ([1.0, 1.01, 2.0, 2.01, 4.0, 4.02], ((0, 1), (2, 3), (4, 5))),
        ([100.0, 100.0, 100.0, 79.9, 79.9], ((3, 4), (0, 1, 2))),  # more than a fifth
        ([-4.0, -4.1, 5.0, 5.1], ((0, 1), (2, 3))),
        ([0.0, 0.0, 7.0, 7.0, 0.0], ((0, 1, 4), (2, 3))),
    ],
)
def test_groups_are_found(samples: list[float], groups: tuple[tuple[int, ...], ...]) -> None:
    places = regimes(samples, APART)
    assert sorted(places) == sorted(groups)
    assert [min(samples[n] for n in group) for group in places] == sorted(
        min(samples[n] for n in group) for group in groups
    )


@pytest.mark.parametrize(
    "samples",
    [
        [5.0],
        [5.0, 5.0, 5.0, 5.0, 5.0],
        [975_715_882.0, 975_715_883.0, 975_715_882.0, 975_715_883.0, 975_715_882.0],  # a CV of 0.0%
        [100.0, 100.0, 100.0, 80.1, 80.1],  # less than a fifth
        [1.0, 1.5, 2.2, 3.3, 5.0],  # all far apart is spread, not groups
        [1.0, 1.0, 3.0, 6.0, 9.0],
        [10.0, 13.0, 16.5, 21.0, 21.0],  # no gap is twice as long as what is beside it
        [-5.0, -5.0, -5.5, -5.5],
    ],
)
def test_noise_and_steps_are_no_groups(samples: list[float]) -> None:
    assert regimes(samples, APART) == (tuple(range(len(samples))),)


def test_what_is_closer_than_the_floor_is_one_group() -> None:
    """A share of 0.01% beside 0.05% where 2% are allowed; two figures that one printed step made."""
    shares = [0.0001, 0.0005, 0.0001, 0.0005, 0.0005]
    assert len(regimes(shares, APART)) == 2
    assert len(regimes(shares, APART, floor=APART * 0.02)) == 1
    assert len(regimes([20.0, 30.0, 20.0, 30.0], APART, floor=2 * 10.0)) == 1
    assert len(regimes([20.0, 40.0, 20.0, 40.0], APART, floor=2 * 10.0)) == 2


def test_without_a_distance_there_are_no_groups() -> None:
    assert regimes([1.0, 1.0, 100.0, 100.0], 0.0) == ((0, 1, 2, 3),)


@pytest.mark.parametrize("samples", [[], [1.0, math.nan], [math.inf, 1.0]])
def test_what_is_no_sample_is_refused(samples: list[float]) -> None:
    with pytest.raises(ValueError, match=r"no samples|finite"):
        regimes(samples, APART)


@pytest.mark.parametrize("seed", range(40))
def test_the_properties_of_groups(seed: int) -> None:
    source = random.Random(seed)
    centres = [source.choice((1.0, 1.3, 2.0, 5.0)) for _ in range(source.choice((5, 9, 15, 25)))]
    samples = [centre * source.lognormvariate(0.0, 0.02) for centre in centres]
    groups = regimes(samples, APART)
    assert sorted(place for group in groups for place in group) == list(range(len(samples)))
    ends = [(min(samples[n] for n in group), max(samples[n] for n in group)) for group in groups]
    for (low, high), (next_low, next_high) in itertools.pairwise(ends):
        assert next_low - high >= APART * next_low
        assert next_low - high >= REACH * max(high - low, next_high - next_low)
    assert len(groups) == 1 or sum(len(group) == 1 for group in groups) * LONERS <= len(samples)
    shuffled = [*range(len(samples))]
    source.shuffle(shuffled)
    values = [{samples[n] for n in group} for group in groups]
    mixed = [samples[n] for n in shuffled]
    assert [{mixed[n] for n in group} for group in regimes(mixed, APART)] == values
    larger = [1000.0 * value for value in samples]
    assert regimes(larger, APART) == groups


@pytest.mark.parametrize(("cv", "runs"), [(0.03, 5), (0.03, 25), (0.06, 25)])
def test_noise_of_one_regime_has_no_groups(cv: float, runs: int) -> None:
    """A gap of a fifth is 3.7 standard deviations at a CV of 6%."""
    source = random.Random(runs)
    drawn = [[source.lognormvariate(0.0, cv) for _ in range(runs)] for _ in range(2000)]
    assert sum(len(regimes(samples, APART)) > 1 for samples in drawn) == 0
