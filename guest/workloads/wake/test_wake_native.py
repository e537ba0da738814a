"""The C of wake, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from tests.nativekit import Lie, refusals, right_answers

test_every_worker_gives_the_correct_answer = right_answers("wake", {"pattern": "pong"}, {"pattern": "fan"})

LIES = [
    # a number that is not turned, a wake-up that is not recorded or made up
    Lie("wake", "number = bench_turns(number, shared->turns);", "(void)0;", "worker 0"),
    Lie("wake", "bench_turns(number + worker, share)", "number + worker", "worker 0", {"pattern": "fan"}),
    Lie("wake", "bench_record(wakeup,", "if (round != 3)\n        bench_record(wakeup,", "histogram"),
    Lie("wake", "port_now() - post->when", "port_now() - post->when + 60000000000", "histogram"),
]

test_a_lie_is_found = refusals(LIES)
