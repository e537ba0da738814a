"""The C of counters, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from tests.nativekit import Lie, refusals, right_answers

test_every_worker_gives_the_correct_answer = right_answers(
    "counters", {"layout": "packed"}, {"layout": "padded"}, cpus=(1, 2, 3)
)

LIES = [
    # an increment that is lost, work that is not done, counters elsewhere than asked for
    Lie("counters", "_RELAXED) + 1, __", "_RELAXED) + (step != 7), __", "worker 0 reported count="),
    Lie("counters", "own = bench_turns(own, delay);", "(void)delay;", "worker 0 reported own="),
    Lie("counters", "packed ? 1 : PADDED", "packed ? PADDED : 1", "the result reported .*apart=8"),
    Lie("counters", "sum += *", "sum += k * *", "the result reported sum="),
]

test_a_lie_is_found = refusals(LIES)
