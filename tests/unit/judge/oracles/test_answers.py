"""The checks that oracles share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.base.errors import VerifyError
from benchgate.base.runs import OracleRun, WorkerReport
from benchgate.base.statistics.histogram import Histogram
from benchgate.judge.oracles import answers


def report(number: int, **values: int) -> WorkerReport:
    return WorkerReport(number, 0, 0, 1, 2, values)


@pytest.mark.parametrize(
    ("cuts", "reason"),
    [
        ([(0, 5), (6, 10)], "worker 1 had 6..10, but its range starts at 5"),
        ([(0, 5), (4, 10)], "worker 1 had 4..10"),
        ([(0, 12)], "worker 0 had 0..12"),
        ([(0, 5), (5, 4)], "worker 1 had 5..4"),
        ([(0, 5), (5, 9)], "end at 9, but the work ends at 10"),
    ],
)
def test_ranges_must_follow_each_other(cuts: list[tuple[int, int]], reason: str) -> None:
    with pytest.raises(VerifyError, match=reason):
        answers.ranges([report(n, lo=lo, hi=hi) for n, (lo, hi) in enumerate(cuts)], 0, 10)


def test_equal_cost_has_a_tolerance_and_a_grain() -> None:
    answers.equal_cost([report(0, divs=1019), report(1, divs=981)], "divs", grain=0)
    with pytest.raises(VerifyError, match="worker 0 had divs=1021"):
        answers.equal_cost([report(0, divs=1021), report(1, divs=979)], "divs", grain=0)
    answers.equal_cost([report(0, divs=1021), report(1, divs=979)], "divs", grain=21)


def test_what_workers_report_is_summed() -> None:
    assert answers.summed([report(0, sent=3), report(1, sent=4)], "sent") == 7
    with pytest.raises(VerifyError, match="worker 1 did not report sent"):
        answers.summed([report(0, sent=3), report(1, got=4)], "sent")


def test_parts_add_up() -> None:
    answers.add_up("posted", 9, {"completed": 7, "pending": 2})
    with pytest.raises(VerifyError, match=r"posted=9 is not completed=7 \+ pending=1, which is 8"):
        answers.add_up("posted", 9, {"completed": 7, "pending": 1})


def histograms(*values: int) -> OracleRun:
    """Each worker has one value."""
    return OracleRun(
        2, "ns", None, 100, 200, {"wakeup": tuple(Histogram(1, v, v, v, {v: 1}) for v in values)}
    )


def test_a_histogram_is_expected_with_its_counts() -> None:
    run = histograms(5, 90)
    histogram = answers.expect_histogram(run, "wakeup", count=2, by_worker=[1, 1], at_most=90)
    assert (histogram.count, histogram.max) == (2, 90)
    for more, reason in (
        ({"count": 3}, "histogram wakeup has 2 values, expected 3"),
        ({"by_worker": [1, 2]}, "worker 1 has 1 values in histogram wakeup, expected 2"),
        ({"by_worker": [2]}, "2 workers have a histogram wakeup, expected 1"),
        ({"at_most": 89}, "histogram wakeup has a value of 90, above 89"),
    ):
        with pytest.raises(VerifyError, match=reason):
            answers.expect_histogram(run, "wakeup", **more)
    with pytest.raises(VerifyError, match="there is no histogram request"):
        answers.expect_histogram(run, "request")


def test_some_values_are_expected_and_others_may_be_there() -> None:
    answers.expect_some("hackbench", {"tasks": 4, "seconds": 9}, {"tasks": 4})
    for reported in ({"tasks": 5}, {"seconds": 9}):
        with pytest.raises(
            VerifyError, match=r"wrong answer: hackbench reported tasks=(5|None), expected tasks=4"
        ):
            answers.expect_some("hackbench", reported, {"tasks": 4})


@pytest.mark.parametrize(("hz", "window"), [(None, 1_000_000), (2_000_000_000, 2_000_000)])
def test_a_length_that_a_program_measured_must_fit_into_the_window(hz: int | None, window: int) -> None:
    run = OracleRun(cpus=1, unit="ns", hz=hz, work=window, total=window, by_worker={})
    answers.expect_inside(run, "seconds", 1_000_000, 0)
    answers.expect_inside(run, "seconds", 1_900_000, 900_000)
    with pytest.raises(
        VerifyError, match="reported seconds=1900001 ns, but the whole work window has 1000000"
    ):
        answers.expect_inside(run, "seconds", 1_900_001, 900_000)


def test_lengths_that_follow_each_other_fit_into_the_window() -> None:
    answers.expect_no_overlap(histograms(100, 100), "wakeup")
    with pytest.raises(VerifyError, match="of worker 1 has 101 ns together, but the work window is 100"):
        answers.expect_no_overlap(histograms(100, 101), "wakeup")


def test_the_values_of_all_workers_are_added_modulo_64_bits() -> None:
    result = answers.together([report(0, items=3, sum=2**64 - 1), report(1, items=4, sum=3)])
    assert result == {"items": 7, "sum": 2}
    with pytest.raises(VerifyError, match=r"worker 1 reported the fields \['items', 'more'\], but worker 0"):
        answers.together([report(0, items=3), report(1, items=4, more=0)])


def test_published_elements_of_splitmix64() -> None:
    # The first outputs for seed 0 of Vigna's splitmix64.c, as its ports test them.
    assert answers.random_numbers(0, 3).tolist() == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]
    assert answers.random_numbers(1, 3).tolist() == answers.random_numbers(0, 3)[1:].tolist()
    with_seed = answers.random_numbers(0, 3, 1234567)  # as in the lists of Rosetta Code
    assert with_seed.tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def plain_turns(x: int, turns: int) -> int:
    for _ in range(turns):
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
    return x


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 300)), min_size=1, max_size=5))
def test_turns_agree_with_one_at_a_time(cases: list[tuple[int, int]]) -> None:
    starts, turns = (np.array(column, dtype=np.uint64) for column in zip(*cases, strict=True))
    assert answers.after_turns(starts, turns).tolist() == [plain_turns(*case) for case in cases]


@given(st.integers(-5, 2**64), st.integers(0, 2**50), st.integers(0, 99))
def test_turns_of_one_number_add_up(start: int, first: int, more: int) -> None:
    middle = answers.after_turns_from(start, first)
    assert answers.after_turns_from(start, first + more) == plain_turns(middle, more)


@given(st.integers(0, 2**64 - 1), st.integers(0, 99))
def test_any_number_of_turns_is_possible(start: int, more: int) -> None:
    """A worker may report any count of 64 bits, and its product may have more. The map of one turn has the
    period 2^64."""
    assert answers.after_turns_from(start, 5 * 2**64 + more) == plain_turns(start, more)


def test_one_count_of_turns_serves_all_numbers() -> None:
    starts = np.array([1, 2, 3], dtype=np.uint64)
    assert answers.after_turns(starts, 7).tolist() == [plain_turns(x, 7) for x in (1, 2, 3)]


@given(st.lists(st.integers(0, 2**64 - 1), max_size=9))
def test_folds_and_totals_agree_with_one_value_at_a_time(values: list[int]) -> None:
    fold = 0
    for value in values:
        fold = (fold * 0x9FB21C651E98DF25 + value) % 2**64
    words = np.array(values, dtype=np.uint64)
    assert (answers.folded(words), answers.total(words)) == (fold, sum(values) % 2**64)


def test_shares_are_the_whole_and_differ_by_one_at_most() -> None:
    cuts = [answers.equal_share(10, 4, worker) for worker in range(4)]
    assert cuts == [(0, 2), (2, 5), (5, 7), (7, 10)]
