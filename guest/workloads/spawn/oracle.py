"""The correct answers of spawn.c, in closed form.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from benchgate import (
    ParamValue,
    Words,
    WorkerReport,
    after_turns,
    equal_share,
    expect,
    folded,
    random_numbers,
    total,
    whole,
)


@lru_cache(maxsize=4)
def answers(errands: int, grain: int) -> Words:
    return after_turns(random_numbers(0, errands), grain)


def check(
    params: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    errands = whole(params, "errands")
    answer = answers(errands, whole(params, "grain"))
    for k, report in enumerate(reports):
        lo, hi = equal_share(errands, len(reports), k)
        correct = {"lo": lo, "hi": hi, "made": hi - lo, "sum": total(answer[lo:hi]), "elsewhere": hi - lo}
        expect(f"worker {report.id}", report.values, correct)
    expect("the result", result, {"lost": 0, "twice": 0, "fold": folded(answer)})
