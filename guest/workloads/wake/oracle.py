"""The correct answers of wake.c: every number that was posted, in closed form.

Takes the parameters, reports and histograms of a run; gives nothing if they are correct, else fails with
VerifyError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from benchgate import (
    OracleRun,
    ParamValue,
    VerifyError,
    WorkerReport,
    after_turns,
    after_turns_from,
    equal_share,
    expect,
    expect_histogram,
    expect_no_overlap,
    total,
    whole,
)

Rows = list[dict[str, int]]


def pong(rounds: int, turns: int, cpus: int) -> Rows:
    """What each worker reports. Worker 2i starts from 2i; the two of a pair turn one number by turns."""
    result = []
    for worker in range(2 * cpus):
        lo, hi = equal_share(rounds, cpus, worker // 2)
        made = hi - lo
        # The last post of a pair is that of its odd worker, and its even worker receives it.
        number = after_turns_from(worker // 2 * 2, 2 * made * turns)
        result.append({"lo": lo, "hi": hi, "wakes": made, "turns": made * turns, "number": number})
    return result


@lru_cache(maxsize=16)
def fan_numbers(rounds: int, share: int, others: int) -> tuple[list[int], int]:
    """What each worker but the first made of the last post, and their sum."""
    numbers = np.arange(1, others + 1, dtype=np.uint64)
    posted = 0
    for _ in range(rounds):
        made = after_turns(numbers + np.uint64(posted), share)
        posted = total(made)
    return made.tolist(), posted


def fan(rounds: int, turns: int, cpus: int) -> Rows:
    share = turns // cpus
    numbers, last = fan_numbers(rounds, share, cpus)
    task = {"lo": 0, "hi": rounds}
    first = {**task, "wakes": 0, "turns": 0, "number": last}
    return [first, *({**task, "wakes": rounds, "turns": rounds * share, "number": n} for n in numbers)]


def check(
    params: Mapping[str, ParamValue],
    reports: Sequence[WorkerReport],
    result: Mapping[str, int],
    run: OracleRun,
) -> None:
    rounds, turns = whole(params, "rounds"), whole(params, "turns")
    rows = fan(rounds, turns, run.cpus) if params["pattern"] == "fan" else pong(rounds, turns, run.cpus)
    if len(reports) != len(rows):
        raise VerifyError(f"{len(reports)} workers reported, but {run.cpus} CPUs need {len(rows)}")
    for report, row in zip(reports, rows, strict=True):
        expect(f"worker {report.id}", report.values, row)
    expect("the result", result, {"wakes": sum(row["wakes"] for row in rows), "rounds": rounds})
    expect_histogram(run, "wakeup", by_worker=[row["wakes"] for row in rows])
    expect_no_overlap(run, "wakeup")
