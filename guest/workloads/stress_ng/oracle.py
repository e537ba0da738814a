"""stress-ng did the operations that were requested, in as many workers as there are CPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchgate import OracleRun, ParamValue, VerifyError, WorkerReport, expect_some, whole

A_CALL = 6
"""One call of a method is worth up to so many operations, so that those of all methods take about as long."""


def check(
    params: Mapping[str, ParamValue],
    reports: Sequence[WorkerReport],
    result: Mapping[str, int],
    run: OracleRun,
) -> None:
    expect_some("stress-ng", result, {"workers": run.cpus})
    least = -(-whole(params, "ops") // run.cpus) * run.cpus  # rounded up, so that all do at least `ops`
    most = least + (A_CALL - 1) * run.cpus
    if not least <= result["ops"] <= most:
        raise VerifyError(f"wrong answer: stress-ng reported ops={result['ops']}, expected {least} to {most}")
