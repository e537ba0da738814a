"""The correct answers of locks.c, in closed form.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError. How
the takes divide among the workers is up to the lock and the machine. But they must add up, no holder may have
met another, and nobody can have been passed more often than the others took the lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchgate import ParamValue, VerifyError, WorkerReport, after_turns_from, expect, whole


def check(
    params: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    takes, delay = whole(params, "takes"), whole(params, "delay")
    for k, report in enumerate(reports):
        had = report.values.get("takes", 0)
        expect(f"worker {report.id}", report.values, {"takes": had, "own": after_turns_from(k, had * delay)})
    shares = [report.values["takes"] for report in reports]
    expect("the sum of all workers", {"takes": sum(shares)}, {"takes": takes})
    passed = result.get("passed", 0)
    chain = after_turns_from(0, takes * whole(params, "hold"))
    expect("the result", result, {"takes": takes, "chain": chain, "met": 0, "passed": passed})
    most = max((takes - had for had in shares if had > 1), default=0)
    if passed > most:
        raise VerifyError(f"a worker was passed {passed} times, but the others took the lock {most} times")
