"""stress-ng did the operations that were requested, in as many workers as there are CPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchgate import OracleRun, ParamValue, WorkerReport, expect_some, whole


def check(
    params: Mapping[str, ParamValue],
    reports: Sequence[WorkerReport],
    result: Mapping[str, int],
    run: OracleRun,
) -> None:
    each = -(-whole(params, "ops") // run.cpus)  # rounded up, so that all together do at least `ops`
    expect_some("stress-ng", result, {"workers": run.cpus, "ops": each * run.cpus})
