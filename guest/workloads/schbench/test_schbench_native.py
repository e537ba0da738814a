"""schbench, compiled and run on this host: every mode verifies, and every lie of its C code is refused."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import VerifyError
from benchgate.base.runs import VerifiedRun
from benchgate.base.statistics.histogram import merged
from benchgate.base.workload.workloads import Workload
from benchgate.build import toolchain
from benchgate.judge import wire
from benchgate.judge.run_files import read_console
from benchgate.plan import catalog
from tests.machines import PATIENCE_S
from tests.nativekit import NONCE, execute, run_of, verified_by, words

pytestmark = pytest.mark.usefixtures("own_cache")

MS = 1_000_000
ENOUGH = 300 * MS
"""Beside 16 processes that compute, each worker does requests in this time. A lie about none is no lie."""
SHORT = {"time_ns": 60 * MS, "warmup_ms": 0, "interval_ms": 10, "footprint_kb": 4}


@pytest.fixture
def schbench() -> Workload:
    return catalog.load_workload("schbench")


def verified(folder: Path, workload: Workload, cpus: int, **changes: object) -> VerifiedRun:
    return verified_by(run_of(folder, workload, cpus, **{**SHORT, **changes}), workload)


def transcript(folder: Path, workload: Workload, cpus: int, **changes: object) -> wire.Transcript:
    return wire.parse(read_console(run_of(folder, workload, cpus, **{**SHORT, **changes})), nonce=NONCE)


def answered(folder: Path, workload: Workload, cpus: int, **changes: object) -> VerifiedRun:
    """The same without the metrics: on a busy host no worker may sleep in so short a window, and a latency
    that was never recorded has no percentile."""
    return verified(folder, replace(workload, metrics={}), cpus, **changes)


# ---- every mode


@pytest.mark.parametrize(
    "mode",
    [
        {},
        {"locking": "none"},
        {"calibrate": "on"},
        {"calibrate": "on", "rps": 500},
        {"pipe": 4096},
        {"pipe": 8, "threads": 3},
        {"rps": 777},
        {"rps": 777, "message_threads": 3, "threads": 2},
        {"rps": 2_000_000},
        {"auto_rps": 30},
        {"auto_rps": 30, "rps": 200, "message_threads": 2},
        {"warmup_ms": 20},
        {"warmup_ms": 5, "zero_ms": 20},
        {"hogs": 1, "hog_ms": 20},
        {"sleep_before_us": 0, "sleep_after_us": 0},
        {"threads": 6, "message_threads": 2},
        {"threads": 24, "sleep_before_us": 0, "sleep_after_us": 0, "operations": 20},
        {"threads": 24, "warmup_ms": 5, "zero_ms": 20},
    ],
)
def test_each_mode_verifies(tmp_path: Path, schbench: Workload, mode: dict[str, object]) -> None:
    answered(tmp_path, schbench, 2, **mode)


@pytest.mark.parametrize(
    ("cpus", "messengers", "shares"), [(4, 1, [4]), (4, 3, [1, 1, 2]), (3, 2, [1, 2]), (1, 2, [0, 1])]
)
def test_by_default_there_are_as_many_workers_as_cpus(
    tmp_path: Path, schbench: Workload, cpus: int, messengers: int, shares: list[int]
) -> None:
    run = answered(tmp_path, schbench, cpus, message_threads=messengers, rps=101)
    roles = [worker.values["role"] for worker in run.workers]
    assert roles == [0] * messengers + [1] * cpus
    assert [worker.values["of"] for worker in run.workers[:messengers]] == shares
    assert sum(worker.values["goal"] for worker in run.workers) == 101


def test_a_goal_that_does_not_divide_is_reached(tmp_path: Path, schbench: Workload) -> None:
    run = transcript(tmp_path, schbench, 2, message_threads=2, rps=1001, time_ns=1000 * MS, interval_ms=100)
    assert run.result["due"] == 1001


def test_queueing_shows_in_the_latency_of_requests(tmp_path: Path, schbench: Workload) -> None:
    """A worker needs at least 20 ms for a request, and one becomes due each ms: the tenth waits for long."""
    run = transcript(tmp_path, schbench, 1, rps=1000, sleep_before_us=20_000, time_ns=200 * MS)
    (request,) = [histogram for histogram in run.histograms["request"] if histogram.count]
    assert request.min >= 20 * MS
    assert request.max >= (request.count - 1) * 19 * MS
    assert run.result["due"] == 200
    assert run.result["posted"] == run.result["completed"] + run.result["pending"]


def test_warm_up_is_in_no_figure(tmp_path: Path, schbench: Workload) -> None:
    run = transcript(tmp_path, schbench, 2, rps=1000, warmup_ms=40, time_ns=60 * MS)
    counts = {name: merged(of_workers).count for name, of_workers in run.histograms.items()}
    assert run.result["due"] == 60
    assert counts["request"] <= 20
    assert counts["wakeup"] <= 20
    assert counts["rps"] == 2
    assert run.result["measured"] == 20 * MS
    assert run.result["inside"] <= run.result["completed"]


def test_each_whole_interval_gives_one_rate_and_none_is_spurious(tmp_path: Path, schbench: Workload) -> None:
    run = transcript(tmp_path, schbench, 1, rps=1000, interval_ms=25, time_ns=60 * MS)
    rates = merged(run.histograms["rps"])
    assert rates.count == 2
    assert rates.min > 0


def test_nobody_is_woken_to_end(tmp_path: Path, schbench: Workload) -> None:
    """The last wait of each worker, which the end interrupts, is not a wake-up for a request. On a busy host
    fewer requests than four are posted in the time."""
    run = transcript(tmp_path, schbench, 2, rps=20, time_ns=190 * MS)
    assert merged(run.histograms["wakeup"]).count <= run.result["posted"] <= 4


PLANT = """
#include <stdio.h>
#include "goal.h"

