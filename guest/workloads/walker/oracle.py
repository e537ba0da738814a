"""The correct answers of walker.c: the cycle is laid out in the order of the walk, so that a walk is a slice.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from benchgate import ParamValue, Words, WorkerReport, equal_share, expect, folded, random_numbers, whole

_LINES_PER_KB = 16
_SEED_SPAN = 2**32


@lru_cache(maxsize=4)
def walk_order(lines: int, seed: int) -> Words:
    """The lines as a walk from line 0 comes to them, line 0 last."""
    random = random_numbers(seed * _SEED_SPAN, seed * _SEED_SPAN + lines)[1:]
    others = (random % np.arange(1, lines, dtype=np.uint64)).tolist()
    after = list(range(lines))
    for i in range(lines - 1, 0, -1):
        after[i], after[others[i - 1]] = after[others[i - 1]], after[i]
    order, at = [], 0
    for _ in range(lines):
        at = after[at]
        order.append(at)
    return np.array(order, dtype=np.uint64)


def walk(order: Words, first: int, steps: int) -> tuple[int, int]:
    """The place where a walk of so many steps from `first` ends, and its digest."""
    begin = int(np.flatnonzero(order == first)[0]) + 1
    seen = np.take(order, np.arange(begin, begin + steps), mode="wrap")
    return int(seen[-1]) if steps else first, folded(seen)


def check(
    params: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    lines, steps = whole(params, "footprint_kb") * _LINES_PER_KB, whole(params, "steps")
    order = walk_order(lines, whole(params, "seed"))
    digests = []
    for k, report in enumerate(reports):
        lo, hi = equal_share(steps, len(reports), k)
        first = lines * k // len(reports)
        end, digest = walk(order, first, hi - lo)
        correct = {"lo": lo, "hi": hi, "first": first, "steps": hi - lo, "at": end, "digest": digest}
        expect(f"worker {report.id}", report.values, correct)
        digests.append(digest)
    expect("the result", result, {"steps": steps, "digest": folded(np.array(digests, dtype=np.uint64))})
