# ruff: noqa: E501 - the lines of C are as long as they are
"""Lies of one worker that the sum of all does not show: its sleeps, its threads, its takes. Data only."""

from __future__ import annotations

from tests.lies.elsewhere import JUMP
from tests.lies.shorter import WRITES
from tests.lies.stand_ins import edited
from tests.lieskit import Trial

PAUSE = "        port_sleep_until(port_now() + length);"
REQUEST = """    pause_for(options->sleep_before);
    uint64_t begin = options->calibrate ? port_now() : due;
    do_math(me);
    if (!options->calibrate)
        pause_for(options->sleep_after);
"""
JOINED = """    port_sleep_until(port_now());
    uint64_t begin = options->calibrate ? port_now() : due;
    do_math(me);
    if (!options->calibrate)
        pause_for(options->sleep_before + options->sleep_after);
"""
OVERLAPPED = """    pause_for(options->sleep_before);
    uint64_t begin = options->calibrate ? port_now() : due, early = port_now();
    do_math(me);
    if (!options->calibrate)
        port_sleep_until(early + options->sleep_after);
"""
PARTLY = """    pause_for(options->sleep_before);
    uint64_t begin = options->calibrate ? port_now() : due;
    do_math(me);
    uint64_t early = port_now();
    for (volatile uint64_t k = 0; k < 10000; k++)
        continue;
    if (!options->calibrate)
        port_sleep_until(early + options->sleep_after);
"""


def _sleeps(how: str, *edits: tuple[str, str], file: str = "worker.h", **params: object) -> Trial:
    more = "".join(f"-{key}" for key in params)
    return Trial(f"schbench-sleeps-{how}{more}", "schbench", {file: edits}, {"time_ns": 60_000_000, **params})


A_TENTH_LESS = (PAUSE, PAUSE.replace("length", "length - length / 10"))
SPINS = (
    PAUSE,
    "        for (uint64_t end = port_now() + length; port_now() < end;)\n            port_yield();",
)
OWED = (
    (
        "    mailbox_post(&worker->box, now);\n}",
        "    mailbox_post(&worker->box, now);\n    owed += 2;\n}",
    ),
    ("static void answer(", "static unsigned owed;\n\nstatic void answer("),
    (
        "        publish_spent(me->state, me->thread);\n        if (over",
        "        for (; owed != 0; owed--)\n            port_sleep_until(port_now() + me->state->options.sleep_before);\n"
        "        publish_spent(me->state, me->thread);\n        if (over",
    ),
)
SLEEPS = (
    _sleeps("a-tenth-less", A_TENTH_LESS),
    _sleeps("joined", (REQUEST, JOINED)),
    _sleeps("within-the-arithmetic", (REQUEST, OVERLAPPED)),
    _sleeps("within-turns", (REQUEST, PARTLY)),
    _sleeps(
        "every-second-time",
        (PAUSE, "        port_sleep_until(port_now() + (odd++ % 2 ? 2 * length : 0));"),
        ("static void pause_for(", "static _Thread_local unsigned odd;\n\nstatic void pause_for("),
    ),
    _sleeps("a-tenth-less", A_TENTH_LESS, rps=2000),
    _sleeps("joined", (REQUEST, JOINED), rps=2000),
    _sleeps("a-tenth-less", A_TENTH_LESS, calibrate="on"),
    _sleeps("a-tenth-less", A_TENTH_LESS, threads=6),
    Trial(
        "schbench-sleeps-by-the-messenger",
        "schbench",
        {"worker.h": (SPINS,), "messenger.h": OWED},
        {"time_ns": 60_000_000},
    ),
)

