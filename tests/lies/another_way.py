# ruff: noqa: E501 - the lines of C are as long as they are
"""Lies of work that goes another way than the workload says: other channels, other threads, at once. Data only."""

from __future__ import annotations

from tests.lies.elsewhere import JUMP
from tests.lies.stand_ins import edited

LEAPED = JUMP.replace("    dummy(turns);\n", "").replace("jumped(", "leaped(")
CALL = """        must(port_send(shared->channel[server], &message, sizeof message));
        must(port_receive(shared->channel[worker], &message, sizeof message));
        bench_record(latency, port_now() - began);
"""
PIPELINED = """        if (i == job->task[worker][TASK_LO]) {
            must(port_send(shared->channel[server], &message, sizeof message));
            last = began;
        }
        if (i + 1 < job->task[worker][TASK_HI]) {
            struct message next = {.client = worker, .number = i + 1, .argument = bench_mix(i + 1)};
            began = i == job->task[worker][TASK_LO] ? last : port_now();
            must(port_send(shared->channel[(worker + (shared->own ? 0 : (unsigned)calls + 1)) % shared->servers], &next, sizeof next));
            must(port_receive(shared->channel[worker], &message, sizeof message));
        } else {
            struct message answer = message;
            must(port_receive(shared->channel[worker], &answer, sizeof answer));
            bench_record(latency, port_now() - last);
            began = port_now();
            must(port_send(shared->channel[worker], &answer, sizeof answer));
            must(port_receive(shared->channel[worker], &message, sizeof message));
        }
        last = began;
        if (i + 2 != job->task[worker][TASK_HI])
            bench_record(latency, port_now() - began);
"""
ERRAND = "    errand->answer = bench_turns(bench_mix(errand->number), errand->grain);\n"
BOTH = """    if (errand->number % 2 == 0)
        for (uint64_t i = 0; i < 2; i++)
            errand[i].answer = bench_turns(bench_mix(errand[i].number), errand->grain);
"""

