"""The C of spawn, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from tests.nativekit import Lie, refusals, right_answers

test_every_worker_gives_the_correct_answer = right_answers(
    "spawn", {"kind": "thread"}, {"kind": "process", "live": 3}
)

LIES = [
    # an errand that is not done, done twice, not waited for, done by the worker itself
    Lie("spawn", "+= errand->asked;", "+= errand->number != 7;", "the result reported lost=1"),
    Lie("spawn", "+= errand->asked;", "+= 1 + (errand->number == 7);", "the result reported twice=1"),
    # the next errand as well, for which a thread is created that does nothing
    Lie(
        "spawn",
        "    run_errand(argument);",
        "    struct errand *errand = argument;\n"
        "    for (unsigned i = 0; errand->number % 2 == 0 && i < 2; i++)\n"
        "        run_errand(&errand[i]);",
        "the result reported lost=60",
        {"errands": 120},
    ),
    Lie(
        "spawn",
        "join(shared, started[i]);",
        "if (shared->errand[at].number == 29)\n                join(shared, started[i]);",
        "worker",
        {"grain": 1_000_000},
    ),
    Lie(
        "spawn",
        "int number =\n",
        "if (shared->threads)\n"
        "        return run_errand(errand), port_task((void (*)(void *))port_yield, errand);\n"
        "    int number =\n",
        "worker 0 reported elsewhere=0",
    ),
    Lie(
        "spawn",
        "int number =\n",
        "if (!shared->threads)\n        process_body((uint64_t)errand);\n    int number =\n",
        "worker 0 reported elsewhere=0",
        {"kind": "process"},
    ),
]

test_a_lie_is_found = refusals(LIES)
