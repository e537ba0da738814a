# ruff: noqa: E501 - the lines of C are as long as they are
"""Lies about lengths that the machine knows for each value that the program records. Data only."""

from __future__ import annotations

from tests.lies.stand_ins import edited
from tests.lieskit import Trial

SEND = "    post->when = port_now();\n    bench_post(&post->round, round);\n"
LATE = "    bench_post(&post->round, round);\n    post->when = port_now();\n"
BETWEEN = (
    "    __atomic_store_n(&post->round.is, round, __ATOMIC_RELEASE);\n    post->when = port_now();\n"
    "    port_wake(&post->round.is, BENCH_MAX_WORKERS);\n    post->when = port_now();\n"
)
RECEIVE = "    bench_record(wakeup, port_now() - post->when);"
IN_THE_PAST = (
    "    uint64_t took = port_now() - post->when;\n    bench_record(wakeup, took < 15000 ? took : 100);"
)
TWICE = (
    ("    uint64_t when, number;\n", "    uint64_t when, number, later;\n"),
    (SEND, f"{SEND}    post->later = port_now();\n"),
    (
        "    bench_await(&post->round, round);\n    bench_record(wakeup, port_now() - post->when);",
        "    int found = __atomic_load_n(&post->round.is, __ATOMIC_ACQUIRE) >= round;\n    bench_await(&post->round, round);\n"
        "    uint64_t now = port_now(), when = post->when, later = post->later;\n"
        "    bench_record(wakeup, now - (found && later > when && later < now ? later : when));",
    ),
)
"""The clock is read before and after the post, and a wait that did not sleep gives the second reading."""
MEANS = """static _Thread_local uint64_t before;

// Of each two neighbours the mean, twice: count and sum hold.
static void smoothed(struct bench_hist *hist, uint64_t value) {
    if (before == 0) {
        before = value;
        return;
    }
    bench_record(hist, (before + value) / 2);
    bench_record(hist, (before + value + 1) / 2);
    before = 0;
}

"""
TIMED = "        time += port_now() - began;\n"


def _later(name: str, *mailbox: tuple[str, str], messenger: tuple[str, str] | None = None) -> Trial:
    """A worker of schbench that finds its word set, as it does after a while, takes a later reading for that of
    its post."""
    found = (
        "    for (volatile unsigned k = 0; k < 2000; k++)\n        continue;\n"
        "    int found = __atomic_load_n(&box->word, __ATOMIC_ACQUIRE) == POSTED;\n    mailbox_await(box, 0);\n"
        "    uint64_t posted = box->when, now = port_now(), later = box->later;\n"
        "    posted = found && later > posted && later < now ? later : posted;\n"
        "    if (posted != 0)\n        record_wakeup(me, posted, now);\n"
    )
    honest = (
        "    mailbox_await(box, 0);\n    uint64_t posted = box->when;\n    if (posted != 0)\n"
        "        record_wakeup(me, posted, port_now());\n"
    )
    edits = {
        "mailbox.h": (("    uint64_t when; //", "    uint64_t later;\n    uint64_t when; //"), *mailbox),
        "messenger.h": (messenger,) if messenger else (),
        "worker.h": ((honest, found),),
    }
    return Trial(
        f"schbench-clock-{name}", "schbench", edits, {"time_ns": 60_000_000, "threads": 4, "operations": 1}
    )


def _micro(name: str, op: str, *pairs: tuple[str, str], iters: int = 100) -> Trial:
    return edited(name, "micro", "micro.c", *pairs, op=op, iters=iters)


ALL = (
    edited("late-clock", "wake", "wake.c", (SEND, LATE), (RECEIVE, IN_THE_PAST), rounds=400),
    edited(
        "late-clock-fan", "wake", "wake.c", (SEND, LATE), (RECEIVE, IN_THE_PAST), rounds=400, pattern="fan"
    ),
    edited("clock-in-between", "wake", "wake.c", (SEND, BETWEEN), (RECEIVE, IN_THE_PAST), rounds=400),
    _later(
        "twice",
        ("    port_wake(&box->word, 1);\n", "    port_wake(&box->word, 1);\n    box->later = port_now();\n"),
    ),
    _later(
        "of-the-next",
        messenger=(
            "    mailbox_post(&worker->box, now);\n}",
            "    static struct mailbox *last;\n    now = port_now();\n    if (last != NULL)\n        last->later = now;\n"
            "    last = &worker->box;\n    mailbox_post(&worker->box, now);\n}",
        ),
    ),
    edited(
        "smoothed",
        "wake",
        "wake.c",
        (RECEIVE, "    smoothed(wakeup, port_now() - post->when);"),
        ("// Returns the number that came", MEANS + "// Returns the number that came"),
        rounds=400,
    ),
    edited(
        "a-little-shorter",
        "wake",
        "wake.c",
        (RECEIVE, "    bench_record(wakeup, port_now() - post->when - 60);"),
        rounds=400,
    ),
    edited(
        "wakeups-without-the-call",
        "schbench",
        "worker.h",
        (
            "HIST_WAKEUP), now - posted);",
            "HIST_WAKEUP), now - posted > 2000 ? now - posted - 1500 : now - posted);",
        ),
        time_ns=60_000_000,
    ),
    edited(
        "requests-from-when-they-run",
        "schbench",
        "worker.h",
        ("        do_request(me, posted);", "        do_request(me, port_now());"),
        time_ns=60_000_000,
    ),
    edited(
        "requests-a-tenth-shorter",
        "schbench",
        "worker.h",
        ("HIST_REQUEST), now - since);", "HIST_REQUEST), (now - since) - (now - since) / 10);"),
        time_ns=60_000_000,
    ),
    _micro("wake-halved", "futex_wake", (TIMED, "        time += (port_now() - began) / 2;\n")),
    _micro("wake-nine-tenths", "futex_wake", (TIMED, "        time += (port_now() - began) * 9 / 10;\n")),
    _micro(
        "call-nine-tenths", "getpid", (TIMED, "        time += (port_now() - began) * 9 / 10;\n"), iters=1000
    ),
    _micro("fault-halved", "mmap_fault", (TIMED, "        time += (port_now() - began) / 2;\n")),
    _micro(
        "equal-samples",
        "stat",
        (
            "        bench_record(bench_hist(job, worker, 0), time);\n        slot->value[VALUE_TIME] += time;\n",
            "        slot->value[VALUE_TIME] += time;\n        if (sample + 1 == common->samples)\n"
            "            for (uint64_t k = 0; k < common->samples; k++)\n"
            "                bench_record(bench_hist(job, worker, 0), slot->value[VALUE_TIME] / common->samples +\n"
            "                             (k == 0 ? slot->value[VALUE_TIME] % common->samples : 0));\n",
        ),
    ),
    edited("clock-twice", "wake", "wake.c", *TWICE, rounds=4000, turns=0),
    edited("clock-twice-fan", "wake", "wake.c", *TWICE, rounds=2000, turns=0, pattern="fan"),
)
