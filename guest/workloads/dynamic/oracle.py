"""The correct answers of dynamic.c, for all items at once.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError.
Which worker does an item is not known, so the workers' counts and sums are checked together, and of each one
only that its items can have its turns. An item that nobody did, or that was done twice, is also counted in
the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from benchgate import (
    ParamValue,
    VerifyError,
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
    items, grain, skew, seed = (whole(params, key) for key in ("items", "grain", "skew", "seed"))
    whole_work, fold = answers(items, grain, skew, seed)
    expect("the result", result, {"lost": 0, "twice": 0, "fold": fold})
    expect("the sum of all workers", together(reports), whole_work)
    for report in reports:
        _check_share(report, items, grain, grain << skew)


def _check_share(report: WorkerReport, items: int, cheapest: int, dearest: int) -> None:
    """`balance` is made from single workers' turns, and their sum is right modulo 2^64 only."""
    had, turns = report.values["items"], report.values["turns"]
    if had > items:
        raise VerifyError(
            f"wrong answer: worker {report.id} reported items={had}, but there are only {items}"
        )
    if not had * cheapest <= turns <= had * dearest:
        raise VerifyError(
            f"wrong answer: worker {report.id} reported turns={turns}, but {had} items have "
            f"{had * cheapest} to {had * dearest}"
        )