SHARES = "        task[i] = (struct task){lo + share * i / live, lo + share * (i + 1) / live, 0};\n"
JOIN = "        if (port_task_join(started[i]) != 0)\n"
BEGIN = """        started[i] = port_task(run_task, &task[i]);
"""
TASKS = (
    edited(
        "two-of-four",
        "tasks",
        "tasks.c",
        (
            SHARES,
            "        task[i] = (struct task){i < 2 ? lo + share * i / 2 : lo + share, i < 2 ? lo + share * (i + 1) / 2 : lo + share, 0};\n",
        ),
        steps=20_000,
    ),
    edited(
        "in-pairs",
        "tasks",
        "tasks.c",
        (
            BEGIN,
            BEGIN
            + "        if (i % 2 != 0 && port_task_join(started[i - 1]) + port_task_join(started[i]) != 0)\n"
            "            started[i] = -1;\n",
        ),
        (JOIN, "        if (started[i] < 0)\n"),
        steps=20_000,
    ),
    edited(
        "three-of-four",
        "tasks",
        "tasks.c",
        (
            SHARES,
            "        task[i] = (struct task){i < 3 ? lo + share * i / 3 : lo + share, i < 3 ? lo + share * (i + 1) / 3 : lo + share, 0};\n",
        ),
        steps=20_000,
    ),
)

TAKES = """    uint64_t takes = 0, own = worker;
    for (;;) {
"""
LOCKED = (
    edited(
        "by-one-worker",
        "contend",
        "contend.c",
        (
            "static void work(struct bench_job *job, unsigned worker",
            "static struct bench_word all_done;\nstatic uint64_t others[2];\n\n"
            "static void work(struct bench_job *job, unsigned worker",
        ),
        (
            TAKES,
            """    uint64_t takes = 0, own = worker, turn = 0;
    others[1] = worker == 0 ? 1 : others[1];
    if (worker == 1) {
        bench_await(&all_done, 1);
        slot->value[VALUE_TAKES] = others[0];
        slot->value[VALUE_OWN] = others[1];
        return;
    }
    for (;; turn++) {
""",
        ),
        (
            "        takes++;\n        own = bench_turns(own, shared->delay);\n    }\n",
            """        if (turn % 2 == 0) {
            takes++;
            own = bench_turns(own, shared->delay);
        } else {
            others[0]++;
            others[1] = bench_turns(others[1], shared->delay);
        }
    }
    bench_post(&all_done, 1);
""",
        ),
        takes=1000,
    ),
    edited(
        "spins-and-writes",
        "contend",
        "contend.c",
        (
            "        port_wait(word, 2, 0);\n",
            "    {\n        static uint64_t spun[8];\n"
            "        for (unsigned k = 0; k < 250 && __atomic_load_n(word, __ATOMIC_ACQUIRE) == 2; k++)\n"
            f"            {WRITES}        port_wait(word, 2, 0);\n    }}\n",
        ),
        takes=1000,
        hold=2000,
        delay=100,
    ),
)

YIELDS = (
    edited(
        "yields",
        "stencil",
        "stencil.c",
        (
            "    bench_await(&halo->posted, step + 1);",
            "    for (unsigned k = 0; k < 4 && __atomic_load_n(&halo->posted.is, __ATOMIC_ACQUIRE) < step + 1; k++)\n"
            "        port_yield();\n    bench_await(&halo->posted, step + 1);",
        ),
        steps=60,
        rows=64,
    ),
    edited(
        "sleeps-briefly",
        "stencil",
        "stencil.c",
        (
            "    bench_await(&halo->posted, step + 1);",
            "    for (unsigned k = 0; k < 4 && __atomic_load_n(&halo->posted.is, __ATOMIC_ACQUIRE) < step + 1; k++)\n"
            "        port_sleep_until(port_now() + 1000);\n    bench_await(&halo->posted, step + 1);",
        ),
        steps=60,
        rows=64,
    ),
)

LEAP = JUMP.replace("    dummy(turns);\n", "").replace("jumped(", "leaped(")
TURNS = (
    edited(
        "a-tenth-of-the-spread",
        "service",
        "service.c",
        (
            "    return bench_turns(argument, cost_of(shared, argument));",
            "    uint64_t less = argument % shared->spread / 10;\n"
            "    return bench_turns(leaped(argument, less), cost_of(shared, argument) - less);",
        ),
        ("static uint64_t answer_to(", LEAP + "static uint64_t answer_to("),
        requests=500,
    ),
)

ALL = (*SLEEPS, *TASKS, *LOCKED, *YIELDS, *TURNS)
