# ruff: noqa: E501 - the lines of C are as long as they are
"""Lies that were told after the rules were made, each of a kind of its own. Data only."""

from __future__ import annotations

from tests.lies.cheap import THREE
from tests.lies.elsewhere import JUMP, SERVED
from tests.lies.stand_ins import edited
from tests.lieskit import Trial

RECORDED = "bench_record(latency, port_now() - began);"
LATENCY = "struct bench_hist *latency = bench_hist(job, worker, HIST_LATENCY);"
MUST = "static void must("
TAIL = """
static uint64_t kept;

// Only long values are shown as shorter ones; the last one has the rest.
static uint64_t without_tail(uint64_t value, int last) {
    uint64_t shown = value > 19000 ? value - value / 8 : value;
    kept += value - shown;
    return last ? value + kept : shown;
}

"""
ENDS = "i + 1 == job->task[worker][TASK_HI]"
HISTOGRAMS = (
    edited(
        "one-tail",
        "service",
        "service.c",
        (RECORDED, f"bench_record(latency, without_tail(port_now() - began, {ENDS}));"),
        (MUST, TAIL + MUST),
        requests=500,
    ),
    edited(
        "one-tail",
        "sockets",
        "sockets.c",
        (RECORDED, f"bench_record(latency, without_tail(port_now() - began, {ENDS}));"),
        (MUST, TAIL + MUST),
        requests=200,
    ),
    edited(
        "one-for-another",
        "service",
        "service.c",
        (LATENCY, LATENCY.replace("(job, worker,", "(job, worker ^ 1,")),
        requests=500,
    ),
    edited(
        "reply-before-work",
        "service",
        "service.c",
        (
            "        message.answer = answer_to(shared, message.argument);\n        served++;\n        sum += message.answer;\n"
            "        must(port_send(shared->channel[message.client], &message, sizeof message));\n",
            "        served++;\n        must(port_send(shared->channel[message.client], &message, sizeof message));\n",
        ),
        (
            "        bench_record(latency, port_now() - began);\n",
            "        bench_record(latency, port_now() - began);\n        message.answer = answer_to(shared, message.argument);\n"
            "        job->slot[server].value[VALUE_SERVED_ANSWERS] += message.answer;\n",
        ),
        (SERVED[0], SERVED[1]),
        requests=500,
        grain=20_000,
    ),
    edited(
        "time-halved",
        "micro",
        "micro.c",
        ("        slot->value[VALUE_TIME] += time;\n", "        slot->value[VALUE_TIME] += time / 2;\n"),
        op="pipe",
        iters=100,
    ),
    edited(
        "more-in-a-sample",
        "micro",
        "micro.c",
        ('{"iters", common->iters, 0}', '{"iters", 2 * common->iters, 0}'),
        op="pipe",
        iters=100,
    ),
    edited(
        "shorter-measured",
        "schbench",
        "schbench.c",
        ('{"measured", state->options.measured, 0}', '{"measured", state->options.measured / 2, 0}'),
        time_ns=60_000_000,
    ),
    edited(
        "warm-up-counted",
        "schbench",
        "worker.h",
        (
            "    if (!is_measured(me->job, me->state, when))\n        return;\n    me->slot->value[VALUE_INSIDE]++;\n",
            "    me->slot->value[VALUE_INSIDE]++;\n    if (!is_measured(me->job, me->state, when))\n        return;\n",
        ),
        time_ns=60_000_000,
    ),
)

LATER = """static uint64_t found[BENCH_MAX_WORKERS];
static int other;
static struct bench_job *of_job;
static unsigned of_worker;

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot);

static void later(void *argument) {
    (void)argument;
    work(of_job, of_worker, &of_job->slot[of_worker]);
}

static void starts(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)slot, (void)found;
    of_job = job, of_worker = worker;
    other = port_task(later, NULL);
}

static void joins(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)job, (void)worker, (void)slot;
    if (port_task_join(other) != 0)
        port_fail("no");
}

"""


def _by_another_thread(workload: str, **params: object) -> Trial:
    """The window is over as soon as another thread has begun with the work."""
    before = "static unsigned result("
    return edited(
        "by-another-thread",
        workload,
        f"{workload}.c",
        (before, LATER + before),
        ("    .work = work,\n", "    .work = starts,\n    .after = joins,\n"),
        raw=False,
        **params,
    )


ELSEWHERE = (_by_another_thread("primes", hi=100_000),)

