# ruff: noqa: E501 - the lines of C are as long as they are
"""The lies: edits of shipped workloads after which the answers are still right, and the figures wrong.

Data only. LISTED are those that were known before any promise was written; MADE come later.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.lieskit import Trial

SPIN = "while (__atomic_load_n(&{word}, __ATOMIC_ACQUIRE) < {value}) bench_relax();"
SHORT = {"wake": {"rounds": 400}, "service": {"requests": 500}, "schbench": {"time_ns": 60_000_000}}


def _one(name: str, workload: str, file: str, old: str, new: str, **params: object) -> Trial:
    return Trial(name, workload, {file: ((old, new),)}, params)


def _c(name: str, workload: str, old: str, new: str, **params: object) -> Trial:
    """An edit of the workload's C file."""
    return _one(name, workload, f"{workload}.c", old, new, **params)


def _two_takes(name: str, **params: object) -> Trial:
    """A worker of contend that takes two turns for each time it holds the lock."""
    turn = "shared->chain = bench_turns(shared->chain, shared->hold);\n"
    old, inner = " " * 12 + turn, " " * 16
    more = (
        f"            if (shared->count < shared->takes) {{\n{inner}shared->count++;\n{inner}{turn}"
        f"{inner}takes++;\n{inner}own = bench_turns(own, shared->delay);\n            }}\n"
    )
    return _c(name, "contend", old, old + more, **params)


def _times(name: str, workload: str, file: str, value: str, **params: object) -> Iterator[Trial]:
    """The same length as half of what it was, a quarter, and no longer than a short one."""
    for how, new in (
        ("halved", f"({value}) / 2"),
        ("quartered", f"({value}) / 4"),
        ("capped", f"({value}) < 1500 ? ({value}) : 1500"),
    ):
        yield _one(f"{name}-{how}", workload, file, f", {value});", f", {new});", **params)


def _timed(*kinds: str) -> Iterator[Trial]:
    rows = (
        *_times("service", "service", "service.c", "port_now() - began", requests=500),
        *_times("wake-pong", "wake", "wake.c", "port_now() - post->when", rounds=400),
        *_times("wake-fan", "wake", "wake.c", "port_now() - post->when", rounds=400, pattern="fan"),
        *_times("schbench-wakeup", "schbench", "worker.h", "now - posted", time_ns=60_000_000),
        *_times("sockets", "sockets", "sockets.c", "port_now() - began", requests=200),
    )
    return (row for row in rows if row.name.rpartition("-")[2] in kinds)


LISTED = (
    _one(
        "schbench-without-lock",
        "schbench",
        "worker.h",
        "options->locking ?",
        "options->locking > 1 ?",
        time_ns=60_000_000,
    ),
    _two_takes("contend-two-takes", takes=1000),
    *_timed("halved", "capped"),
    _c(
        "mapreduce-one-table",
        "mapreduce",
        "        mine->count[key >> (64 - BUCKET_BITS)]++;\n        mine->sum[key >> (64 - BUCKET_BITS)] += key;\n",
        "        data->table[0].count[key >> (64 - BUCKET_BITS)]++;\n"
        "        data->table[0].sum[key >> (64 - BUCKET_BITS)] += key;\n",
        words=10_000,
    ),
    _one(
        "micro-pipe-by-copy",
        "micro",
        "calls.h",
        "        if (port_send(channel, out, PAGE_BYTES) != 0 || port_receive(channel, in, PAGE_BYTES) != 0)\n"
        "            return good;\n",
        "        (void)channel;\n        for (unsigned k = 0; k < CHUNK_WORDS; k++)\n            in[k] = out[k];\n",
        op="pipe",
        iters=100,
    ),
    _one(
        "micro-fault-without-unmap",
        "micro",
        "calls.h",
        "return port_unmap(at, n * PAGE_BYTES) == 0 ? good : 0;",
        "return good;",
        op="mmap_fault",
        iters=100,
    ),
    _c(
        "wake-by-spinning",
        "wake",
        "    bench_await(&post->round, round);\n    bench_record",
        f"    {SPIN.format(word='post->round.is', value='round')}\n    bench_record",
        rounds=64,
        pattern="fan",
    ),
    _c(
        "schbench-one-interval",
        "schbench",
        "            done += state->inside[i][span];",
        "            for (uint64_t all = 0; span == 0 && all < SPANS_MAX; all++)\n"
        "                done += state->inside[i][all];",
        time_ns=220_000_000,
    ),
)
"""Those that were known before anything was promised."""


def _micro(name: str, op: str, file: str, old: str, new: str, **params: object) -> Trial:
    return _one(f"micro-{name}", "micro", file, old, new, op=op, **{"iters": 100, **params})


