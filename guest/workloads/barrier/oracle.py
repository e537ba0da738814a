"""The correct answers of barrier.c: all phases of all workers, one phase after the other.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError. The
turns of a phase are computed for all workers at once, in closed form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from benchgate import (
    ParamValue,
    Words,
    WorkerReport,
    after_turns,
    expect,
    folded,
    random_numbers,
    total,
    whole,
)

_PLACES = 64
"""Random numbers per phase: BENCH_MAX_WORKERS."""


def shares(phases: int, turns: int, workers: int) -> Words:
    """The turns of [phase, worker]."""
    random = random_numbers(0, phases * _PLACES).reshape(phases, _PLACES)[:, :workers]
    weight = np.uint64(8) + random % np.uint64(8)
    result: Words = np.uint64(turns) * weight // weight.sum(axis=1, keepdims=True, dtype=np.uint64)
    return result


@lru_cache(maxsize=16)
def values(phases: int, turns: int, workers: int) -> Words:
    """The value of [phase, worker]."""
    result = np.empty((phases, workers), dtype=np.uint64)
    before = 0
    numbers = np.arange(workers, dtype=np.uint64)
    for phase, share in enumerate(shares(phases, turns, workers)):
        result[phase] = after_turns(numbers + np.uint64(before), share)
        before = total(result[phase])
    return result


def check(
    params: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    phases, turns = whole(params, "phases"), whole(params, "turns")
    value = values(phases, turns, len(reports))
    share = shares(phases, turns, len(reports))
    for k, report in enumerate(reports):
        correct = {"phases": phases, "turns": total(share[:, k]), "fold": folded(value[:, k])}
        expect(f"worker {report.id}", report.values, correct)
    expect("the result", result, {"phases": phases, "sum": total(value[-1])})
