"""The C of the parallel patterns, run on this host: right answers, and lies that their oracles refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nativekit import Lie, expect_refused, expect_right

pytestmark = pytest.mark.usefixtures("own_cache")

CASES: list[tuple[str, dict[str, object]]] = [
    ("dynamic", {}),
    ("dynamic", {"skew": 0}),
    ("barrier", {}),
    ("mapreduce", {}),
    ("service", {"route": "own"}),
    ("service", {"route": "spread"}),
    ("contend", {"lock": "park"}),
    ("contend", {"lock": "spin"}),
    ("wake", {"pattern": "pong"}),
    ("wake", {"pattern": "fan"}),
    ("spawn", {"kind": "thread"}),
    ("spawn", {"kind": "process", "live": 3}),
    ("stencil", {}),
]


@pytest.mark.parametrize("cpus", [1, 2, 3, 6])
@pytest.mark.parametrize(("name", "change"), CASES)
def test_every_worker_gives_the_correct_answer(
    tmp_path: Path, name: str, change: dict[str, object], cpus: int
) -> None:
    expect_right(tmp_path, name, change, cpus)


LIES = [
    # an item that nobody does, one done twice, one done for less
    Lie("dynamic", "items++;", "items += item != 7;", "the sum of all workers reported items=299"),
    Lie("dynamic", "->done[item], 1,", "->done[item], item != 7,", "the result reported lost=1"),
    Lie("dynamic", "->done[item], 1,", "->done[item], 1 + (item == 3),", "the result reported twice=1"),
    Lie("dynamic", "(&queue->next))", "(&queue->next) - (queue->next == 40))", "the result reported lost=1"),
    Lie("dynamic", "(random, cost)", "(random, cost - (item == 9))", "the result reported fold="),
    # turns that are credited to another worker, so that the sum stays right
    Lie(
        "dynamic",
        "VALUE_TURNS] = turns;",
        "VALUE_TURNS] = turns + (worker == 0 ? -1000000ull : 1000000);",
        r"reported turns=\d+, but",
    ),
    # a phase without work, with an old value, without a barrier
    Lie("barrier", "bench_turns(x, share)", "bench_turns(x, phase == 3 ? 0 : share)", "worker"),
    Lie("barrier", "[worker].is = x", "[worker].is = phase == 3 ? 0 : x", "worker"),
    Lie("barrier", "bench_barrier(&loop->barrier);", "(void)0;", "worker"),
    # the last phase ends without a barrier, which no later phase shows
    Lie(
        "barrier",
        "        bench_barrier(&loop->barrier);",
        "        if (done < loop->phases)\n            bench_barrier(&loop->barrier);",
        "the result reported phases=11",
    ),
    # a word that is skipped, one in the wrong bucket, a table that is not merged
    Lie("mapreduce", "i = job->task[worker][TASK_LO]", "i = job->task[worker][TASK_LO] + worker", "worker 1"),
    Lie("mapreduce", "count[key >> (64 - BUCKET_BITS)]++", "count[i == 5]++", "the result reported fold="),
    Lie("mapreduce", "merge(mine, &", "if (data->grain == 0)\n                merge(mine, &", "the result"),
    # a reply that is not computed, one to another request, a latency that is dropped or made up
    Lie(
        "service",
        "message.argument);\n        served++",
        "message.number);\n        served++",
        "worker 0",
    ),
    Lie("service", ".argument = bench_mix(i)", ".argument = bench_mix(i + (i == 9))", "worker 0"),
    Lie("service", ".client = worker, .number = i,", ".client = worker, .number = i + 1,", "wrong=60"),
    Lie("service", "bench_record(latency,", "if (calls != 3)\n bench_record(latency,", "histogram"),
    Lie("service", "port_now() - began", "port_now() - began + 60000000000", "histogram"),
    # a lost turn inside and outside of the lock, a take that counts twice
    Lie("contend", "->count++;", "->count += 1 + (shared->count == 7);", "the result reported chain="),
    Lie("contend", "->chain, shared->hold)", "->chain, shared->hold - (takes == 3))", "reported chain="),
    Lie("contend", "own = bench_turns(own, shared->delay);", "(void)0;", "worker"),
    # a lock that admits two. A section of a million turns takes about a millisecond, so two workers are in it
    # at once, or on one CPU one loses the CPU in it, long before there were 200
    *(
        Lie(
            "contend",
            "static void take(struct shared *shared) {\n",
            "static void take(struct shared *shared) {\n    if (shared->takes != 0)\n        return;\n",
            "the result reported chain=|the sum of all workers reported takes=",
            {"lock": lock, "takes": 200, "hold": 1_000_000},
        )
        for lock in ("park", "spin")
    ),
    # a number that is not turned, a wake-up that is not recorded or made up
    Lie("wake", "number = bench_turns(number, shared->turns);", "(void)0;", "worker 0"),
    Lie("wake", "bench_turns(number + worker, share)", "number + worker", "worker 0", {"pattern": "fan"}),
    Lie("wake", "bench_record(wakeup,", "if (round != 3)\n        bench_record(wakeup,", "histogram"),
    Lie("wake", "port_now() - post->when", "port_now() - post->when + 60000000000", "histogram"),
    # an errand that is not done, done twice, not waited for, done by the worker itself
    Lie("spawn", "+= errand->asked;", "+= errand->number != 7;", "the result reported lost=1"),
    Lie("spawn", "+= errand->asked;", "+= 1 + (errand->number == 7);", "the result reported twice=1"),
    # the next errand as well, for which a thread is created that does nothing
    Lie(
        "spawn",
        "    run_errand(argument);",
        "    struct errand *errand = argument;\n"
        "    for (unsigned i = 0; errand->number % 2 == 0 && i < 2; i++)\n"
        "        run_errand(&errand[i]);",
        "the result reported lost=60",
        {"errands": 120},
    ),
    Lie(
        "spawn",
        "join(shared, started[i]);",
        "if (shared->errand[at].number == 29)\n                join(shared, started[i]);",
        "worker",
        {"grain": 1_000_000},
    ),
    Lie(
        "spawn",
        "int number =\n",
        "if (shared->threads)\n"
        "        return run_errand(errand), port_task((void (*)(void *))port_yield, errand);\n"
        "    int number =\n",
        "worker 0 reported elsewhere=0",
    ),
    Lie(
        "spawn",
        "int number =\n",
        "if (!shared->threads)\n        process_body((uint64_t)errand);\n    int number =\n",
        "worker 0 reported elsewhere=0",
        {"kind": "process"},
    ),
    # a halo that is not taken over, a cell that is wrong, a row that is skipped
    Lie("stencil", "copy_row(row, halo->row[step % 2]);", "(void)row;", "worker 0 reported fold="),
    Lie("stencil", "5 * (cell[c]", "(c == 9 ? 4 : 5) * (cell[c]", "worker 0 reported fold="),
    Lie(
        "stencil",
        "for (uint64_t row = 1; row <= rows; row++) {",
        "for (uint64_t row = 2; row <= rows; row++) {",
        "worker 0 reported cells=",
    ),
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: f"{lie.workload}-{lie.params.get('lock', '')}{lie.new}")
def test_a_lie_is_found(tmp_path: Path, lie: Lie) -> None:
    expect_refused(tmp_path, lie)
