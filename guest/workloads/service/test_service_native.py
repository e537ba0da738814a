"""The C of service, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from tests.nativekit import Lie, refusals, right_answers

test_every_worker_gives_the_correct_answer = right_answers("service", {"route": "own"}, {"route": "spread"})

LIES = [
    # a reply that is not computed, one to another request, a latency that is dropped or made up
    Lie(
        "service",
        "message.argument);\n        served++",
        "message.number);\n        served++",
        "worker 0",
    ),
    Lie("service", ".argument = bench_mix(i)", ".argument = bench_mix(i + (i == 9))", "worker 0"),
    Lie("service", ".client = worker, .number = i,", ".client = worker, .number = i + 1,", "wrong=60"),
    Lie("service", "bench_record(latency,", "if (calls != 3)\n bench_record(latency,", "histogram"),
    Lie("service", "port_now() - began", "port_now() - began + 60000000000", "histogram"),
]

test_a_lie_is_found = refusals(LIES)
