"""What each worker of services.c must report, from its number alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchgate import OracleRun, ParamValue, VerifyError, WorkerReport, expect

MESSAGE, SHORT_NS = 3000, 200_000


def check(
    _: Mapping[str, ParamValue], reports: Sequence[WorkerReport], result: Mapping[str, int], run: OracleRun
) -> None:
    count = len(reports)
    meeting = sum(range(2, count + 2))
    for report in reports:
        sender, number = (report.id - 1) % count, report.id + 2
        received = sum((sender + i) % 256 * (i + 1) for i in range(MESSAGE))
        done = {"task": number**2, "child": 3 * number, "status": 0, "sum": received, "meeting": meeting}
        expect(f"worker {report.id}", report.values, {**done, "pages": 3 * 4096, "timeout": 1})
    expect("the result", result, {"meeting": meeting})
    if run.histograms["late"].count != count:
        raise VerifyError("a sleep ended before its time")
    if run.hz is None:
        raise VerifyError("the guest did not say its clock's hz")
    if run.histograms["waited"].count != count or run.histograms["waited"].min < SHORT_NS * run.hz // 10**9:
        raise VerifyError("a wait ended before its timeout")