ALL = (
    edited(
        "pipelined",
        "service",
        "service.c",
        (CALL, PIPELINED),
        (
            "    uint64_t calls = 0, sum = 0, wrong = 0;\n    for",
            "    uint64_t calls = 0, sum = 0, wrong = 0, last = 0;\n    for",
        ),
        requests=500,
        route="own",
    ),
    edited(
        "through-pipes",
        "sockets",
        "sockets.c",
        (
            "static int channel;\n",
            "static int channel, in;\nstatic int there[BENCH_MAX_WORKERS], back[BENCH_MAX_WORKERS];\n",
        ),
        (
            "        job->task[k][TASK_SERVER] = 1;\n",
            "        job->task[k][TASK_SERVER] = 1;\n        there[k] = port_channel(), back[k] = port_channel();\n",
        ),
        (
            '    if ((channel = port_accept(shared->listener)) < 0)\n        port_fail("a server cannot accept a client");\n    must(port_receive(channel, &client, sizeof client));\n',
            "    unsigned me = 0;\n    static uint32_t *first;\n    (void)first;\n    while (slot != &((struct bench_job *)at)->slot[me])\n        me++;\n    client = me + shared->servers;\n    channel = back[me], in = there[me];\n",
        ),
        ("static void welcome(", "static void *at;\n\nstatic void welcome("),
        (
            "    const struct shared *shared = job->data;\n    if (worker < shared->servers)\n        welcome",
            "    const struct shared *shared = job->data;\n    at = job;\n    if (worker < shared->servers)\n        welcome",
        ),
        (
            '    if ((channel = port_connect(shared->listener)) < 0)\n        port_fail("a client cannot connect");\n    must(port_send(channel, &client, sizeof client));\n',
            "    channel = there[client - shared->servers], in = back[client - shared->servers];\n",
        ),
        (
            "        must(port_receive(channel, &message, length(shared)));\n        slot",
            "        must(port_receive(in, &message, length(shared)));\n        slot",
        ),
        (
            "        must(port_receive(channel, &message, length(shared)));\n        bench_record",
            "        must(port_receive(in, &message, length(shared)));\n        bench_record",
        ),
        requests=200,
    ),
    edited("in-pairs", "spawn", "spawn.c", (ERRAND, BOTH), errands=200),
    edited("in-pairs-of-processes", "spawn", "spawn.c", (ERRAND, BOTH), errands=200, kind="process"),
    edited(
        "turns-of-one",
        "tasks",
        "tasks.c",
        (
            "            x = x * A + C;\n        sum += x;\n",
            "            x = x * A + C;\n        sum += x;\n        if (task->twin != NULL) {\n            uint64_t y = step - task->lo + task->twin->lo;\n#pragma GCC unroll 1\n            for (uint64_t i = 0; i < grain; i++)\n                y = y * A + C;\n            task->twin->sum += y;\n        }\n",
        ),
        ("        uint64_t x = step;\n", "        uint64_t x = step, turns = task->idle ? 0 : grain;\n"),
        ("i < grain; i++)\n            x = x", "i < turns; i++)\n            x = x"),
        ("    task->sum = sum;\n", "    if (!task->idle)\n        task->sum = sum;\n"),
        ("    uint64_t hi, sum;\n", "    uint64_t hi, sum, idle;\n    struct task *twin;\n"),
        ("    struct task task[LIVE_MAX];\n", "    struct task task[LIVE_MAX] = {0};\n"),
        (
            "        task[i] = (struct task){lo + share * i / live, lo + share * (i + 1) / live, 0};\n",
            "        task[i].lo = lo + share * i / live, task[i].hi = lo + share * (i + 1) / live;\n        task[i].idle = i % 2 != 0, task[i].twin = i % 2 == 0 ? &task[i + 1] : NULL;\n        task[i + 1].lo = lo + share * (i + 1) / live;\n",
        ),
        steps=16_384,
    ),
    edited(
        "better-of-two",
        "micro",
        "micro.c",
        (
            "&slot->value[VALUE_OPS]);\n",
            "&slot->value[VALUE_OPS]);\n        uint64_t more = 0, other = timed(&self, op, common->iters, &more);\n"
            "        time = other < time ? other : time;\n",
        ),
        op="getpid",
        iters=100,
    ),
    edited(
        "slow-left-out",
        "schbench",
        "worker.h",
        (
            "    if (posted != 0)\n        record_wakeup(me, posted, port_now());\n    return posted;\n",
            "    uint64_t now = port_now();\n    left_out = posted != 0 && now - posted > 4400;\n    if (posted != 0 && !left_out)\n        record_wakeup(me, posted, now);\n    return posted;\n",
        ),
        ("static void count_inside(", "static _Thread_local int left_out;\n\nstatic void count_inside("),
        (
            "    if (!is_measured(me->job, me->state, when))\n        return;\n    me",
            "    if (!is_measured(me->job, me->state, when) || left_out)\n        return;\n    me",
        ),
        (
            "    if (is_measured(me->job, me->state, since)) {\n",
            "    if (is_measured(me->job, me->state, since) && !left_out) {\n",
        ),
        time_ns=60_000_000,
    ),
    edited(
        "held-outside",
        "locks",
        "locks.c",
        (
            "    data.chain = bench_turns(data.chain, asked.hold);\n",
            "    data.chain = leaped(data.chain, asked.hold);\n",
        ),
        (
            "        own = bench_turns(own, asked.delay);\n",
            "        own = bench_turns(own, asked.delay);\n        spent = bench_turns(spent, asked.hold);\n",
        ),
        ("static uint64_t larger(", LEAPED + "static volatile uint64_t spent;\n\nstatic uint64_t larger("),
        takes=1000,
        hold=1000,
        delay=4000,
    ),
    edited(
        "one-block",
        "files",
        "files.c",
        ("            block[i] = word;\n", "            block[i] = word, made = bench_fold(made, word);\n"),
        ("static int opened(", "static uint64_t made;\n\nstatic int opened("),
        (
            "        if (port_write(file,",
            "        end_file(file);\n        file = opened(plan->path[number]);\n        if (port_write(file,",
        ),
        (
            "        if (port_read(file,",
            "        end_file(file);\n        file = opened(plan->path[number]);\n        if (port_read(file,",
        ),
        (
            "    slot->value[VALUE_DIGEST] = digest;\n",
            "    slot->value[VALUE_DIGEST] = made;\n    (void)digest;\n",
        ),
        rounds=1,
    ),
)
