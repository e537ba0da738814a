"""The correct answers of jobs.c, one job after another.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError.
Which worker has a job is not known, so what the workers did is checked together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from benchgate import (
    FOLD,
    ParamValue,
    WorkerReport,
    after_turns_from,
    expect,
    folded,
    random_numbers,
    together,
    whole,
)

_SEED_SPAN = 2**32
_MODULUS = 2**64


@lru_cache(maxsize=4)
def answers(jobs: int, inputs: int, reach: int, grain: int, seed: int) -> tuple[int, ...]:
    """The answer of each job."""
    # Turns are the same affine map for all jobs: where it takes 0, and how far apart it takes 0 and 1.
    addend = after_turns_from(0, grain)
    factor = after_turns_from(1, grain) - addend
    chosen = random_numbers(seed * _SEED_SPAN, seed * _SEED_SPAN + jobs * inputs).tolist()
    result: list[int] = []
    for job, value in enumerate(random_numbers(0, jobs).tolist()):
        for random in chosen[job * inputs : (job + 1) * inputs] if job else ():
            value = (value * FOLD + result[job - 1 - random % min(job, reach)]) % _MODULUS  # noqa: PLW2901
        result.append((value * factor + addend) % _MODULUS)
    return tuple(result)


def check(
    params: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    found = answers(*(whole(params, key) for key in ("jobs", "inputs", "reach", "grain", "seed")))
    root = folded(np.array(found, dtype=np.uint64))
    expect("the result", result, {"lost": 0, "twice": 0, "root": root})
    correct = {"made": len(found), "sum": sum(found) % _MODULUS, "at_home": 0}
    expect("the sum of all workers", together(reports), correct)
