"""The C of jobs, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from tests.nativekit import Lie, refusals, right_answers

test_every_worker_gives_the_correct_answer = right_answers(
    "jobs", {}, {"reach": 1, "inputs": 1}, {"inputs": 0}
)

CHAIN = {"jobs": 10, "reach": 1, "inputs": 1, "grain": 10_000_000}
"""Jobs so long that one which does not wait begins before its input is there."""
LIES = [
    # a job that does not wait, is done for less, twice, by the worker itself, or not at all
    Lie(
        "jobs",
        "bench_await(&graph->target[input_of(graph, job, input)].built, 1);",
        "(void)job;",
        "reported root=",
        CHAIN,
    ),
    Lie(
        "jobs",
        "bench_turns(hash, graph->grain)",
        "bench_turns(hash, graph->grain - 1)",
        "the result reported root=",
    ),
    Lie("jobs", "target->done++;", "target->done += 1 + (number == 7);", "the result reported twice=1"),
    Lie("jobs", "target->done++;", "target->done += number != 7;", "the result reported lost=1"),
    Lie("jobs", "made++;", "made += number != 7;", "reported made=39"),
    Lie(
        "jobs",
        "int child = port_child(job_body, (uint64_t)target);\n"
        "    if (child < 0 || port_child_wait(child) != 0)",
        "job_body((uint64_t)target);\n    if (target->done == 0)",
        "reported at_home=40",
    ),
]

test_a_lie_is_found = refusals(LIES)
