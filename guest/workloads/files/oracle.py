"""The correct answers of files.c: the blocks of a file at once, in numpy.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchgate import (
    FOLD,
    ParamValue,
    WorkerReport,
    after_turns,
    equal_share,
    expect,
    folded,
    random_numbers,
    whole,
)

_KIB = 1024
_WORD = 8
_MODULUS = 2**64


@dataclass(frozen=True)
class Plan:
    count: int
    blocks: int
    block_kb: int
    rounds: int


@lru_cache(maxsize=1024)
def file_digest(plan: Plan, turn: int, number: int) -> int:
    """The fold of what a file holds in one round."""
    first = (turn * plan.count + number) * plan.blocks
    words = plan.block_kb * _KIB // _WORD
    start = random_numbers(first, first + plan.blocks)[:, np.newaxis]
    return folded(after_turns(start, np.arange(words, dtype=np.uint64)).ravel())


def digest(plan: Plan, lo: int, hi: int) -> int:
    """The fold of all that a worker reads: file after file, round after round."""
    shift = pow(FOLD, plan.blocks * plan.block_kb * _KIB // _WORD, _MODULUS)
    result = 0
    for turn in range(plan.rounds):
        for number in range(lo, hi):
            result = (result * shift + file_digest(plan, turn, number)) % _MODULUS
    return result


def check(
    params: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    plan = Plan(*(whole(params, key) for key in ("count", "blocks", "block_kb", "rounds")))
    digests = []
    for k, report in enumerate(reports):
        lo, hi = equal_share(plan.count, len(reports), k)
        digests.append(digest(plan, lo, hi))
        syncs, size = (hi - lo) * plan.rounds, (hi - lo) * plan.blocks * plan.block_kb * _KIB
        correct = {"lo": lo, "hi": hi, "syncs": syncs, "digest": digests[-1], "bytes": size}
        moved = {"written": syncs * plan.blocks, "read": syncs * plan.blocks}
        expect(f"worker {report.id}", report.values, correct | moved)
    blocks = plan.count * plan.blocks * plan.rounds
    expect("the result", result, {"blocks": blocks, "digest": folded(np.array(digests, dtype=np.uint64))})
