"""The C of jobs, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.nativekit import Lie, expect_refused, expect_right

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("cpus", [1, 2, 3, 6])
@pytest.mark.parametrize("change", [{}, {"reach": 1, "inputs": 1}, {"inputs": 0}])
def test_every_worker_gives_the_correct_answer(tmp_path: Path, change: dict[str, object], cpus: int) -> None:
    expect_right(tmp_path, "jobs", change, cpus)


CHAIN = {"jobs": 10, "reach": 1, "inputs": 1, "grain": 10_000_000}
"""Jobs so long that one which does not wait begins before its input is there."""
LIES = [
    # a job that does not wait, is done for less, twice, by the worker itself, or not at all
    Lie(
        "jobs",
        "bench_await(&graph->target[input_of(graph, job, input)].built, 1);",
        "(void)job;",
        "reported root=",
        CHAIN,
    ),
    Lie(
        "jobs",
        "bench_turns(hash, graph->grain)",
        "bench_turns(hash, graph->grain - 1)",
        "the result reported root=",
    ),
    Lie("jobs", "target->done++;", "target->done += 1 + (number == 7);", "the result reported twice=1"),
    Lie("jobs", "target->done++;", "target->done += number != 7;", "the result reported lost=1"),
    Lie("jobs", "made++;", "made += number != 7;", "reported made=39"),
    Lie(
        "jobs",
        "int child = port_child(job_body, (uint64_t)target);\n"
        "    if (child < 0 || port_child_wait(child) != 0)",
        "job_body((uint64_t)target);\n    if (target->done == 0)",
        "reported at_home=40",
    ),
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.new)
def test_a_lie_is_found(tmp_path: Path, lie: Lie) -> None:
    expect_refused(tmp_path, lie)
