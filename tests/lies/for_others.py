# ruff: noqa: E501 - the lines of C are as long as they are
"""Lies that a sum does not show: work that one worker does for another, operations beside those that are timed,
waits that do not sleep. Data only."""

from __future__ import annotations

from tests.lies.by_worker import LOCKED
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
HASHED = """    for (uint64_t block = lo; block < hi; block++) {
        uint64_t hash = block;
        for (uint64_t round = 0; round < rounds; round++)
            hash = xxh64_block(data + block * BLOCK_WORDS, hash);
        hashes[block] = hash;
"""
HELPED = """    for (uint64_t block = blocks * worker / job->workers; block < blocks * (worker + 1) / job->workers; block++) {
        uint64_t hash = block;
        for (uint64_t round = 0; round < rounds; round++)
            hash = xxh64_block(data + block * BLOCK_WORDS, hash);
        __atomic_store_n(&hashes[block], hash, __ATOMIC_RELEASE);
    }
    for (uint64_t block = lo; block < hi; block++) {
        while (__atomic_load_n(&hashes[block], __ATOMIC_ACQUIRE) == ~0ull)
            bench_relax();
        uint64_t hash = hashes[block];
"""
"""All workers hash the blocks of the first one."""
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
    edited("helped", "checksum", "checksum.c", (HASHED, HELPED), blocks=4096, rounds=16, split="one"),
    edited("credited-by-turns", "dynamic", "dynamic.c", *CREDITED, items=1000),
    edited(
        "by-one-worker-spinning",
        "contend",
        "contend.c",
        *LOCKED[0].edits["contend.c"],
        takes=1000,
        lock="spin",
    ),
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
    edited(
        "half-is-not-timed-of-files",
        "micro",
        "micro.c",
        (
            TIMED,
            "        for (uint64_t k = 0; k < now / 2; k++) {\n            char byte = 0;\n"
            "            *good += port_write(me->file, &byte, 1) == 1;\n        }\n" + HALF,
        ),
        op="write_null",
        iters=100,
    ),
)
"""The operations are made, and half of them while no time is taken."""

INPUT = "        bench_await(&graph->target[input_of(graph, job, input)].built, 1);\n"
BUILT = "__atomic_load_n(&graph->target[input_of(graph, job, input)].built.is, __ATOMIC_ACQUIRE)"
TABLE = "    bench_await(&from->posted, 1);\n"
POSTED = "__atomic_load_n(&from->posted.is, __ATOMIC_ACQUIRE)"
WRITES = "    {\n        static uint64_t spun[8];\n        for (unsigned k = 0; {word} < 1; k++)\n            __atomic_store_n(&spun[k & 7], k, __ATOMIC_RELAXED);\n    }\n"
NO_SLEEP = (
    edited(
        "by-spinning",
        "jobs",
        "jobs.c",
        (INPUT, f"        while ({BUILT} < 1)\n            bench_relax();\n"),
        jobs=60,
    ),
    edited(
        "yields",
        "jobs",
        "jobs.c",
        (INPUT, f"        while ({BUILT} < 1)\n            port_yield();\n"),
        jobs=60,
    ),
    edited("spins-and-writes", "jobs", "jobs.c", (INPUT, WRITES.replace("{word}", BUILT)), jobs=60),
    edited(
        "by-spinning",
        "mapreduce",
        "mapreduce.c",
        (TABLE, f"    while ({POSTED} < 1)\n        bench_relax();\n"),
        words=10_000,
    ),
)

ALL = (*FOR_OTHERS, *BESIDE, *NO_SLEEP)
