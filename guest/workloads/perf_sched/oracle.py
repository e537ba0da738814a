"""perf bench sent the numbers that were requested, and took no longer than its window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchgate import OracleRun, ParamValue, WorkerReport, expect_inside, expect_some, whole

ROUNDING_NS = 1_000_000


def check(
    params: Mapping[str, ParamValue],
    reports: Sequence[WorkerReport],
    result: Mapping[str, int],
    run: OracleRun,
) -> None:
    expect_some("perf bench", result, {"loops": whole(params, "loops")})
    expect_inside(run, "seconds", result["seconds"], ROUNDING_NS)
