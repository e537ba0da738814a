# ruff: noqa: E501 - the lines of C are as long as they are
"""Lies that a sum does not show: work that one worker does for another, operations beside those that are timed,
waits that do not sleep. Data only."""

from __future__ import annotations

from tests.lies.elsewhere import JUMP
from tests.lies.stand_ins import edited

LEAPED = JUMP.replace("    dummy(turns);\n", "").replace("jumped(", "leaped(")

TURNS = """        x = bench_turns(x, share);
        loop->value[phase % 2][worker].is = x;
        fold = bench_fold(fold, x);
"""
EVEN = """        if (job->workers == 2) {
            uint64_t theirs = loop->value[(phase + 1) % 2][0].is + loop->value[(phase + 1) % 2][1].is + (1 - worker);
            uint64_t other = turns_of(job, phase, 1 - worker), half = (share + other) / 2;
            if (share <= half) {
                x = bench_turns(x, share);
                loop->value[phase % 2][worker].is = x;
                if (other > half)
                    loop->value[phase % 2][1 - worker].is = bench_turns(leaped(theirs, half), other - half);
            } else {
                volatile uint64_t made = bench_turns(x, half);
                (void)made;
                x = leaped(x, share);
            }
        } else {
            x = bench_turns(x, share);
            loop->value[phase % 2][worker].is = x;
        }
        fold = bench_fold(fold, x);
"""
"""Of two workers the one with the smaller share makes the last turns of the other one."""
CREDITED = (
    (
        "        items++;\n        turns += cost;\n        sum += answer;\n",
        "        uint64_t *credited = job->slot[item % job->workers].value;\n"
        "        __atomic_fetch_add(&credited[VALUE_ITEMS], 1, __ATOMIC_RELAXED);\n"
        "        __atomic_fetch_add(&credited[VALUE_TURNS], cost, __ATOMIC_RELAXED);\n"
        "        __atomic_fetch_add(&credited[VALUE_SUM], answer, __ATOMIC_RELAXED);\n",
    ),
    (
        "    slot->value[VALUE_ITEMS] = items;\n    slot->value[VALUE_TURNS] = turns;\n    slot->value[VALUE_SUM] = sum;\n",
        "    (void)slot, (void)items, (void)turns, (void)sum;\n",
    ),
)
"""Who did an item is not who says so."""
FOR_OTHERS = (
    edited(
        "even-shares",
        "barrier",
        "barrier.c",
        (TURNS, EVEN),
        ("static uint64_t weight(", LEAPED + "static uint64_t weight("),
        phases=20,
    ),
    edited("credited-by-turns", "dynamic", "dynamic.c", *CREDITED, items=1000),
)

TIMED = "        uint64_t began = port_now();\n        *good += op->run(me, now);\n"
HALF = "        uint64_t half = now / 2, began = port_now();\n        *good += op->run(me, now - half);\n"
BESIDE = (
    edited(
        "half-is-not-timed",
        "micro",
        "micro.c",
        (
            TIMED,
            "        for (uint64_t k = 0; k < now / 2; k++)\n            *good += port_process() == me->expected;\n"
            + HALF,
        ),
        op="getpid",
        iters=100,
    ),
)
"""The operations are made, and half of them while no time is taken."""

INPUT = "        bench_await(&graph->target[input_of(graph, job, input)].built, 1);\n"
BUILT = "__atomic_load_n(&graph->target[input_of(graph, job, input)].built.is, __ATOMIC_ACQUIRE)"
NO_SLEEP = (
    edited(
        "by-spinning",
        "jobs",
        "jobs.c",
        (INPUT, f"        while ({BUILT} < 1)\n            bench_relax();\n"),
        jobs=60,
    ),
)

ALL = (*FOR_OTHERS, *BESIDE, *NO_SLEEP)
