# ruff: noqa: E501 - the lines of C are as long as they are
"""Lies about order: an answer that others get before its turns are made, a helper for a share, a figure that ends
before the work. All turns are made, by whom they should be. Data only."""

from __future__ import annotations

from dataclasses import replace

from tests.lies import for_others
from tests.lies.stand_ins import edited
from tests.lieskit import Trial

LEAPED = for_others.LEAPED + "__attribute__((unused)) static volatile uint64_t spent;\n\n"
PART = """struct part {
    uint64_t x, turns;
};

static void turned(void *at) {
    struct part *part = at;
    part->x = bench_turns(part->x, part->turns);
}

"""
"""What another thread makes."""

TURNS = "    target->answer = bench_turns(hash, graph->grain);\n"
AWAIT = "job > 0 && input < graph->inputs; input++)\n        bench_await("
LAID_OUT = """    for (uint64_t i = 0; i < graph->jobs; i++) {
        uint64_t hash = bench_mix(i);
        for (uint64_t input = 0; i > 0 && input < graph->inputs; input++)
            hash = bench_fold(hash, graph->target[input_of(graph, i, input)].answer);
        graph->target[i].answer = leaped(hash, graph->grain);
    }
"""
INPUT_OF = "static uint64_t input_of(const struct graph *graph, uint64_t job, uint64_t input);\n\n"
FIRST = (
    edited(
        "answers-first-fan",
        "wake",
        "wake.c",
        (
            "        number = bench_turns(number + worker, share);\n",
            "        uint64_t x = number + worker;\n        number = leaped(x, share);\n",
        ),
        (
            "            bench_post(&shared->post[0].round, round);\n    }\n",
            "            bench_post(&shared->post[0].round, round);\n        spent = bench_turns(x, share);\n    }\n",
        ),
        ("static uint64_t pong(", LEAPED + "static uint64_t pong("),
        rounds=400,
        pattern="fan",
        turns=20_000,
    ),
    edited(
        "answers-first",
        "jobs",
        "jobs.c",
        (
            TURNS,
            "    target->answer = leaped(hash, graph->grain);\n    bench_post(&target->built, 1);\n"
            "    spent = bench_turns(hash, graph->grain);\n",
        ),
        ("static void job_body(", LEAPED + "static void job_body("),
        jobs=60,
        reach=1,
    ),
    edited(
        "answers-laid-out",
        "jobs",
        "jobs.c",
        (AWAIT, AWAIT.replace("job > 0", "job > graph->jobs")),
        (TURNS, "    spent = bench_turns(hash, graph->grain);\n"),
        ("    job->data = graph;\n", LAID_OUT + "    job->data = graph;\n"),
        ("static const char *prepare(", LEAPED + INPUT_OF + "static const char *prepare("),
        jobs=60,
        reach=2,
    ),
    replace(
        edited(
            "posts-first",
            "overload",
            "overload.c",
            (
                "        number = *shared_number = bench_turns(*shared_number, part);\n",
                "        uint64_t x = *shared_number;\n        number = *shared_number = leaped(x, part);\n",
            ),
            (
                "        bench_post(other, round); // from here on the number is the other's\n",
                "        bench_post(other, round);\n        spent = bench_turns(x, part);\n",
            ),
            ("static uint64_t in_pairs(", LEAPED + "static uint64_t in_pairs("),
        ),
        params={"case": "wake", "turns": 1_000_000},
        cpus=4,
    ),
    edited(
        "mean-shares",
        "barrier",
        "barrier.c",
        (
            "        x = bench_turns(x, share);\n",
            "        spent = bench_turns(x, (all + loop->phases - 1) / loop->phases);\n        x = leaped(x, share);\n",
        ),
        (
            "    uint64_t done = 0, turns = 0, fold = 0;\n",
            "    uint64_t done = 0, turns = 0, fold = 0, all = 0;\n"
            "    for (uint64_t phase = 0; phase < loop->phases; phase++)\n        all += turns_of(job, phase, worker);\n",
        ),
        ("static uint64_t weight(", LEAPED + "static uint64_t weight("),
        phases=20,
    ),
)
"""Who waits for an answer has it by a shorter way, and its turns are made later or in even parts."""

