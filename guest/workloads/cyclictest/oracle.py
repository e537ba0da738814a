"""cyclictest woke as often as was requested, and no wake-up was later than its window is long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchgate import (
    OracleRun,
    ParamValue,
    VerifyError,
    WorkerReport,
    expect_inside,
    expect_some,
    whole,
)

ROUNDING_NS = 1_000


def check(
    params: Mapping[str, ParamValue],
    reports: Sequence[WorkerReport],
    result: Mapping[str, int],
    run: OracleRun,
) -> None:
    loops, interval_ns = whole(params, "loops"), 1_000 * whole(params, "interval_us")
    # It ends with its first thread, so another one may lack wake-ups.
    expect_some("cyclictest", result, {"threads": run.cpus, "most": loops})
    if not 1 <= result["fewest"] <= loops:
        raise VerifyError(f"cyclictest had a thread with {result['fewest']} wake-ups, not 1 to {loops}")
    expect_inside(run, "the sum of its intervals", (loops - 1) * interval_ns, ROUNDING_NS)
    if result["earliest"] > result["latest"]:
        raise VerifyError(
            f"cyclictest reported earliest={result['earliest']}, more than latest={result['latest']}"
        )
    expect_inside(run, "latest", result["latest"], ROUNDING_NS)
