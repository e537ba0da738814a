"""The answers of rascal: its turns, computed here again, and that none of its attacks succeeded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchgate import ParamValue, VerifyError, WorkerReport

TURNS, FACTOR, STEP, MASK = 100_000, 6364136223846793005, 1442695040888963407, 2**64 - 1


def check(
    params: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    value = 1
    for _ in range(TURNS):
        value = (value * FACTOR + STEP) & MASK
    for report in reports:
        if report.values["turned"] != value:
            raise VerifyError(f"worker {report.id} turned to another number")
    if result["attacks"]:
        raise VerifyError(f"{result['attacks']} attacks on other processes succeeded")
