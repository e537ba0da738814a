"""The C of barrier, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from tests.nativekit import Lie, refusals, right_answers

test_every_worker_gives_the_correct_answer = right_answers("barrier")

LIES = [
    # a phase without work, with an old value, without a barrier
    Lie("barrier", "bench_turns(x, share)", "bench_turns(x, phase == 3 ? 0 : share)", "worker"),
    Lie("barrier", "[worker].is = x", "[worker].is = phase == 3 ? 0 : x", "worker"),
    Lie("barrier", "bench_barrier(&loop->barrier);", "(void)0;", "worker"),
    # the last phase ends without a barrier, which no later phase shows
    Lie(
        "barrier",
        "        bench_barrier(&loop->barrier);",
        "        if (done < loop->phases)\n            bench_barrier(&loop->barrier);",
        "the result reported phases=11",
    ),
]

test_a_lie_is_found = refusals(LIES)
