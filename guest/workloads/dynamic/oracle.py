"""The correct answers of dynamic.c, for all items at once.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError.
Which worker does an item is not known, so the workers' counts and sums are checked together. An item that
nobody did, or that was done twice, is also counted in the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from benchgate import (
    ParamValue,
    WorkerReport,
    after_turns,
    expect,
    folded,
    random_numbers,
    together,
    total,
    whole,
)


@lru_cache(maxsize=4)
def answers(items: int, grain: int, skew: int, seed: int) -> tuple[dict[str, int], int]:
    """What all workers report together, and the fold of all answers."""
    random = random_numbers(seed, seed + items)
    doublings = np.zeros(items, dtype=np.uint64)
    for zeros in range(1, skew + 1):
        doublings += random % np.uint64(2**zeros) == 0
    turns = np.uint64(grain) << doublings
    answer = after_turns(random, turns)
    return {"items": items, "turns": total(turns), "sum": total(answer)}, folded(answer)


def check(
    params: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    whole_work, fold = answers(*(whole(params, key) for key in ("items", "grain", "skew", "seed")))
    expect("the result", result, {"lost": 0, "twice": 0, "fold": fold})
    expect("the sum of all workers", together(reports), whole_work)
