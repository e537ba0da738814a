from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.base.runs import Ending
from benchgate.features.explore.trouble import (
    RunObservation,
    Trouble,
    TroubleKind,
    group_of,
    masked,
    settled,
    symbol,
    trouble,
    usual,
)
from benchgate.insn.explore_log import Delay

GOOD = RunObservation(Ending.DONE, "", work_ns=1000)
PANIC = RunObservation(
    Ending.PANIC,
    "the guest panicked",
    last_lines=("worker 3 at 0xffff8000", "panic: cpu=1 why=assert", "rip=ffffffff80001234"),
    places=("idle+0x4", "panic+0x20"),
)


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        (Ending.BOOT_DEADLINE, TroubleKind.HANG),
        (Ending.RUN_DEADLINE, TroubleKind.HANG),
        (Ending.PANIC, TroubleKind.PANIC),
        (Ending.FAILED, TroubleKind.FAILURE),
        (Ending.DONE, TroubleKind.WRONG),
        (Ending.EOF, TroubleKind.CRASH),
        (Ending.OUTPUT_LIMIT, TroubleKind.CRASH),
        (Ending.NO_START, TroubleKind.CRASH),
    ],
)
def test_each_ending_without_a_result_has_its_kind(ending: Ending, kind: TroubleKind) -> None:
    result = trouble(RunObservation(ending, "why it has none"), None, 4.0)
    assert result is not None
    assert (result.kind, result.what) == (kind, "why it has none")


def test_a_good_run_is_no_find() -> None:
    assert trouble(GOOD, None, 4.0) is None
    assert trouble(GOOD, 1000.0, 4.0) is None


def test_right_answers_of_badly_placed_threads_are_one_find_whichever_cpu_idled() -> None:
    """A run that its system's own figures refuse, and one that is verified."""
    texts = [f"work: vCPU {cpu} executed only 0 instructions" for cpu in (1, 3)]
    runs = [
        RunObservation(Ending.DONE, texts[0], unused=texts[0]),
        replace(GOOD, unused=texts[1]),
    ]
    finds = [trouble(run, None, 4.0) for run in runs]
    assert finds == [Trouble(TroubleKind.UNUSED, text) for text in texts]
    assert {group_of(found, run) for found, run in zip(finds, runs, strict=True) if found} == {"unused-cpu"}


def test_a_cpu_that_was_stalled_for_half_of_the_window_may_have_no_work() -> None:
    found = [trouble(replace(GOOD, unused="why", delayed_ns=ns), None, 4.0) for ns in (499, 500)]
    assert found == [Trouble(TroubleKind.UNUSED, "why"), None]


def test_books_that_do_not_balance_are_a_find_whatever_the_answer() -> None:
    result = trouble(replace(GOOD, unbalanced="vCPU 1 lost 5 ns"), None, 4.0)
    assert result is not None
    assert (result.kind, result.what) == (TroubleKind.BOOKS, "vCPU 1 lost 5 ns")


def test_slow_is_more_than_k_times_the_median_beside_the_stalls_themselves() -> None:
    assert trouble(replace(GOOD, work_ns=4000), 1000.0, 4.0) is None
    slow = trouble(replace(GOOD, work_ns=4001), 1000.0, 4.0)
    assert slow is not None
    assert slow.kind is TroubleKind.SLOW
    assert slow.what == "its window of 4.001 us is 4.0 times the median of 1 us"
    crowded = trouble(replace(GOOD, work_ns=4001, delayed_ns=1, cpus_used=1.02), 900.0, 4.0)
    assert crowded is not None
    assert crowded.what == (
        "its window of 4 us without its stalls is 4.4 times the median of 900 ns; 1.0 of its CPUs were awake "
        "in it"
    )
    assert trouble(replace(GOOD, work_ns=4001, delayed_ns=1), 1000.0, 4.0) is None


