"""The correct answers of contend.c, in closed form.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError. How
the takes divide among the workers is up to the system, but they must add up; each worker's own number shows
its takes once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchgate import ParamValue, VerifyError, WorkerReport, after_turns_from, expect, whole


def check(
    params: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    takes, delay = whole(params, "takes"), whole(params, "delay")
    chain = after_turns_from(0, takes * whole(params, "hold"))
    expect("the result", result, {"takes": takes, "chain": chain})
    for k, report in enumerate(reports):
        had = report.values.get("takes", 0)
        if had > takes:
            raise VerifyError(
                f"wrong answer: worker {report.id} reported takes={had}, but there are only {takes}"
            )
        expect(f"worker {report.id}", report.values, {"takes": had, "own": after_turns_from(k, had * delay)})
    expect("the sum of all workers", {"takes": sum(r.values["takes"] for r in reports)}, {"takes": takes})
