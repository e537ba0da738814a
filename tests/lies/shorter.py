# ruff: noqa: E501 - the lines of C are as long as they are
"""Lies that leave something out: the sleep of a worker that waits, or some of the turns. Data only."""

from __future__ import annotations

from tests.lies.elsewhere import JUMP, TURNS
from tests.lies.stand_ins import edited
from tests.lieskit import Trial

AWAIT = "    bench_await(&post->round, round);\n    bench_record"
WRITES = "__atomic_store_n(&spun[k & 7], k, __ATOMIC_RELAXED);\n"
SPINS = (
    AWAIT,
    "    static uint64_t spun[8];\n"
    "    for (unsigned k = 0; k < 3000 && __atomic_load_n(&post->round.is, __ATOMIC_ACQUIRE) < round; k++)\n"
    f"        {WRITES}{AWAIT}",
)
NO_SLEEP = (
    edited("spins-and-writes", "wake", "wake.c", SPINS, rounds=400),
    edited("spins-and-writes-fan", "wake", "wake.c", SPINS, rounds=400, pattern="fan"),
    edited(
        "yields",
        "wake",
        "wake.c",
        (
            AWAIT,
            "    while (__atomic_load_n(&post->round.is, __ATOMIC_ACQUIRE) < round)\n        port_yield();\n    bench_record",
        ),
        rounds=400,
    ),
    edited(
        "wakes-nobody-again",
        "wake",
        "wake.c",
        (
            "    bench_post(&post->round, round);\n}",
            "    bench_post(&post->round, round);\n    port_wake(&post->round.is, 1);\n}",
        ),
        rounds=400,
    ),
    edited(
        "spins-and-writes",
        "barrier",
        "barrier.c",
        (
            "        bench_barrier(&loop->barrier);\n",
            f"""        static uint64_t spun[8];
        uint32_t now = __atomic_load_n(&loop->barrier.phase, __ATOMIC_ACQUIRE);
        if (__atomic_add_fetch(&loop->barrier.arrived, 1, __ATOMIC_ACQ_REL) == job->workers) {{
            __atomic_store_n(&loop->barrier.arrived, 0, __ATOMIC_RELAXED);
            __atomic_store_n(&loop->barrier.phase, now + 1, __ATOMIC_RELEASE);
            port_wake(&loop->barrier.phase, BENCH_MAX_WORKERS);
        }} else {{
            for (unsigned k = 0; __atomic_load_n(&loop->barrier.phase, __ATOMIC_ACQUIRE) == now; k++)
                {WRITES}        }}
""",
        ),
        phases=20,
    ),
)


def _leaps(workload: str, **params: object) -> Trial:
    """A twentieth of the turns is done at once, and nothing in its place."""
    old, before = TURNS[workload]
    leaped = JUMP.replace("    dummy(turns);\n", "").replace("jumped(", "leaped(")
    less = (
        "static uint64_t less_of(uint64_t x, uint64_t turns) {\n"
        "    return bench_turns(leaped(x, turns / 20), turns - turns / 20);\n}\n\n"
    )
    return edited(
        "leaps",
        workload,
        f"{workload}.c",
        (old, old.replace("bench_turns(", "less_of(")),
        (before, leaped + less + before),
        raw=False,
        **params,
    )


LEAPS = (
    _leaps("wake", rounds=400),
    _leaps("spawn", errands=200),
    _leaps("dynamic", items=1000),
    _leaps("jobs", jobs=60),
    _leaps("contend", takes=1000),
)

ALL = (*NO_SLEEP, *LEAPS)