MADE = (
    *_timed("quartered"),
    _micro(
        "read-in-pairs",
        "read_null",
        "calls.h",
        "good += port_read(me->file, &byte, 1) == 0;",
        "good += i % 2 != 0 || port_read(me->file, &byte, 1) == 0;",
    ),
    _micro(
        "size-every-second",
        "stat",
        "calls.h",
        "int64_t size = port_size(path);",
        "int64_t size = i % 2 == 0 ? port_size(path) : expected;",
    ),
    _micro("getpid-kept", "getpid", "calls.h", "good += port_process() == me->expected;", "good++;"),
    _micro(
        "getpid-every-second",
        "getpid",
        "calls.h",
        "good += port_process() == me->expected;",
        "good += i % 2 == 0 || port_process() == me->expected;",
    ),
    _micro(
        "read-kept",
        "read_null",
        "calls.h",
        "good += port_read(me->file, &byte, 1) == 0;",
        "good += me->file >= 0 && byte == 0;",
    ),
    _micro(
        "write-kept",
        "write_null",
        "calls.h",
        "good += port_write(me->file, &byte, 1) == 1;",
        "good += byte == 0;",
    ),
    _micro(
        "write-in-pairs",
        "write_null",
        "calls.h",
        "good += port_write(me->file, &byte, 1) == 1;",
        "good += i % 2 != 0 || port_write(me->file, &byte, 1) == 1;",
    ),
    _micro(
        "pipe-half-a-page",
        "pipe",
        "calls.h",
        "if (port_send(channel, out, PAGE_BYTES) != 0 || port_receive(channel, in, PAGE_BYTES) != 0)",
        "for (unsigned k = 0; k < CHUNK_WORDS; k++)\n            in[k] = out[k];\n"
        "        if (port_send(channel, out, PAGE_BYTES / 2) != 0 || port_receive(channel, in, PAGE_BYTES / 2) != 0)",
    ),
    _micro(
        "child-by-hand",
        "fork_exit",
        "threads.h",
        "        int started = port_child(child, (uint64_t)cell);\n"
        "        if (started < 0 || port_child_wait(started) != 0)\n            return good;\n",
        "        child((uint64_t)cell);\n",
    ),
    _micro(
        "open-every-second",
        "open_close",
        "calls.h",
        "        int file = port_open(path);\n        good += file >= 0 && port_close(file) == 0;\n",
        "        int file = i % 2 == 0 ? port_open(path) : 0;\n"
        "        good += i % 2 != 0 || (file >= 0 && port_close(file) == 0);\n",
    ),
    _micro(
        "size-kept",
        "stat",
        "calls.h",
        "int64_t size = port_size(path);",
        "int64_t size = i == 0 ? port_size(path) : expected;",
    ),
    Trial(
        "micro-fault-no-page",
        "micro",
        {
            "calls.h": (
                (
                    "        uint64_t *page = (uint64_t *)(at + i * PAGE_BYTES);\n"
                    "        page[0] = ++me->expected;\n        good += page[CHUNK_WORDS - 1] == 0;\n",
                    "        me->expected++;\n        good++;\n",
                ),
                (
                    "        volatile uint64_t *page = (volatile uint64_t *)(at + i * PAGE_BYTES);\n"
                    "        me->proof += page[0];\n        page[CHUNK_WORDS - 1] = FILLING;\n",
                    "        me->proof += me->expected - n + i + 1;\n",
                ),
            )
        },
        {"op": "mmap_fault", "iters": 100},
    ),
    _micro(
        "no-yield", "sched_yield", "threads.h", "        port_yield();\n        made++;", "        made++;"
    ),
    _micro(
        "yield-every-second",
        "sched_yield",
        "threads.h",
        "        port_yield();\n        made++;",
        "        if (i % 2 == 0)\n            port_yield();\n        made++;",
    ),
    _micro(
        "signal-kept",
        "signal_delivery",
        "calls.h",
        "good += port_signal() == ++me->expected;",
        "good += ++me->expected > 0;",
    ),
    _micro(
        "thread-by-hand",
        "thread_create",
        "threads.h",
        "        join(start(run_once, me));\n        good += count_done(me)",
        "        run_once(me);\n        good += count_done(me)",
    ),
    _micro(
        "switch-by-hand",
        "context_switch",
        "threads.h",
        "        hand_over(me, THEIRS);\n        wait_for_turn(me, THEIRS);\n        good += count_done(me)",
        "        me->done++;\n        good += count_done(me)",
    ),
    _micro("halved", "pipe", "micro.c", "time += port_now() - began;", "time += (port_now() - began) / 3;"),
    _two_takes("contend-two-takes-spinning", takes=1000, lock="spin"),
    _two_takes("contend-two-takes-contended", takes=1000, hold=2000, delay=100),
    _c(
        "locks-without-atomics",
        "locks",
        "    while (__atomic_exchange_n(&lock_tas.taken, 1, __ATOMIC_ACQUIRE) != 0)\n        bench_relax();\n",
        "    while (__atomic_load_n(&lock_tas.taken, __ATOMIC_ACQUIRE) != 0)\n        bench_relax();\n"
        "    __atomic_store_n(&lock_tas.taken, 1, __ATOMIC_RELAXED);\n",
        takes=1000,
        kind="tas",
    ),
    _c(
        "locks-tickets-without-atomics",
        "locks",
        "uint32_t ticket = __atomic_fetch_add(&lock_ticket.ticket, 1, __ATOMIC_RELAXED);",
        "uint32_t ticket = ((volatile uint32_t *)&lock_ticket.ticket)[0]++;",
        takes=1000,
    ),
    _c(
        "dynamic-without-atomics",
        "dynamic",
        "bench_next(&queue->next)",
        "(*(volatile uint64_t *)&queue->next)++",
        items=1000,
    ),
    _c(
        "dynamic-not-counted",
        "dynamic",
        "__atomic_fetch_add(&queue->done[item], 1, __ATOMIC_RELAXED);",
        "queue->done[item]++;",
        items=1000,
    ),
    _c(
        "jobs-without-atomics",
        "jobs",
        "bench_next(&graph->next)",
        "(*(volatile uint64_t *)&graph->next)++",
        jobs=60,
    ),
    _c(
        "jobs-at-home",
        "jobs",
        "    int child = port_child(job_body, (uint64_t)target);\n"
        "    if (child < 0 || port_child_wait(child) != 0)\n"
        '        port_fail("a process could not do its job");\n',
        "    job_body((uint64_t)target);\n    done_here = 0;\n",
        jobs=60,
    ),
    Trial(
        "spawn-no-thread",
        "spawn",
        {
            "spawn.c": (
                ("port_task(thread_body, errand)", "(thread_body(errand), errand->stack = 0, 1)"),
                ("port_task_join(number)", "0"),
            )
        },
        {"errands": 200},
    ),
    Trial(
        "spawn-no-process",
        "spawn",
        {
            "spawn.c": (
                (
                    "port_child(process_body, (uint64_t)errand)",
                    "(process_body((uint64_t)errand), done_here = 0, 1)",
                ),
                ("port_child_wait(number)", "0"),
            )
        },
        {"errands": 200, "kind": "process"},
    ),
    _c("tasks-no-yield", "tasks", "        port_yield();\n", "", steps=20_000),
    _c(
        "tasks-yield-every-second",
        "tasks",
        "        port_yield();\n",
        "        if (step % 2 == 0)\n            port_yield();\n",
        steps=20_000,
    ),
    _c(
        "files-not-synced",
        "files",
        "if (port_sync(file) != 0)",
        "if (file < 0)",
        rounds=1,
    ),
    _c(
        "service-answered-at-home",
        "service",
        "        must(port_send(shared->channel[server], &message, sizeof message));\n"
        "        must(port_receive(shared->channel[worker], &message, sizeof message));\n",
        "        if (i % 2 == 0) {\n"
        "            must(port_send(shared->channel[server], &message, sizeof message));\n"
        "            must(port_receive(shared->channel[worker], &message, sizeof message));\n"
        "        } else {\n"
        "            message.answer = answer_to(shared, message.argument);\n"
        "        }\n",
        requests=500,
    ),
    _c(
        "service-timed-too-late",
        "service",
        "        must(port_receive(shared->channel[worker], &message, sizeof message));\n"
        "        bench_record(latency, port_now() - began);",
        "        must(port_receive(shared->channel[worker], &message, sizeof message));\n"
        "        began = port_now();\n        bench_record(latency, port_now() - began);",
        requests=500,
    ),
    _c(
        "wake-in-pairs-by-spinning",
        "wake",
        "    bench_await(&post->round, round);\n    bench_record",
        f"    {SPIN.format(word='post->round.is', value='round')}\n    bench_record",
        rounds=64,
    ),
    _one(
        "schbench-no-sleep",
        "schbench",
        "worker.h",
        "        port_sleep_until(port_now() + length);",
        "        for (uint64_t end = port_now() + length; port_now() < end;)\n            bench_relax();",
        time_ns=60_000_000,
    ),
    Trial(
        "streamer-without-stride",
        "streamer",
        {"streamer.c": (("arrays->step = stride / sizeof(uint64_t);", "arrays->step = 1;"),)},
        {"array_kb": 1024, "passes": 2},
        machine="desktop8",
    ),
    _c(
        "primes-by-a-sieve",
        "primes",
        "        while (d * d <= n) {\n            divs++;\n            if (n % d == 0) {\n                prime = 0;\n"
        "                break;\n            }\n            d += step;\n            step = 2;\n        }\n",
        "        if (n == lo || n % SEGMENT == 0)\n            sieve_segment(n / SEGMENT * SEGMENT);\n"
        "        uint32_t root = 1;\n        for (uint32_t bit = 4096; bit != 0; bit /= 2)\n"
        "            root += (root + bit) * (root + bit) <= n ? bit : 0;\n"
        "        prime = n < 4 ? n > 1 : n % 2 != 0 && factor[n - segment_first] == 0;\n"
        "        divs += divisions(n, root);\n        (void)d, (void)step;\n",
        hi=3_000_000,
    ),
)
"""More of our own making."""


ALL = (*LISTED, *MADE)

BY_ORACLE = (
    "mapreduce-one-table",
    "schbench-one-interval",
    "service-answered-at-home",
    "micro-fastest-of-nothing",
    "micro-time-halved",
    "micro-more-in-a-sample",
    "schbench-shorter-measured",
    "schbench-warm-up-counted",
    "overload-left-claimed",
)
"""No machine tells these, so their oracles do."""
