"""What a session could have seen: noise floors by an exact bootstrap, resolutions, ungated counts."""

from __future__ import annotations

import itertools
import random
import statistics
from dataclasses import replace

import pytest

from benchgate.base.cells import Lane
from benchgate.base.gates import Gate
from benchgate.base.runs import Disorder, Resolution
from benchgate.judge.accounts.sensitivity import NoiseFloor, UngatedRow, floors, resolutions, ungated
from benchgate.judge.judged_run import JudgedRun
from tests.unit.factories import arm, cell, control, raw_run, right, speedup, verified

ALPHA = 0.0276


def one(*samples: float, **facts: object) -> NoiseFloor:
    of = arm(cell(2), samples, **facts)  # type: ignore[arg-type]
    (floor,) = floors({of.cell.id: of}, ALPHA)
    return floor


def test_the_floor_is_the_end_of_the_ratios_of_all_pairs_of_resamples() -> None:
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


def test_an_arm_with_too_few_or_wrong_runs_has_no_floor() -> None:
    few, bad = arm(cell(1), [100.0] * 4), arm(cell(2), [100.0] * 5, invalid=("0007: wrong",))
    assert list(floors({"one": few, "two": bad, "three": arm(cell(4))}, ALPHA)) == []


def run(number: int, cpus: int, seen: Resolution | None, *, warmup: bool = False) -> JudgedRun:
    raw = raw_run(cell(cpus), attempt=number, warmup=warmup)
    return JudgedRun(raw, replace(verified(raw, 1000), resolution=seen))


def test_each_field_of_a_resolution_is_the_largest_of_the_counted_runs() -> None:
    runs = [
        run(1, 2, Resolution(9_999, 9_999, 9_999), warmup=True),
        run(2, 2, Resolution(5_000, 7, 300)),
        run(3, 2, Resolution(100, 9, 200)),
        run(4, 1, None),
    ]
    assert resolutions(runs) == {"primes-linux-smp2": Resolution(5_000, 9, 300)}
    runs.append(run(4, 2, Resolution(0, 0, 0, late_in_total=400)))
    assert resolutions(runs) == {"primes-linux-smp2": Resolution(5_000, 9, 300, late_in_total=400)}


def test_a_run_without_a_result_counts_for_nothing() -> None:
    assert resolutions([JudgedRun(raw_run(cell(2)), None, "wrong")]) == {}


def test_the_order_bound_is_the_most_accesses_and_the_worst_one_with_its_line() -> None:
    seen = [
        Disorder(3, 120, 170, 0x1000, 2),
        None,
        Disorder(1, 500, 500, 0x2000),
        Disorder(9, 10, 90, 0x3000),
    ]
    runs = [run(n, 2, Resolution(0, 0, 0, order=disorder)) for n, disorder in enumerate(seen, 1)]
    assert resolutions(runs)["primes-linux-smp2"].order == Disorder(9, 500, 500, 0x2000, 2)


ROW = tuple(cell(count) for count in (1, 2, 4, 8))


def test_a_count_without_a_threshold_is_ungated() -> None:
    """A base is used by its gate; that runs are verified is no threshold."""
    rows = ungated(ROW, [speedup(2), *(right(count) for count in (1, 2, 4, 8))])
    assert rows == (UngatedRow("primes-linux", (4, 8)),)
    assert str(rows[0]) == "ungated (no threshold): primes-linux smp4, smp8"


def test_a_gate_over_several_arms_uses_all_of_them() -> None:
    law = Gate("law", "scaling", ROW[0], ROW[3], at_most=0.1, more=(ROW[1],))
    assert ungated(ROW, [law]) == (UngatedRow("primes-linux", (4,)),)
    assert ungated(ROW, [replace(law, more=ROW[1:3])]) == ()


def test_a_row_without_any_threshold_is_said_as_a_whole() -> None:
    rows = ungated([*ROW[:2], cell(1, system="tern")], [control(2)])
    assert rows == (UngatedRow("primes-tern", (1,)),)


def test_a_variant_is_never_gated_and_so_not_named() -> None:
    assert ungated([*ROW[:2], replace(cell(4), variant="smt")], [speedup(2)]) == ()
    assert ungated([], []) == ()
