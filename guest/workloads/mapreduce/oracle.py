"""The correct answers of mapreduce.c: all keys at once, in numpy; the buckets by sorting instead of counting.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

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

_BUCKETS = 256


@lru_cache(maxsize=4)
def keys(words: int, grain: int) -> Words:
    return after_turns(random_numbers(0, words), grain)


def table(found: Words) -> Words:
    """Count and sum of the keys of each bucket, by turns."""
    ordered = np.sort(found)
    first = np.arange(_BUCKETS, dtype=np.uint64) << np.uint64(56)
    cuts = np.append(np.searchsorted(ordered, first), len(ordered))
    flat = [number for lo, hi in pairwise(cuts) for number in (hi - lo, total(ordered[lo:hi]))]
    return np.array(flat, dtype=np.uint64)


def merges(worker: int, workers: int) -> int:
    """How many tables a worker adds to its own: one for each power of two below its lowest set bit."""
    lowest = worker & -worker or workers
    return sum(worker + 2**i < workers for i in range((lowest - 1).bit_length()))


def given_to(worker: int, workers: int) -> int:
    """One after the last worker whose words are in the table that this one gives on."""
    return min(worker + (worker & -worker), workers) if worker else workers


def check(
    params: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    words = whole(params, "words")
    found = keys(words, whole(params, "grain"))
    for k, report in enumerate(reports):
        lo, hi = equal_share(words, len(reports), k)
        correct = {"lo": lo, "hi": hi, "words": hi - lo, "sum": total(found[lo:hi])}
        expect(f"worker {report.id}", report.values, {**correct, "merges": merges(k, len(reports))})
    cuts = [equal_share(words, len(reports), k)[0] for k in range(len(reports))] + [words]
    tables = [table(found[cuts[k] : cuts[given_to(k, len(reports))]]) for k in range(len(reports))]
    right = {"words": words, "sum": total(found), "fold": folded(tables[0])}
    expect("the result", result, {**right, "tables": folded(np.concatenate(tables))})
