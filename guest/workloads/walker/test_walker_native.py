"""The C of walker, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from tests.nativekit import Lie, refusals, right_answers

test_every_worker_gives_the_correct_answer = right_answers("walker", {}, {"footprint_kb": 4, "seed": 9})

LIES = [
    # a step that is skipped, one to the neighbour, a shorter cycle
    Lie("walker", "; left > 0; left--)", "; left > worker; left--)", "worker 1 reported steps=49999"),
    Lie("walker", "at = line[at].next;", "at = left == 9 ? at + 1 : line[at].next;", "worker 0 reported"),
    Lie("walker", "lines - 1; i > 0; i--", "lines - 1; i > lines / 2; i--", "worker 0 reported at="),
]

test_a_lie_is_found = refusals(LIES)
