# ruff: noqa: E501 - the lines of C are as long as they are
"""Lies by class: figures that were made up, messages that were not sent, work that was done elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from tests.lies.stand_ins import edited
from tests.lieskit import Trial

# ---- lengths: the count, the sum and mostly the largest of a histogram stay as they are

KEPT = """
static _Thread_local uint64_t kept, kept_most;

// All values are short but for the last one, which has the rest.
static void shifted(struct bench_hist *hist, uint64_t value, uint64_t last) {
    uint64_t shown = value < 1001 ? value : 1001;
    if (last)
        shown = value + kept;
    else
        kept += value - shown;
    bench_record(hist, shown);
}

// The long ones are at most as long as the longest quarter of them, but for one, which is the longest.
static void flattened(struct bench_hist *hist, uint64_t value, uint64_t last) {
    if (value > kept_most)
        kept_most = value;
    bench_record(hist, last ? kept_most : value < 9000 ? value : 9000);
}

__attribute__((unused)) static void (*const liars[])(struct bench_hist *, uint64_t, uint64_t) = {shifted, flattened};

"""
LIARS = ("shifted", "flattened")


def _lengths(
    workload: str, file: str, before: str, call: str, last: str, **params: object
) -> tuple[Trial, ...]:
    value = call.partition(", ")[2].removesuffix(");")
    hist = call.partition("(")[2].partition(", " + value)[0]
    return tuple(
        edited(
            f"{how}{'-' + str(params['pattern']) if 'pattern' in params else ''}",
            workload,
            file,
            (call, f"{how}({hist}, {value}, {last});"),
            (before, KEPT + before),
            raw=False,
            **params,
        )
        for how in LIARS
    )


LENGTHS = (
    *_lengths(
        "service",
        "service.c",
        "static void must(",
        "bench_record(latency, port_now() - began);",
        "i + 1 == job->task[worker][TASK_HI]",
        requests=500,
    ),
    *_lengths(
        "sockets",
        "sockets.c",
        "static void must(",
        "bench_record(latency, port_now() - began);",
        "i + 1 == job->task[worker][TASK_HI]",
        requests=200,
    ),
    *_lengths(
        "wake",
        "wake.c",
        "// Returns the number that came",
        "bench_record(wakeup, port_now() - post->when);",
        "round == 200",
        rounds=400,
    ),
    *_lengths(
        "wake",
        "wake.c",
        "// Returns the number that came",
        "bench_record(wakeup, port_now() - post->when);",
        "round == 400",
        rounds=400,
        pattern="fan",
    ),
    edited(
        "shifted-wakeups",
        "schbench",
        "worker.h",
        (
            "    bench_record(bench_hist(me->job, me->thread, HIST_WAKEUP), now - posted);",
            "    uint64_t shown = now - posted < 1001 ? now - posted : 1001;\n    kept += now - posted - shown;\n    if (now + 3000000 > me->job->deadline) {\n        shown += kept;\n        kept = 0;\n    }\n    bench_record(bench_hist(me->job, me->thread, HIST_WAKEUP), shown);",
        ),
        ("static void record_wakeup(", "static _Thread_local uint64_t kept;\n\nstatic void record_wakeup("),
        time_ns=60_000_000,
    ),
    edited(
        "shifted-requests",
        "schbench",
        "worker.h",
        (
            "HIST_REQUEST), now - since);",
            "HIST_REQUEST), now + 3000000 > me->job->deadline ? now - since : (now - since) / 2);",
        ),
        time_ns=60_000_000,
    ),
    edited(
        "fastest-of-nothing",
        "micro",
        "micro.c",
        (
            "        bench_record(bench_hist(job, worker, 0), time);\n        slot",
            "        bench_record(bench_hist(job, worker, 0), sample == 0 ? 1 : time);\n        slot",
        ),
        op="getpid",
        iters=100,
    ),
    edited(
        "fastest-from-slowest",
        "micro",
        "micro.c",
        (
            "        bench_record(bench_hist(job, worker, 0), time);\n        slot",
            "        static uint64_t kept;\n        kept += sample == 0 ? time - 1 : 0;\n        bench_record(bench_hist(job, worker, 0), sample == 0 ? 1 : sample + 1 == common->samples ? time + kept : time);\n        slot",
        ),
        op="pipe",
        iters=100,
    ),
    *(
        edited(
            "halved-" + op,
            "micro",
            "micro.c",
            ("time += port_now() - began;", "time += (port_now() - began) / 2;"),
            op=op,
            iters=100,
        )
        for op in ("getpid", "pipe", "stat")
    ),
    edited(
        "clock-after-send",
        "service",
        "service.c",
        (
            "        uint64_t began = port_now();\n        must(port_send(shared->channel[server], &message, sizeof message));\n",
            "        must(port_send(shared->channel[server], &message, sizeof message));\n        uint64_t began = port_now();\n",
        ),
        requests=500,
    ),
    edited(
        "clock-after-send",
        "sockets",
        "sockets.c",
        (
            "        uint64_t began = port_now();\n        must(port_send(channel, &message, length(shared)));\n        must(port_receive(channel, &message, length(shared)));\n        bench_record",
            "        must(port_send(channel, &message, length(shared)));\n        uint64_t began = port_now();\n        must(port_receive(channel, &message, length(shared)));\n        bench_record",
        ),
        requests=200,
    ),
)

# ---- messages

CALL = "        must(port_send(shared->channel[server], &message, sizeof message));\n        must(port_receive(shared->channel[worker], &message, sizeof message));\n"
SERVED = (
    "    slot->value[VALUE_SERVED] = served;\n    slot->value[VALUE_SERVED_ANSWERS] = sum;\n    slot->value[VALUE_TURNS] = turns;\n",
    "    slot->value[VALUE_SERVED] += served;\n    slot->value[VALUE_SERVED_ANSWERS] += sum;\n    slot->value[VALUE_TURNS] += turns;\n",
)
AT_HOME = "        message.answer = answer_to(shared, message.argument);\n        job->slot[server].value[VALUE_SERVED]++;\n        job->slot[server].value[VALUE_SERVED_ANSWERS] += message.answer;\n        job->slot[server].value[VALUE_TURNS] += cost_of(shared, message.argument);\n"
TO_ITSELF = "        for (unsigned twice = 0; twice < 2; twice++) {\n            must(port_send(shared->channel[worker], &message, sizeof message));\n            must(port_receive(shared->channel[worker], &message, sizeof message));\n        }\n"

MESSAGES = (
    edited("to-itself", "service", "service.c", (CALL, TO_ITSELF + AT_HOME), SERVED, requests=500),
    edited(
        "calls-that-fail",
        "service",
        "service.c",
        (
            CALL,
            '        for (unsigned twice = 0; twice < 2; twice++)\n            if (write(-1, &message, sizeof message) > 0 || read(-1, &message, sizeof message) > 0)\n                port_fail("no");\n'
            + AT_HOME,
        ),
        SERVED,
        raw=True,
        requests=500,
    ),
    edited(
        "two-in-one",
        "service",
        "service.c",
        (
            CALL,
            "        if (i + 1 < job->task[worker][TASK_HI]) {\n"
            "            message.unused[0] = bench_mix(i + 1);\n            message.unused[1] = 1;\n        }\n"
            "        must(port_send(shared->channel[server], &message, sizeof message));\n"
            "        must(port_receive(shared->channel[worker], &message, sizeof message));\n"
            "        if (message.unused[1] != 0) {\n"
            "            bench_record(latency, (port_now() - began) / 2);\n            began += (port_now() - began) / 2;\n"
            '            if (write(-1, &message, 1) > 0 || read(-1, &message, 1) > 0 || write(-1, &message, 1) > 0 || read(-1, &message, 1) > 0)\n                port_fail("no");\n'
            "            sum += message.unused[2];\n            calls++;\n            message.number++;\n            i++;\n        }\n",
        ),
        (
            "        served++;\n        sum += message.answer;\n",
            "        served++;\n        sum += message.answer;\n        if (message.unused[1] != 0) {\n"
            "            message.unused[2] = answer_to(shared, message.unused[0]);\n            turns += cost_of(shared, message.unused[0]);\n            served++;\n            sum += message.unused[2];\n        }\n",
        ),
        raw=True,
        requests=500,
    ),
    edited(
        "half-a-message",
        "service",
        "service.c",
        (CALL, CALL.replace("sizeof message", "sizeof message / 2")),
        (
            "        must(port_receive(shared->channel[worker], &message, sizeof message));\n        if (message",
            "        must(port_receive(shared->channel[worker], &message, sizeof message / 2));\n        if (message",
        ),
        (
            "        must(port_send(shared->channel[message.client], &message, sizeof message));\n",
            "        must(port_send(shared->channel[message.client], &message, sizeof message / 2));\n",
        ),
        (
            "            must(port_send(shared->channel[server], &message, sizeof message));\n}",
            "            must(port_send(shared->channel[server], &message, sizeof message / 2));\n}",
        ),
        requests=500,
    ),
    edited(
        "through-memory",
        "sockets",
        "sockets.c",
        (
            "        must(port_send(channel, &message, length(shared)));\n        must(port_receive(channel, &message, length(shared)));\n        bench_record",
            '        for (unsigned twice = 0; twice < 2; twice++)\n            if (write(-1, &message, length(shared)) > 0 || read(-1, &message, length(shared)) > 0)\n                port_fail("no");\n'
            "        uint64_t made = answer(shared);\n        for (unsigned k = 0; k < shared->servers; k++)\n            if (job->slot[k].value[VALUE_CLIENT] == worker) {\n"
            "                job->slot[k].value[VALUE_SERVED]++;\n                job->slot[k].value[VALUE_SERVED_ANSWERS] += made;\n            }\n        bench_record",
        ),
        (
            "    for (uint64_t left = client[TASK_HI] - client[TASK_LO]; left > 0; left--) {",
            "    for (uint64_t left = 0 * client[TASK_HI]; left > 0; left--) {",
        ),
        raw=True,
        requests=200,
    ),
    edited(
        "headers-only",
        "sockets",
        "sockets.c",
        (
            "        must(port_send(channel, &message, length(shared)));\n        must(port_receive(channel, &message, length(shared)));\n        bench_record",
            "        must(port_send(channel, &message, 8));\n        must(port_receive(channel, &message, 8));\n        (void)answer(shared);\n"
            '        if (write(-1, &message, length(shared)) > 0 || write(-1, &message, length(shared)) > 0)\n            port_fail("no");\n        bench_record',
        ),
        (
            "        must(port_receive(channel, &message, length(shared)));\n        slot->value[VALUE_SERVED_ANSWERS] += answer(shared);\n        slot->value[VALUE_SERVED]++;\n        must(port_send(channel, &message, length(shared)));\n",
            "        must(port_receive(channel, &message, 8));\n        make_request(shared, message.number);\n        slot->value[VALUE_SERVED_ANSWERS] += answer(shared);\n        slot->value[VALUE_SERVED]++;\n        must(port_send(channel, &message, 8));\n",
        ),
        (
            "static void serve(",
            "static void make_request(const struct shared *shared, uint64_t number);\n\nstatic void serve(",
        ),
        raw=True,
        requests=200,
    ),
)

# ---- work that was done elsewhere

DUMMY = """
static void dummy(uint64_t turns) {
    __asm__ volatile("" : "+r"(turns));
    for (; turns != 0; turns--)
        __asm__ volatile("");
}

