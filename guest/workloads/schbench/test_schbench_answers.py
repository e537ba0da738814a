"""The oracle of schbench: matrices multiplied one number at a time, and a run made by hand with each lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate import Histogram, OracleRun, ParamValue, VerifyError, WorkerReport
from guest.workloads.schbench import oracle as schbench

MS = 1_000_000
MODULUS = 2**64
PARAMS: dict[str, ParamValue] = {
    "message_threads": 1,
    "threads": 0,
    "time_ns": 100 * MS,
    "warmup_ms": 0,
    "interval_ms": 50,
    "zero_ms": 0,
    "footprint_kb": 1,
    "operations": 2,
    "calibrate": "off",
    "locking": "cpu",
    "sleep_before_us": 1,
    "sleep_after_us": 1,
    "rps": 0,
    "auto_rps": 0,
    "pipe": 0,
    "hogs": 0,
    "hog_ms": 0,
}
SIDE = 6  # three of 6 * 6 numbers of 8 bytes fit into 1 KiB, of 7 * 7 they do not


# ---- the arithmetic


def element(seed: int, index: int) -> int:
    z = (seed + (index + 1) * 0x9E3779B97F4A7C15) % MODULUS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % MODULUS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % MODULUS
    return z ^ (z >> 31)


def plain_product(side: int, seed: int, operations: int) -> int:
    factor = [[element(0, i * side + j) for j in range(side)] for i in range(side)]
    for i in range(side):
        factor[i][i] |= 1
        for j in range(i + 1, side):
            factor[i][j] &= ~1
    now = [[element(seed, i * side + j) for j in range(side)] for i in range(side)]
    for _ in range(operations):
        now = [
            [sum(now[i][k] * factor[k][j] for k in range(side)) % MODULUS for j in range(side)]
            for i in range(side)
        ]
    flat = [number for row in now for number in row]
    return sum(number * (2 * at + 1) for at, number in enumerate(flat)) % MODULUS


@given(st.integers(1, 5), st.integers(0, 70), st.integers(0, 9))
def test_squaring_agrees_with_one_product_at_a_time(side: int, seed: int, operations: int) -> None:
    assert schbench.product(side, seed, operations) == plain_product(side, seed, operations)


def test_each_product_changes_the_digest() -> None:
    assert len({schbench.product(3, 1, count) for count in range(2000)}) == 2000


@given(st.integers(1, 9), st.integers(0, 9), st.sampled_from([1, 2]))
def test_pages_are_summed(words: int, transfers: int, offset: int) -> None:
    numbers = [2 * transfer + offset + i for transfer in range(transfers) for i in range(words)]
    assert schbench.pages(words, transfers, offset) == sum(numbers)


# ---- a run by hand


def histogram(values: Sequence[int]) -> Histogram:
    """Values below 128 have a bucket each; those here above it are powers of two, which begin one."""
    bucket = [v if v < 128 else (v.bit_length() - 7) * 128 for v in values]
    return Histogram(
        len(values), sum(values), min(values, default=0), max(values, default=0), dict(Counter(bucket))
    )


WAKEUPS = [[], [2, 3], [4, 4, 5]]
REQUESTS = [[], [2048, 4096], [2048, 2048, 8192]]
RATES = [[40, 60], [], []]


def thread(number: int, role: int, **had: int) -> WorkerReport:
    names = ("role", "of", "goal", "due", "posted", "pending", "done", "timed", "inside", "woken", "sum")
    return WorkerReport(number, 0, 0, 10, 10 + 100 * MS, {**dict.fromkeys(names, 0), "role": role, **had})


def reports(**first: int) -> list[WorkerReport]:
    """One messenger with two workers, of which the first did 2 requests and the second 3."""
    done = [{"done": n, "timed": n, "inside": n, "woken": n} for n in (2, 3)]
    return [
        thread(0, 0, **{"of": 2, "due": 5, "posted": 5, **first}),
        thread(1, 1, sum=plain_product(SIDE, 1, 4), **done[0]),
        thread(2, 1, sum=plain_product(SIDE, 2, 6), **done[1]),
    ]


RESULT = {"due": 5, "posted": 5, "pending": 0, "inside": 5, "completed": 5, "goal": 0, "measured": 100 * MS}
HISTOGRAMS = {"wakeup": WAKEUPS, "request": REQUESTS, "rps": RATES}


def run(**changed: list[list[int]]) -> OracleRun:
    named = {**HISTOGRAMS, **changed}
    by_worker = {name: tuple(map(histogram, each)) for name, each in named.items()}
    return OracleRun(2, "ns", 1_000_000_000, 100 * MS, 101 * MS, by_worker)


def test_a_correct_run_is_accepted() -> None:
    schbench.check(PARAMS, reports(), RESULT, run())


def with_values(number: int, **values: int) -> list[WorkerReport]:
    worker_reports = reports()
    worker_reports[number] = replace(
        worker_reports[number], values={**worker_reports[number].values, **values}
    )
    return worker_reports


@pytest.mark.parametrize(
    ("number", "values", "reason"),
    [
        (1, {"sum": plain_product(SIDE, 1, 3)}, "worker 1 reported sum="),
        (1, {"sum": plain_product(SIDE, 2, 4)}, "worker 1 reported sum="),
        (1, {"done": 3}, r"posted by worker 0=5 is not completed=6 \+ pending=0"),
        (0, {"posted": 4}, r"posted by worker 0=4 is not completed=5 \+ pending=0"),
        (0, {"posted": 6, "pending": 1, "due": 6}, "left requests that a worker had asked for"),
        (0, {"due": 6}, "left requests"),
        (0, {"due": 4}, "posted more than was due"),
        (0, {"of": 1}, "worker 0 reported of=1, expected of=2"),
        (2, {"of": 1}, "worker 2 reported of=1, expected of=0"),
        (2, {"role": 2}, "worker 2 reported role=2, expected role=1"),
        (2, {"timed": 2, "woken": 2}, "worker 2 has 3 values in histogram wakeup, expected 2"),
        (2, {"timed": 5}, "worker 2 has 3 values in histogram request, expected 5"),
    ],
)
def test_a_wrong_value_is_refused(number: int, values: dict[str, int], reason: str) -> None:
    with pytest.raises(VerifyError, match=reason):
        schbench.check(PARAMS, with_values(number, **values), RESULT, run())


@pytest.mark.parametrize(("key", "value"), [("completed", 6), ("pending", 1), ("measured", 99), ("goal", 7)])
def test_a_wrong_result_is_refused(key: str, value: int) -> None:
    with pytest.raises(VerifyError, match=f"the result reported {key}={value}"):
        schbench.check(PARAMS, reports(), {**RESULT, key: value}, run())


@pytest.mark.parametrize(
    ("name", "each", "reason"),
    [
        ("wakeup", [[], [2], [4, 4, 5]], "worker 1 has 1 values in histogram wakeup, expected 2"),
        ("wakeup", [[], [2, 3, 4], [4, 5]], "worker 1 has 3 values in histogram wakeup, expected 2"),
        ("request", [[], [2048, 2**27], [2048, 2048, 8192]], "above 101000000"),
        ("request", [[], [2048, 4096], [2048, 2048, 1024]], "a request took 1024 ns, less than its sleeps"),
        ("request", [[], [2**26, 2**26], [2048, 2048, 8192]], "requests of worker 1 took 134217728"),
        ("wakeup", [[], [2, 2**12], [4, 4, 5]], "worker 1 took together 6144, less than .*, 8098"),
        ("wakeup", [[], [64, 2**7], [4, 4, 5]], "worker 1 took at least 2048, less than .*, 2064"),
        ("rps", [[40, 80], [], []], "the intervals have more than the 5 requests inside"),
        ("rps", [[20, 60], [], []], "the intervals have less than the 5 requests inside"),
        ("rps", [[100], [], []], "worker 0 has 1 values in histogram rps, expected 2"),
    ],
)
def test_a_wrong_histogram_is_refused(name: str, each: list[list[int]], reason: str) -> None:
    with pytest.raises(VerifyError, match=reason):
        schbench.check(PARAMS, reports(), RESULT, run(**{name: each}))


def test_a_wake_up_that_is_in_no_request_is_refused() -> None:
    changed = run(wakeup=[[], [2, 3], [2, 2, 4096]], request=[[], [2048, 4096], [4096, 4096, 4096]])
    with pytest.raises(VerifyError, match=r"worker 2 took at most 4096, less than .*, 6096"):
        schbench.check(PARAMS, reports(), RESULT, changed)


@pytest.mark.parametrize("mode", [{"calibrate": "on"}, {"rps": 50}])
def test_more_requests_than_sleeps_allow_are_refused(mode: dict[str, ParamValue]) -> None:
    """3 requests with sleeps of 34 ms each take more than the 100 ms that their worker had. With `calibrate`
    the sleeps are in no latency; with a goal a wait in the queue may be as long as a sleep."""
    params: dict[str, ParamValue] = {**PARAMS, "sleep_before_us": 30_000, "sleep_after_us": 4000, **mode}
    goal = 50 if "rps" in mode else 0
    changed = run(request=[[], [2**26, 2**26], [2**26, 2**26, 2**26]]) if goal else run()
    with pytest.raises(VerifyError, match="worker 2 had 3 requests, whose sleeps alone take 102000000 ns"):
        schbench.check(params, reports(goal=goal), {**RESULT, "goal": goal}, changed)


def ending(number: int, end: int, *more: WorkerReport) -> list[WorkerReport]:
    worker_reports = [*reports(), *more]
    worker_reports[number] = replace(worker_reports[number], end=end)
    return worker_reports


@pytest.mark.parametrize("number", [0, 1])
def test_a_thread_that_leaves_before_the_time_is_over_is_refused(number: int) -> None:
    """Between the start of the total window and the first worker's lies at most 1 ms."""
    schbench.check(PARAMS, ending(number, 10 + 99 * MS), RESULT, run())
    with pytest.raises(VerifyError, match=f"worker {number} left 98999999 ns after the first one began"):
        schbench.check(PARAMS, ending(number, 9 + 99 * MS), RESULT, run())


