"""The C of streamer, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from tests.nativekit import Lie, refusals, right_answers

test_every_worker_gives_the_correct_answer = right_answers(
    "streamer", {"passes": 40}, {"stride": 8, "passes": 8}
)

LIES = [
    # a pass that is skipped, a word that is read but not written, a last word that is not read
    Lie("streamer", "pass < arrays->passes; pass++)", "pass < arrays->passes; pass += 2)", "worker 0"),
    Lie(
        "streamer",
        "to[i * step] = bench_turns(word, 1);",
        "if (i != 99)\n                to[i * step] = bench_turns(word, 1);",
        "worker 0 reported sum=",
    ),
    Lie("streamer", "        read++;", "        read += i != 99;", "worker 0 reported read="),
]

test_a_lie_is_found = refusals(LIES)
