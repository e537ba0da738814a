"""The C of contend, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from tests.nativekit import Lie, refusals, right_answers

test_every_worker_gives_the_correct_answer = right_answers("contend", {"lock": "park"}, {"lock": "spin"})

LIES = [
    # a lost turn inside and outside of the lock, a take that counts twice
    Lie("contend", "->count++;", "->count += 1 + (shared->count == 7);", "the result reported chain="),
    Lie("contend", "->chain, shared->hold)", "->chain, shared->hold - (takes == 3))", "reported chain="),
    Lie("contend", "own = bench_turns(own, shared->delay);", "(void)0;", "worker"),
    # a lock that admits two. A section of a million turns takes about a millisecond, so two workers are in it
    # at once, or on one CPU one loses the CPU in it, long before there were 200
    *(
        Lie(
            "contend",
            "    if (!shared->parks) {\n        bench_lock(",
            "    if (shared->takes != 0)\n        return;\n    if (!shared->parks) {\n        bench_lock(",
            "the result reported chain=|the sum of all workers reported takes=",
            {"lock": lock, "takes": 200, "hold": 1_000_000},
        )
        for lock in ("park", "spin")
    ),
]

test_a_lie_is_found = refusals(LIES)