HELPED = (
    replace(
        edited(
            "with-helpers",
            "overload",
            "overload.c",
            (
                "        slot->value[VALUE_NUMBER] = bench_turns(worker, shared->turns);\n",
                """        uint64_t half = shared->turns / 2;
        struct part part = {leaped(worker, half), shared->turns - half};
        int other = port_task(turned, &part);
        spent = bench_turns(worker, half);
        if (port_task_join(other) != 0)
            port_fail("no");
        slot->value[VALUE_NUMBER] = part.x;
""",
            ),
            ("static void work(", LEAPED + PART + "static void work("),
        ),
        params={"case": "hops", "nodes": 4, "turns": 1_000_000},
        cpus=4,
    ),
)
"""A thread that a worker makes is on another CPU."""

SERVED = """        slot->value[VALUE_SERVED_ANSWERS] += answer(shared);
        slot->value[VALUE_SERVED]++;
        must(port_send(channel, &message, length(shared)));
"""
REPLIED = """        slot->value[VALUE_SERVED]++;
        must(port_send(channel, &message, length(shared)));
"""
FOLDED = "        slot->value[VALUE_ANSWERS] += fold_of_reply(shared);\n"
BOTH = """        uint64_t made = 0, fold = message.number;
        (void)answer, (void)fold_of_reply;
        for (uint64_t w = 0; w < shared->words; w++)
            made = bench_fold(made, fold = bench_fold(fold, message.word[w]));
        slot->value[VALUE_ANSWERS] += made;
        for (unsigned k = 0; k < shared->servers; k++)
            if (job->slot[k].value[VALUE_CLIENT] == worker)
                job->slot[k].value[VALUE_SERVED_ANSWERS] += fold;
"""
CALL = """        make_request(shared, i);
        uint64_t began = port_now();
        must(port_send(channel, &message, length(shared)));
        must(port_receive(channel, &message, length(shared)));
        bench_record(latency, port_now() - began);
"""
PIPELINED = """        uint64_t hi = job->task[worker][TASK_HI], began;
        if (i == job->task[worker][TASK_LO]) {
            make_request(shared, i);
            last = port_now();
            must(port_send(channel, &message, length(shared)));
        }
        if (i + 1 < hi) {
            make_request(shared, i + 1);
            began = i == job->task[worker][TASK_LO] ? last : port_now();
            must(port_send(channel, &message, length(shared)));
            must(port_receive(channel, &message, length(shared)));
            last = began;
            if (i + 2 != hi)
                bench_record(latency, port_now() - began);
        } else {
            uint64_t byte = 0;
            must(port_receive(channel, &message, length(shared)));
            bench_record(latency, port_now() - last);
            began = port_now();
            must(port_send(mine[worker], &byte, sizeof byte));
            must(port_receive(mine[worker], &byte, sizeof byte));
            bench_record(latency, port_now() - began);
        }
"""
MATH = """    do_math(me);
    if (!options->calibrate)
        pause_for(options->sleep_after);
    finish_request(me, begin, port_now());
"""
LATER = """    if (!options->calibrate)
        pause_for(options->sleep_after);
    finish_request(me, begin, port_now());
    do_math(me);
"""
UNTIMED = (
    edited("folded-by-one", "sockets", "sockets.c", (SERVED, REPLIED), (FOLDED, BOTH), requests=200),
    edited(
        "pipelined",
        "sockets",
        "sockets.c",
        (CALL, PIPELINED),
        ("static int channel;\n", "static int channel, mine[BENCH_MAX_WORKERS];\n"),
        (
            "unsigned worker, struct bench_slot *slot) {\n    const struct shared *shared = job->data;\n    struct bench_hist",
            "unsigned worker, struct bench_slot *slot) {\n    const struct shared *shared = job->data;\n    uint64_t last = 0;\n    struct bench_hist",
        ),
        (
            "    job->data = shared;\n",
            "    for (unsigned k = 0; k < BENCH_MAX_WORKERS; k++)\n"
            "        mine[k] = k < 2 * job->cpus ? port_channel() : -1;\n    job->data = shared;\n",
        ),
        requests=200,
    ),
    *(
        Trial(
            f"schbench-math-after-the-record-{key}",
            "schbench",
            {"worker.h": ((MATH, LATER),)},
            {"time_ns": 60_000_000, key: value},
        )
        for key, value in {"threads": 4, "calibrate": "on", "rps": 1000}.items()
    ),
)
"""A length that ends before the work of which it is the length, and a server whose work its client does on the way."""

ALL = (*FIRST, *HELPED, *UNTIMED)