def test_a_hog_that_leaves_early_is_refused() -> None:
    params = {**PARAMS, "hogs": 1, "hog_ms": 40}
    with_hog = run(**{name: [*each, []] for name, each in HISTOGRAMS.items()})
    schbench.check(params, ending(3, 10 + 39 * MS, thread(3, 2, done=7)), RESULT, with_hog)
    with pytest.raises(VerifyError, match="worker 3 left 38999999 ns after the first one began"):
        schbench.check(params, ending(3, 9 + 39 * MS, thread(3, 2, done=7)), RESULT, with_hog)


def test_with_a_goal_the_wait_in_the_queue_is_part_of_the_latency() -> None:
    """5 requests, due every 20 ms, by turns for two workers, each at least 32 ms long: none waits
    for another. If they are due every 2 ms, the second one of a worker waits for 28 ms, and the third one for
    56 ms."""
    params = {**PARAMS, "sleep_before_us": 32_000, "sleep_after_us": 0}
    plain = [[], [2**25, 2**25], [2**25, 2**25, 2**25]]
    schbench.check({**params, "rps": 50}, reports(goal=50), {**RESULT, "goal": 50}, run(request=plain))
    many = reports(goal=500, due=50, posted=50, pending=45)
    result = {**RESULT, "goal": 500, "due": 50, "posted": 50, "pending": 45}
    with pytest.raises(VerifyError, match="the requests of worker 1 took 67108864 together, less than"):
        schbench.check({**params, "rps": 500}, many, result, run(request=plain))
    slow = [[], [2**25, 2**26], [2**26, 2**26, 2**26]]
    schbench.check({**params, "rps": 500}, many, result, run(request=slow))


