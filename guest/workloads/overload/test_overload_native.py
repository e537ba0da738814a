"""The C of overload on this host, whose CPUs it leaves alone: right answers, and lies that are refused."""

from __future__ import annotations

from tests.nativekit import Lie, refusals, right_answers

test_every_worker_gives_the_correct_answer = right_answers(
    "overload",
    {"case": "home"},
    {"case": "group"},
    {"case": "hops"},
    {"case": "wake"},
    {"case": "hotplug"},
    cpus=(2, 4),
)

LIES = [
    # turns that are not made, a part that is left out, a number that another pair has turned
    Lie("overload", "= bench_turns(worker, shared->turns);", "= worker;", "worker 0", {"case": "group"}),
    Lie("overload", "round = 1; round <=", "round = 1; round <", "worker 0", {"case": "wake"}),
    Lie("overload", "&shared->number[worker / 2],", "&shared->number[0],", "worker", {"case": "wake"}),
    Lie("overload", "left += !(", "left += 1 + !(", "the result", {"case": "home"}),
    # threads that may not leave home, or begin elsewhere
    Lie("overload", "far = nodes / 2", "far = 0", "worker 0", {"case": "hops"}),
    Lie("overload", "k < hogs ? cpus_from((k + 1) * each, 1) : home", "home", "worker 0", {"case": "group"}),
]

test_a_lie_is_found = refusals(LIES)
