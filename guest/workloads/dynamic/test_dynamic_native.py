"""The C of dynamic, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from tests.nativekit import Lie, refusals, right_answers

test_every_worker_gives_the_correct_answer = right_answers("dynamic", {}, {"skew": 0})

LIES = [
    # an item that nobody does, one done twice, one done for less
    Lie("dynamic", "items++;", "items += item != 7;", "the sum of all workers reported items=299"),
    Lie("dynamic", "->done[item], 1,", "->done[item], item != 7,", "the result reported lost=1"),
    Lie("dynamic", "->done[item], 1,", "->done[item], 1 + (item == 3),", "the result reported twice=1"),
    Lie("dynamic", "(&queue->next))", "(&queue->next) - (queue->next == 40))", "the result reported lost=1"),
    Lie("dynamic", "(random, cost)", "(random, cost - (item == 9))", "the result reported fold="),
    # turns that are credited to another worker, so that the sum stays right
    Lie(
        "dynamic",
        "VALUE_TURNS] = turns;",
        "VALUE_TURNS] = turns + (worker == 0 ? -1000000ull : 1000000);",
        r"reported turns=\d+, but",
    ),
]

test_a_lie_is_found = refusals(LIES)
