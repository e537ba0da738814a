"""Which runs are named as outlying, and what is said to set them apart."""

from __future__ import annotations

import re
from dataclasses import replace

from benchgate.base.cells import Lane
from benchgate.base.runs import WorkerReport
from benchgate.judge.accounts.outliers import outliers
from benchgate.judge.judged_run import JudgedRun
from tests.unit.factories import cell, raw_run, verified

WORKS = (1000, 1010, 990, 1005)
APART = ((0, 0), (1, 1), (2, 2))


def one_run(
    number: int,
    work: int,
    cpus: tuple[tuple[int, int], ...] = APART,
    *,
    foreign: int = 0,
    warmup: bool = False,
    lane: Lane = Lane.TCG,
) -> JudgedRun:
    """A verified run; `cpus` has the CPU of each worker at its begin and end."""
    raw = replace(raw_run(cell(2), attempt=number), warmup=warmup, lane=lane, seed=number)
    workers = tuple(WorkerReport(n, begin, end, 1, 2, {}) for n, (begin, end) in enumerate(cpus))
    return JudgedRun(raw, replace(verified(raw, work), workers=workers, foreign=foreign))


def usual(lane: Lane = Lane.TCG) -> list[JudgedRun]:
    return [one_run(number, work, lane=lane) for number, work in enumerate(WORKS, 1)]


def test_noise_is_not_named() -> None:
    assert outliers([*usual(), one_run(5, 1045)]) == ()
    wide = [one_run(number, work) for number, work in enumerate((1000, 1100, 900, 1050, 1300), 1)]
    assert outliers(wide) == ()


def test_two_workers_on_one_cpu_and_a_move_are_what_sets_a_run_apart() -> None:
    crowded = one_run(5, 1700, ((0, 0), (1, 1), (1, 2)), lane=Lane.INSN)
    (text,) = outliers([*usual(Lane.INSN), crowded])
    assert re.search(r"^run 0005 \(seed 5\) took 1\.69 times the median of primes-linux-smp2: ", text)
    assert re.search("one worker .* CPU 1; worker 2 moved from CPU 1 to 2$", text)


def test_what_the_other_runs_have_too_is_no_reason() -> None:
    moved = ((0, 1), (1, 1), (2, 2))
    runs = [one_run(number, work, moved) for number, work in enumerate(WORKS, 1)]
    (text,) = outliers([*runs, one_run(5, 1700, moved)])
    assert re.search("^run 0005 took .*: its workers' CPUs are like those of the other runs$", text)


def test_foreign_time_beyond_that_of_the_others_is_named() -> None:
    (text,) = outliers([*usual(), one_run(5, 1700, foreign=12_000_000)])
    assert text.endswith(": 12,000,000 ns of foreign CPU time, at most 0 in the other runs")


def test_a_fast_run_is_outlying_too() -> None:
    (text,) = outliers([*usual(), one_run(5, 500)])
    assert text.startswith("run 0005 took 0.50 times the median")


def test_many_moves_are_counted_and_not_all_listed() -> None:
    moved = tuple((n, n + 10) for n in range(6))
    (text,) = outliers([*usual(), one_run(5, 1700, moved)])
    assert text.endswith("worker 2 moved from CPU 2 to 12, 3 others")


def test_warm_ups_and_arms_of_a_few_runs_have_no_outliers() -> None:
    assert outliers([*usual(), one_run(5, 1001), one_run(6, 9000, warmup=True)]) == ()
    assert outliers([*usual()[:3], one_run(4, 9000)]) == ()
