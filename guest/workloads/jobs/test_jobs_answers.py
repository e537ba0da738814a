"""The oracle of jobs, compared with a graph that is built one job and one turn at a time."""

from __future__ import annotations

from itertools import pairwise

import pytest

from benchgate import ParamValue, VerifyError
from guest.workloads.jobs import oracle as jobs
from tests.answerkit import MODULUS, folded, mixed, refuses_every_lie, reports_of, turned

JOBS, INPUTS, REACH, GRAIN, SEED = 17, 3, 4, 5, 2
PARAMS: dict[str, ParamValue] = {
    "jobs": JOBS,
    "inputs": INPUTS,
    "reach": REACH,
    "grain": GRAIN,
    "seed": SEED,
}


def inputs_of(job: int) -> list[int]:
    """Never the job itself, and at most REACH before it."""
    random = [mixed(SEED * 2**32 + job * INPUTS + i) for i in range(INPUTS)]
    return [job - 1 - number % min(job, REACH) for number in random] if job else []


def answers(early: int = -1) -> list[int]:
    """The answers of all jobs. The job `early` is done before its first input is there, which it reads as
    0."""
    result: list[int] = []
    for job in range(JOBS):
        needed = [result[i] for i in inputs_of(job)]
        if job == early:
            needed[0] = 0
        value = mixed(job)
        for answer in needed:
            value = (value * 0x9FB21C651E98DF25 + answer) % MODULUS
        result.append(turned(value, GRAIN))
    return result


def run(workers: int, early: int = -1) -> tuple[list[dict[str, int]], dict[str, int]]:
    result = answers(early)
    cuts = [JOBS * k * k // workers**2 for k in range(workers + 1)]  # any division is right
    rows = [{"made": hi - lo, "sum": sum(result[lo:hi]) % MODULUS, "at_home": 0} for lo, hi in pairwise(cuts)]
    return rows, {"lost": 0, "twice": 0, "root": folded(result)}


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_every_job_is_checked(workers: int) -> None:
    rows, result = run(workers)
    refuses_every_lie(lambda r, s: jobs.check(PARAMS, r, s), reports_of(rows), result)


def test_a_job_needs_earlier_ones_only() -> None:
    assert all(max(job - REACH, 0) <= i < job for job in range(JOBS) for i in inputs_of(job))


def test_a_job_that_did_not_wait_for_its_inputs_is_refused() -> None:
    rows, result = run(2, early=9)
    with pytest.raises(VerifyError, match="the result reported root="):
        jobs.check(PARAMS, reports_of(rows), result)