def test_the_median_is_that_of_the_first_fifteen_windows() -> None:
    assert usual([*range(1, 15)]) is None
    assert usual([*range(1, 16)]) == 8
    assert usual([*range(1, 16), 10**9, 10**9]) == 8


def test_a_run_is_whole_if_every_stall_is_known() -> None:
    delay = Delay(0, 5, 10, 5, 0x10)
    assert replace(GOOD, stalls=(delay,), all_stalls=1).is_whole
    assert not replace(GOOD, stalls=(delay,), all_stalls=2).is_whole


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("panic: cpu=1 why=fault", "panic: cpu=# why=fault"),
        ("rip=ffffffff80001234 at 12.5 ms", "rip=# at #.# ms"),
        ("at 0xDEADBEEF", "at #"),
        ("no number, deed and cafe are words", "no number, deed and cafe are words"),
    ],
)
def test_numbers_are_masked(line: str, expected: str) -> None:
    assert masked(line) == expected


def test_a_place_has_its_symbol() -> None:
    assert symbol("thread_park+0x1c") == "thread_park"
    assert symbol("0x1000") == "0x1000"


def test_panics_with_the_same_lines_and_other_numbers_are_one() -> None:
    result = Trouble(TroubleKind.PANIC, "it panicked at 17")
    other = replace(
        PANIC,
        last_lines=("worker 4 at 0xffff9000", "panic: cpu=0 why=assert", "rip=ffffffff80005678"),
        places=("spin+0x1", "panic+0x20"),
    )
    assert group_of(result, PANIC) == group_of(Trouble(TroubleKind.PANIC, "it panicked at 99"), other)
    assert group_of(result, PANIC) == "panic | worker # at # | panic: cpu=# why=assert | rip=#"
    different = replace(other, last_lines=("panic: cpu=0 why=double free",))
    assert group_of(result, PANIC) != group_of(result, different)


def test_hangs_at_other_places_are_two() -> None:
    result = Trouble(TroubleKind.HANG, "not finished")
    observation = RunObservation(
        Ending.RUN_DEADLINE, "", last_lines=("ready",), places=("idle+0x1", "park+0x8")
    )
    same = replace(observation, places=("park+0x10", "idle+0x1"))
    other = replace(observation, places=("idle+0x1", "lock+0x8"))
    assert group_of(result, observation) == group_of(result, same) == "hang | at idle, park | ready"
    assert group_of(result, other) != group_of(result, observation)


def test_a_cpu_that_looks_for_work_without_end_hangs_at_no_one_place() -> None:
    """The idle loop of a kernel that never halts takes locks; where it is at the deadline is chance."""
    loop = ["acquire+0xa0", "scheduler+0x10", "acquire+0x30", "popcli+0x4"]
    assert settled([*loop, "popcli+0x8"]) == "popcli+0x8 and elsewhere"
    assert symbol(settled(loop)) == "no one place"
    spins = ["acquire+0x30", "timer+0x8", "acquire+0x34", "acquire+0x30", "timer+0x2"]
    assert settled(spins[:4]) == "acquire+0x30"
    assert settled(["park+0x8"]) == "park+0x8"
    result = Trouble(TroubleKind.HANG, "not finished")
    observation = RunObservation(
        Ending.RUN_DEADLINE, "", last_lines=("ready",), places=(settled(loop), "park+0x8")
    )
    other = replace(observation, places=(settled([*loop, "lapicid+0x1"]), "park+0x9"))
    assert group_of(result, observation) == group_of(result, other) == "hang | at no one place, park | ready"


def test_wrong_answers_are_grouped_by_their_reason_and_not_by_their_results() -> None:
    observation = RunObservation(Ending.DONE, "wrong answer: worker 1", last_lines=("@bench end 1",))
    assert (
        group_of(Trouble(TroubleKind.WRONG, "wrong answer: worker 1"), observation)
        == "wrong-answer | wrong answer: worker #"
    )
    assert group_of(Trouble(TroubleKind.SLOW, "7 times"), observation) == "slow"