"""
"""A loop of two instructions (three on x86) that does nothing."""
JUMP = """
// As many turns at once.
static uint64_t jumped(uint64_t x, uint64_t turns) {
    uint64_t factor = 1, sum = 0, a = 6364136223846793005ull, c = 1442695040888963407ull;
    for (uint64_t left = turns; left != 0; left /= 2) {
        if (left % 2 != 0) {
            factor *= a;
            sum = sum * a + c;
        }
        c *= a + 1;
        a *= a;
    }
    dummy(turns);
    return x * factor + sum;
}

"""


TURNS: Mapping[str, tuple[str, str]] = {
    "barrier": ("x = bench_turns(x, share);", "static uint64_t weight("),
    "contend": (
        "own = bench_turns(own, shared->delay);",
        "__attribute__((noinline)) static void contend_take(",
    ),
    "counters": ("own = bench_turns(own, delay);", "static void work("),
    "dynamic": ("uint64_t answer = bench_turns(random, cost);", "static uint64_t cost_of("),
    "jobs": ("bench_turns(hash, graph->grain)", "static void job_body("),
    "locks": ("own = bench_turns(own, asked.delay);", "static uint64_t larger("),
    "mapreduce": ("bench_turns(bench_mix(i), data->grain)", "static void merge("),
    "overload": ("bench_turns(worker, shared->turns)", "static void work("),
    "service": (
        "bench_turns(argument, cost_of(shared, argument))",
        "static uint64_t answer_to(",
    ),
    "spawn": ("bench_turns(bench_mix(errand->number), errand->grain)", "static void run_errand("),
    "wake": ("number = bench_turns(number, shared->turns);", "static uint64_t pong("),
}
"""Where a workload makes its turns, and the function before which another one may stand."""


def jumps(workload: str, how: str = "jumped", dummy: str = DUMMY, **params: object) -> Trial:
    old, before = TURNS[workload]
    return edited(
        how,
        workload,
        f"{workload}.c",
        (old, old.replace("bench_turns(", "jumped(")),
        (before, dummy + JUMP + before),
        raw=False,
        **params,
    )


BEFORE = ("    .work = work,\n", "    .before = earlier,\n    .work = idle,\n")
AFTER = ("    .work = work,\n", "    .work = idle,\n    .after = later,\n")


def _earlier(workload: str, empty: str, when: str = "before", **params: object) -> Trial:
    """The whole work is done outside of the window, and as many empty turns in it."""
    name = {"before": "earlier", "after": "later"}[when]
    body = (
        f"static void {name}(struct bench_job *job, unsigned worker, struct bench_slot *slot) {{\n    work(job, worker, slot);\n}}\n\n"
        f"static void idle(struct bench_job *job, unsigned worker, struct bench_slot *slot) {{\n    (void)job, (void)worker, (void)slot;\n    dummy({empty});\n}}\n\n"
    )
    where = "static unsigned result("
    return edited(
        f"done-{when}",
        workload,
        f"{workload}.c",
        (where, DUMMY + body + where),
        BEFORE if when == "before" else AFTER,
        raw=False,
        **params,
    )


ELSEWHERE = (
    _earlier(
        "checksum",
        "(job->task[worker][TASK_HI] - job->task[worker][TASK_LO]) * rounds * 30",
        blocks=4096,
        rounds=16,
    ),
    _earlier(
        "checksum",
        "(job->task[worker][TASK_HI] - job->task[worker][TASK_LO]) * rounds * 30",
        when="after",
        blocks=4096,
        rounds=16,
    ),
    _earlier("counters", "(job->task[worker][TASK_HI] - job->task[worker][TASK_LO]) * 33", steps=100_000),
    _earlier("walker", "(job->task[worker][TASK_HI] - job->task[worker][TASK_LO]) * 2", steps=2_000_000),
    _earlier(
        "streamer",
        "(job->task[worker][TASK_HI] - job->task[worker][TASK_LO]) * 23",
        when="after",
        array_kb=8192,
    ),
    _earlier("primes", "job->task[worker][TASK_HI] * 60", hi=100_000),
    _earlier("primes", "job->task[worker][TASK_HI] * 60", when="after", hi=100_000),
    _earlier("overload", "1500000", when="after", turns=1_000_000),
    edited(
        "hashed-in-prepare",
        "checksum",
        "checksum.c",
        (
            "            hash = xxh64_block(data + block * BLOCK_WORDS, hash);\n        hashes[block] = hash;\n",
            "            dummy(data != NULL ? 30 : 0);\n        hash = hashes[block];\n",
        ),
        (
            "        hashes[i] = ~0ull;\n",
            "    {\n        hashes[i] = i;\n        for (uint64_t round = 0; round < rounds; round++)\n            hashes[i] = xxh64_block(data + i * BLOCK_WORDS, hashes[i]);\n    }\n",
        ),
        ("static const char *prepare(", DUMMY + "static const char *prepare("),
        blocks=4096,
        rounds=16,
    ),
    edited(
        "hashed-by-a-helper",
        "checksum",
        "checksum.c",
        (
            "            hash = xxh64_block(data + block * BLOCK_WORDS, hash);\n        hashes[block] = hash;\n",
            "            dummy(data != NULL ? 30 : 0);\n        hash = hashes[block];\n",
        ),
        (
            "    job->data = data;\n",
            '    job->data = data;\n    if (port_task_join(port_task(helper, data)) != 0)\n        return "no";\n',
        ),
        (
            "static const char *prepare(",
            DUMMY
            + "static void helper(void *data) {\n    for (uint64_t i = 0; i < blocks; i++) {\n        hashes[i] = i;\n        for (uint64_t round = 0; round < rounds; round++)\n            hashes[i] = xxh64_block((uint64_t *)data + i * BLOCK_WORDS, hashes[i]);\n    }\n}\n\nstatic const char *prepare(",
        ),
        blocks=4096,
        rounds=16,
    ),
    edited(
        "digest-in-prepare",
        "walker",
        "walker.c",
        (
            "        job->task[k][TASK_FIRST] = lines * k / job->workers;\n",
            "    {\n        job->task[k][TASK_FIRST] = lines * k / job->workers;\n        work(job, k, &job->slot[k]);\n    }\n",
        ),
        (
            "static const char *prepare(",
            DUMMY
            + "static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot);\n\nstatic void idle(struct bench_job *job, unsigned worker, struct bench_slot *slot) {\n    (void)slot;\n    dummy(2 * (job->task[worker][TASK_HI] - job->task[worker][TASK_LO]));\n}\n\nstatic const char *prepare(",
        ),
        ("    .work = work,\n", "    .work = idle,\n"),
        steps=2_000_000,
    ),
    jumps("barrier", phases=20),
    jumps("dynamic", items=1000),
    jumps("mapreduce", words=10_000),
    jumps("contend", takes=1000),
    jumps("locks", takes=1000, delay=500),  # with a short delay the jump is as long as the turns
    jumps("spawn", errands=200),
    jumps("jobs", jobs=60),
    jumps("overload", turns=100_000),
    jumps("service", requests=500),
    *(
        edited(
            how,
            "counters",
            "counters.c",
            (
                "        __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);\n",
                "        if (step + 1 == end)\n            *counter = end - job->task[worker][TASK_LO];\n",
            ),
            steps=100_000,
            delay=delay,
        )
        for how, delay in {"counted-once": 20, "counted-once-fast": 0}.items()
    ),
)

ALL = (*LENGTHS, *MESSAGES, *ELSEWHERE)