def test_a_missing_worker_is_refused() -> None:
    with pytest.raises(VerifyError, match="there are 2 threads, expected 3"):
        schbench.check(PARAMS, reports()[:2], RESULT, run())


def test_a_goal_must_come_due() -> None:
    """50 requests a second for a tenth of a second are 5, and for 101 a second the eleventh is the last."""
    schbench.check({**PARAMS, "rps": 50}, reports(goal=50), {**RESULT, "goal": 50}, run())
    with pytest.raises(VerifyError, match="worker 0 reported due=5, expected 11"):
        schbench.check({**PARAMS, "rps": 101}, reports(goal=101), {**RESULT, "goal": 101}, run())


@pytest.mark.parametrize(
    ("cpus", "messengers", "members", "goals"),
    [
        (4, 1, [4], [1001]),
        (4, 3, [1, 1, 2], [250, 250, 501]),
        (1, 3, [0, 0, 1], [0, 0, 1001]),
        (8, 5, [1, 2, 1, 2, 2], [125, 250, 125, 250, 251]),
    ],
)
def test_workers_and_goals_are_divided_completely(
    cpus: int, messengers: int, members: list[int], goals: list[int]
) -> None:
    params = {**PARAMS, "message_threads": messengers, "rps": 1001}
    threads = schbench.plan_of(params, replace(run(), cpus=cpus)).threads
    assert [one.of for one in threads[:messengers]] == members
    assert [one.goal for one in threads[:messengers]] == goals
    assert len(threads) == messengers + cpus


def test_the_measured_time_is_what_is_left_of_warm_up_and_whole_periods() -> None:
    params = {**PARAMS, "warmup_ms": 10, "zero_ms": 40}
    assert schbench.plan_of(params, run()).measured == 10 * MS
    assert schbench.plan_of({**params, "zero_ms": 45}, run()).measured == 45 * MS
