"""The correct answers of counters.c, in closed form.

Takes the parameters and reports of a run; gives nothing if they are correct, else fails with VerifyError. The
counters must also lie where the parameter `layout` says: eight bytes apart, or 128.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchgate import ParamValue, VerifyError, WorkerReport, after_turns_from, expect, ranges, whole

APART = {"packed": 8, "padded": 128}


def check(
    params: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    steps, delay = whole(params, "steps"), whole(params, "delay")
    layout = str(params["layout"])
    if layout not in APART:
        raise VerifyError(f"layout {layout} is not known")
    for k, (report, (lo, hi)) in enumerate(zip(reports, ranges(reports, 0, steps), strict=True)):
        own = after_turns_from(k, (hi - lo) * delay)
        expect(f"worker {report.id}", report.values, {"lo": lo, "hi": hi, "count": hi - lo, "own": own})
    expect("the result", result, {"sum": steps, "offset": 0, "apart": APART[layout]})
