"""sysbench did the events that were requested, in as many threads as there are CPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchgate import OracleRun, ParamValue, WorkerReport, expect_inside, expect_some, whole

ROUNDING_NS = 100_000


def check(
    params: Mapping[str, ParamValue],
    reports: Sequence[WorkerReport],
    result: Mapping[str, int],
    run: OracleRun,
) -> None:
    expect_some("sysbench", result, {"threads": run.cpus, "events": whole(params, "events")})
    expect_inside(run, "seconds", result["seconds"], ROUNDING_NS)
