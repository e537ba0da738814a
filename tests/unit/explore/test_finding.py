from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.runs import Ending
from benchgate.explore.finding import Kind, Made, trouble, usual
from benchgate.insn.explore_log import Delay

GOOD = Made(Ending.DONE, "", work_ns=1000)


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        (Ending.BOOT_DEADLINE, Kind.HANG),
        (Ending.RUN_DEADLINE, Kind.HANG),
        (Ending.PANIC, Kind.PANIC),
        (Ending.FAILED, Kind.FAILURE),
        (Ending.DONE, Kind.WRONG),
        (Ending.EOF, Kind.CRASH),
        (Ending.OUTPUT_LIMIT, Kind.CRASH),
        (Ending.NO_START, Kind.CRASH),
    ],
)
def test_each_ending_without_a_result_has_its_kind(ending: Ending, kind: Kind) -> None:
    found = trouble(Made(ending, "why it has none"), None, 4.0)
    assert found is not None
    assert (found.kind, found.what) == (kind, "why it has none")


def test_a_good_run_is_no_find() -> None:
    assert trouble(GOOD, None, 4.0) is None
    assert trouble(GOOD, 1000.0, 4.0) is None


def test_books_that_do_not_balance_are_a_find_whatever_the_answer() -> None:
    found = trouble(replace(GOOD, unbalanced="vCPU 1 lost 5 ns"), None, 4.0)
    assert found is not None
    assert (found.kind, found.what) == (Kind.BOOKS, "vCPU 1 lost 5 ns")


def test_slow_is_more_than_k_times_the_median_beside_the_stalls_themselves() -> None:
    assert trouble(replace(GOOD, work_ns=4000), 1000.0, 4.0) is None
    slow = trouble(replace(GOOD, work_ns=4001), 1000.0, 4.0)
    assert slow is not None
    assert slow.kind is Kind.SLOW
    assert "4.0 times the median of 1000 ns" in slow.what
    assert trouble(replace(GOOD, work_ns=4001, delayed_ns=1), 1000.0, 4.0) is None


def test_the_median_is_that_of_the_first_fifteen_windows() -> None:
    assert usual([*range(1, 15)]) is None
    assert usual([*range(1, 16)]) == 8
    assert usual([*range(1, 16), 10**9, 10**9]) == 8


def test_a_run_is_whole_if_every_stall_is_known() -> None:
    one = Delay(0, 5, 10, 5, 0x10)
    assert replace(GOOD, stalls=(one,), all_stalls=1).is_whole
    assert not replace(GOOD, stalls=(one,), all_stalls=2).is_whole