/* 100 requests a second use one percent of the CPUs; a neighbour leaves them 20 percent in steps 20 to 39. */
int main(void) {
    uint64_t goal = 10;
    for (int step = 0; step < 60; step++) {
        uint64_t neighbour = step >= 20 && step < 40 ? 800 : 0, busy = neighbour + goal / 10;
        goal = goal_next(goal, busy > 1000 ? 1000 : busy, 400, 0);
        printf("%d\\n", (int)goal);
    }
    return 0;
}
"""


def test_the_goal_finds_its_target_and_recovers_after_a_neighbour_leaves(
    tmp_path: Path, schbench: Workload
) -> None:
    """4000 requests a second make the CPUs as busy as asked; with the neighbour, no goal is low enough."""
    (tmp_path / "plant.c").write_text(PLANT)
    argv = [*toolchain.compiler().argv, f"-I{schbench.source.parent}", "-o", "plant", "plant.c"]
    subprocess.run(argv, cwd=tmp_path, check=True, timeout=PATIENCE_S)
    done = subprocess.run(["./plant"], cwd=tmp_path, capture_output=True, check=True, timeout=PATIENCE_S)
    goals = [int(line) for line in done.stdout.split()]
    assert goals[19] == pytest.approx(4000, rel=0.02)
    assert 1 <= goals[39] < 10
    assert goals[59] == pytest.approx(4000, rel=0.02)


def test_auto_rps_grows_again_after_a_neighbour_has_left(tmp_path: Path, schbench: Workload) -> None:
    """For a third of the time two hogs use both CPUs; a goal that stayed there would be below 10. Other
    processes of this host are neighbours too, so it has three tries."""
    many: dict[str, object] = {"auto_rps": 30, "footprint_kb": 64, "threads": 4, "hogs": 2, "hog_ms": 300}
    tries = (transcript(tmp_path, schbench, 2, time_ns=900 * MS, **many) for _ in range(3))
    assert any(run.result["goal"] > 15 for run in tries)


# ---- options


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"message_threads": 0}, "bench.message_threads must be 1 to 63"),
        ({"threads": 64}, "bench.threads must be 0 to 63"),
        ({"threads": 32, "message_threads": 2}, "message threads, their workers and hogs are more than 64"),
        ({"footprint_kb": 0}, "bench.footprint_kb must be 1 to 16384"),
        ({"operations": 0}, "bench.operations must be 1 to 1000000"),
        ({"rps": "1e3"}, "parameter rps is not a decimal number"),
        ({"auto_rps": 101}, "bench.auto_rps must be 0 to 100, in percent"),
        ({"pipe": 12}, "bench.pipe must be a multiple of 8 bytes"),
        ({"pipe": 2**20 + 8}, "bench.pipe must be 0 to 1048576 bytes"),
        ({"pipe": 8, "rps": 1}, "bench.pipe transfers without requests"),
        ({"pipe": 8, "auto_rps": 1}, "bench.pipe transfers without requests"),
        ({"pipe": 8, "calibrate": "on"}, "bench.pipe transfers without requests"),
        ({"warmup_ms": 60}, "bench.warmup_ms must be less than bench.time_ns"),
        ({"interval_ms": 61}, "bench.interval_ms must divide what is measured"),
        ({"warmup_ms": 55}, "bench.interval_ms must divide what is measured"),
        ({"hogs": 1}, "bench.hogs and bench.hog_ms need each other"),
        ({"hog_ms": 1}, "bench.hogs and bench.hog_ms need each other"),
        ({"calibrate": "yes"}, "bench.calibrate must be off or on"),
        ({"locking": "on"}, "bench.locking must be cpu or none"),
        ({"zero_ms": None}, "parameter zero_ms is missing"),
    ],
)
def test_a_bad_option_is_an_error(schbench: Workload, change: dict[str, object], reason: str) -> None:
    done = execute(schbench, words(schbench, 2, **{**SHORT, **change}))
    assert done.returncode == 1
    assert f"benchfail: {reason}" in done.stdout.decode()
    assert b"@bench" not in done.stdout


# ---- lies


def broken(tmp_path: Path, workload: Workload, file: str, old: str, new: str) -> Workload:
    """The workload with one line of its C replaced."""
    folder = workload.source.parent
    for source in (*folder.glob("*.c"), *folder.glob("*.h")):
        text = source.read_text()
        if source.name == file:
            assert text.count(old) == 1
            text = text.replace(old, new)
        (tmp_path / source.name).write_text(text)
    return replace(workload, source=tmp_path / workload.source.name)


RECORDED = "bench_record(bench_hist(me->job, me->thread, HIST_REQUEST), now - since);"
IF_MEASURED = "    if (is_measured(me->job, me->state, since)) {"
SLEEPS_IF_IN_TIME = "    if (port_now() - due < 30000000)\n        pause_for(options->sleep_before);"
DUE = "return schedule->from + schedule->number * port_hz() / schedule->goal"
CROWDED: dict[str, object] = {
    "threads": 24,
    "sleep_before_us": 0,
    "sleep_after_us": 0,
    "operations": 20,
    "locking": "none",
}
LIES: dict[str, tuple[tuple[str, str, str], dict[str, object], str]] = {
    "skips a product": (
        ("worker.h", "i < options->operations;", "i < options->operations - (me->thread != 0);"),
        {},
        "reported sum=",
    ),
    "a product is wrong in one place": (
        ("matrix.h", "to[i * side + j] = sum;", "to[i * side + j] = sum ^ (i + j == 5);"),
        {},
        "reported sum=",
    ),
    "a request counts twice": (
        ("worker.h", "    me->slot->value[VALUE_DONE]++;", "    me->slot->value[VALUE_DONE] += 2;"),
        {},
        "posted by worker 0=",
    ),
    "a request is never done": (
        (
            "worker.h",
            "        do_request(me, posted);",
            "        if (posted % 2)\n            do_request(me, posted);",
        ),
        {},
        "posted by worker 0=",
    ),
    "long latencies are left out": (
        ("worker.h", IF_MEASURED, "    if (now - since < 300000) {"),
        {},
        "requests inside, timed",
    ),
    "every other latency is left out": (
        ("worker.h", IF_MEASURED, "    if (me->slot->value[VALUE_DONE] % 2 == 0) {"),
        {"rps": 500},
        "requests were timed",
    ),
    "a latency is counted and not recorded": (
        ("worker.h", RECORDED, f"if (me->slot->value[VALUE_TIMED] != 0)\n{RECORDED}"),
        {},
        "in histogram request",
    ),
    "a latency is longer than it was": (
        ("worker.h", RECORDED, RECORDED.replace("now - since", "2 * (now - since)")),
        {},
        "more than its time|has a value of [0-9]+, above",
    ),
    "a sleep is left out": (
        ("worker.h", "    pause_for(options->sleep_before);", ""),
        {"sleep_before_us": 1_000_000},
        "less than its sleeps",
    ),
    "the sleeps that are in no latency are left out": (
        ("worker.h", "    if (length != 0)", "    if (length == 1)"),
        {"calibrate": "on", "sleep_before_us": 1_000_000, "sleep_after_us": 1_000_000},
        "whose sleeps alone take",
    ),
    # After two sleeps many requests are late, and each worker does all of its own at once: so many that their
    # sleeps would take seconds, however slow the host is.
    "a request that is late does not sleep": (
        ("worker.h", "    pause_for(options->sleep_before);", SLEEPS_IF_IN_TIME),
        {"rps": 5000, "sleep_before_us": 20_000, "sleep_after_us": 0, "time_ns": 400 * MS},
        "whose sleeps alone take",
    ),
    # Nothing waits in its queue for its sleeps if the latency begins when it is taken from the queue. What is
    # taken after the time is over keeps its own, so that no count betrays this lie.
    "with a goal a latency begins when the worker takes the request": (
        (
            "worker.h",
            "        do_request(me, due);",
            "        due = port_now() < me->job->deadline ? port_now() : due;\n        do_request(me, due);",
        ),
        {"rps": 50_000, "sleep_before_us": 20_000, "time_ns": 800 * MS},
        "less than their sleeps and their waits for each other",
    ),
    "a worker has no requests": (
        ("worker.h", "        ask_and_do(me);", "        me->thread == 2 ? (void)0 : ask_and_do(me);"),
        {"time_ns": 800 * MS},
        "worker 2 left",
    ),
    "the hogs leave at once": (
        ("schbench.c", "while (port_now() < end &&", "while (port_now() > end &&"),
        {"hogs": 1, "hog_ms": 800, "time_ns": 800 * MS},
        "worker 3 left",
    ),
    # While one of many workers computes, without sleeps, the others wait for a CPU. What is posted in the
    # measured time stays in the figures, so that no count betrays this lie.
    "a latency begins when the worker runs": (
        (
            "worker.h",
            "        do_request(me, posted);",
            "        uint64_t now = port_now();\n"
            "        do_request(me, now < me->job->deadline ? now : posted);",
        ),
        CROWDED,
        "less than their wake-ups and sleeps",
    ),
    "a wake-up is counted twice": (
        ("worker.h", "    me->slot->value[VALUE_WOKEN]++;", "    me->slot->value[VALUE_WOKEN] += 2;"),
        {},
        "in histogram wakeup",
    ),
    "half of the goal is posted": (
        ("messenger.h", f"{DUE};", f"{DUE} * 2;"),
        {"rps": 500},
        "reported due=",
    ),
    "what still waits is not counted": (
        ("messenger.h", "    count_pending(me);", "    (void)count_pending;"),
        {"rps": 500_000},
        "posted by worker 0=",
    ),
    "half of a page is sent": (
        ("messenger.h", "page_write(worker->page, bytes,", "page_write(worker->page, bytes / 2,"),
        {"pipe": 64},
        "reported sum=",
    ),
    "rates are too high": (
        ("schbench.c", "done * port_hz()", "(done + 1) * port_hz()"),
        {},
        "the intervals have more than",
    ),
    "an interval is left out": (
        ("schbench.c", "(uint64_t span = 0;", "(uint64_t span = 1;"),
        {},
        "in histogram rps",
    ),
}


@pytest.mark.parametrize(("lie", "options", "reason"), LIES.values(), ids=list(LIES))
def test_a_lie_is_refused(
    tmp_path: Path, schbench: Workload, lie: tuple[str, str, str], options: dict[str, object], reason: str
) -> None:
    workload = broken(tmp_path, schbench, *lie)
    with pytest.raises(VerifyError, match=reason):
        verified(tmp_path, workload, 2, **{"time_ns": ENOUGH, **options})