SPIN_PARK = (
    "    uint32_t *word = &shared->park.is, is = 0;\n",
    "    uint32_t *word = &shared->park.is, is = 0;\n    while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE) != 0)\n"
    "        while (__atomic_load_n(word, __ATOMIC_RELAXED) != 0)\n            bench_relax();\n    return;\n",
)
TICKETS_PARK = (
    SPIN_PARK[0],
    "    static uint32_t next, serving;\n    uint32_t *word = &shared->park.is, is = 0;\n"
    "    uint32_t mine = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);\n"
    "    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != mine)\n        bench_relax();\n    (void)serving;\n    return;\n",
)
TICKETS_DROP = (
    "    else if (__atomic_exchange_n(&shared->park.is, 0, __ATOMIC_RELEASE) == 2)\n        port_wake(&shared->park.is, 1);\n",
    "    else\n        __atomic_fetch_add(&shared->park.is, 1, __ATOMIC_RELEASE);\n",
)
HELD = "            shared->chain = bench_turns(shared->chain, shared->hold);\n"
TAS = "    while (__atomic_exchange_n(&lock_tas.taken, 1, __ATOMIC_ACQUIRE) != 0)\n        bench_relax();\n"

LOCKS = (
    edited("spins", "contend", "contend.c", SPIN_PARK, takes=1000, hold=2000, delay=100),
    edited("tickets", "contend", "contend.c", TICKETS_PARK, TICKETS_DROP, takes=1000, hold=2000, delay=100),
    edited(
        "tickets-of-parks",
        "contend",
        "contend.c",
        (
            "        bench_lock(&shared->spin);\n        return;\n",
            "        bench_lock(&shared->spin);\n        bench_unlock(&shared->spin);\n        static uint32_t next;\n"
            "        uint32_t mine = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);\n"
            "        while (__atomic_load_n(&shared->park.is, __ATOMIC_ACQUIRE) != mine)\n            bench_relax();\n        return;\n",
        ),
        (
            "        bench_unlock(&shared->spin);\n    else if",
            "        __atomic_fetch_add(&shared->park.is, 1, __ATOMIC_RELEASE);\n    else if",
        ),
        takes=1000,
        lock="spin",
    ),
    *(
        edited(
            f"held-outside-{lock}",
            "contend",
            "contend.c",
            (HELD, HELD.replace("bench_turns(", "jumped(")),
            ("        takes++;\n", "        takes++;\n        dummy(shared->hold);\n"),
            (
                "__attribute__((noinline)) static void contend_take(",
                THREE
                + JUMP.replace("    dummy(turns);\n", "")
                + "__attribute__((noinline)) static void contend_take(",
            ),
            takes=1000,
            hold=1000,
            delay=4000,
            lock=lock,
        )
        for lock in ("park", "spin")
    ),
    edited(
        "tickets-by-exchange",
        "locks",
        "locks.c",
        (
            "    uint32_t ticket = __atomic_fetch_add(&lock_ticket.ticket, 1, __ATOMIC_RELAXED);\n"
            "    while (__atomic_load_n(&lock_ticket.serving, __ATOMIC_ACQUIRE) != ticket)\n        bench_relax();\n",
            TAS.replace("lock_tas.taken", "lock_ticket.ticket"),
        ),
        (
            "    __atomic_store_n(&lock_ticket.serving, lock_ticket.serving + 1, __ATOMIC_RELEASE);\n",
            "    __atomic_store_n(&lock_ticket.ticket, 0, __ATOMIC_RELEASE);\n",
        ),
        takes=1000,
    ),
)

WAITS = (
    edited(
        "edges-by-spinning",
        "stencil",
        "stencil.c",
        (
            "    bench_await(&halo->posted, step + 1);\n",
            "    while (__atomic_load_n(&halo->posted.is, __ATOMIC_ACQUIRE) < step + 1)\n        bench_relax();\n",
        ),
        steps=8,
    ),
    edited(
        "half-by-spinning",
        "wake",
        "wake.c",
        (
            "    bench_await(&post->round, round);\n    bench_record",
            "    for (unsigned k = 0; round % 2 == 0 && __atomic_load_n(&post->round.is, __ATOMIC_ACQUIRE) < round; k++)\n"
            "        bench_relax();\n    bench_await(&post->round, round);\n    bench_record",
        ),
        rounds=400,
    ),
    edited(
        "half-by-spinning",
        "barrier",
        "barrier.c",
        (
            "        bench_barrier(&loop->barrier);\n",
            """        uint32_t now = (uint32_t)phase;
        if (now % 2 == 0) {
            bench_barrier(&loop->barrier);
        } else if (__atomic_add_fetch(&loop->barrier.arrived, 1, __ATOMIC_ACQ_REL) == job->workers) {
            __atomic_store_n(&loop->barrier.arrived, 0, __ATOMIC_RELAXED);
            __atomic_store_n(&loop->barrier.phase, now + 1, __ATOMIC_RELEASE);
            port_wake(&loop->barrier.phase, BENCH_MAX_WORKERS);
        } else {
            while (__atomic_load_n(&loop->barrier.phase, __ATOMIC_ACQUIRE) <= now)
                bench_relax();
        }
""",
        ),
        phases=20,
    ),
    edited(
        "left-claimed",
        "overload",
        "overload.c",
        (
            "left += !(job->task[k][TASK_HOME] >> job->slot[k].cpu_end & 1);",
            "left += k < job->cpus;",
        ),
        turns=1_000_000,
    ),
)

ALL = (*HISTOGRAMS, *ELSEWHERE, *LOCKS, *WAITS)
