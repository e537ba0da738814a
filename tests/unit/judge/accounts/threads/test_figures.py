"""The metrics of threads, by hand."""

from __future__ import annotations

from benchgate.judge.accounts.threads.books import CpuBook, ThreadBooks
from benchgate.judge.accounts.threads.figures import histogram_of, thread_metrics


def books(*waits: int, end: int = 1100, cpus: tuple[CpuBook, ...] = ()) -> ThreadBooks:
    return ThreadBooks(len(cpus), 100, end, False, (), cpus, (), (), (), (), (), (), waits)


CPUS = (CpuBook(0, 1000, 0, 0, 0, 1), CpuBook(1, 200, 800, 300, 200, 2))


def test_the_share_is_of_all_cpus_time() -> None:
    assert thread_metrics(books(5, 7, cpus=CPUS)) == {
        "wasted": 0.15,
        "wasted_longest": 200.0,
        "sched_wait_p99": 7.0,
        "sched_wait_max": 7.0,
    }


def test_the_percentile_is_one_of_the_waits() -> None:
    waits = (*range(1, 101),)
    found = thread_metrics(books(*waits, cpus=CPUS))
    assert (found["sched_wait_p99"], found["sched_wait_max"]) == (99.0, 100.0)


def test_if_nobody_waited_the_waits_are_nothing() -> None:
    assert thread_metrics(books(cpus=CPUS, end=100)) == dict.fromkeys(
        ("wasted", "sched_wait_p99", "sched_wait_max"), 0.0
    ) | {"wasted_longest": 200.0}


def test_a_histogram_has_every_wait() -> None:
    seen = histogram_of((3, 3, 1000))
    assert (seen.count, seen.sum, seen.min, seen.max) == (3, 1006, 3, 1000)
    assert list(seen.buckets.values()) == [2, 1]
    assert histogram_of(()).count == 0
