"""The noise floor: the exact bootstrap of an arm against itself."""

from __future__ import annotations

import itertools
import random
import statistics

import pytest

from benchgate.base.cells import Lane
from benchgate.judge.accounts.noise_floor import NoiseFloor, floors
from tests.unit.factories import arm, cell

ALPHA = 0.0276


def one(*samples: float, **facts: object) -> NoiseFloor:
    of = arm(cell(2), samples, **facts)  # type: ignore[arg-type]
    (found,) = floors({of.cell.id: of}, ALPHA)
    return found


def test_it_is_the_end_of_the_ratios_of_all_pairs_of_resamples() -> None:
    """Counted one by one: 3125 resamples, in pairs, by their medians."""
    samples = (100.0, 103.0, 101.0, 98.0, 99.0)
    medians = sorted(statistics.median(drawn) for drawn in itertools.product(samples, repeat=5))
    counts = {value: medians.count(value) for value in samples}
    ratios = sorted((x / y, counts[x] * counts[y]) for x in samples for y in samples)
    total, below, ends = sum(weight for _, weight in ratios), 0, []
    for ratio, weight in ratios:
        below += weight
        if below >= (1 - ALPHA) * total:
            ends.append(ratio)
    assert one(*samples).floor == pytest.approx(ends[0] - 1)


def test_equal_runs_have_no_floor_and_a_drift_shows_in_the_halves() -> None:
    assert one(*[100.0] * 5).floor == 0.0
    assert one(100.0, 110.0, 100.0, 110.0, 100.0).halves == pytest.approx(1.1)
    assert one(100.0, 110.0, 100.0, 110.0, 100.0, lane=Lane.INSN).lane is Lane.INSN


def test_two_arms_of_the_same_noise_seldom_differ_by_more() -> None:
    """Both arms of a pair are drawn afresh: alpha a side, so 5.5% of pairs; 10% leaves room for chance."""
    source, beyond = random.Random(7), 0
    for _ in range(400):
        first, second = ([source.lognormvariate(0, 0.03) for _ in range(9)] for _ in range(2))
        ratio = statistics.median(first) / statistics.median(second)
        beyond += max(ratio, 1 / ratio) - 1 > one(*first).floor
    assert 0 < beyond / 400 < 0.1


def test_an_arm_with_too_few_or_wrong_runs_has_none() -> None:
    few, bad = arm(cell(1), [100.0] * 4), arm(cell(2), [100.0] * 5, invalid=("0007: wrong",))
    assert list(floors({"one": few, "two": bad, "three": arm(cell(4))}, ALPHA)) == []
