"""hackbench ran the groups, tasks and messages that were requested, and took no longer than its window."""

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
    groups, senders = whole(params, "groups"), whole(params, "fds")
    right = {
        "groups": groups,
        "fds": 2 * senders,  # of senders and receivers
        "tasks": groups * 2 * senders,
        "loops": whole(params, "loops"),
        "bytes": whole(params, "bytes"),
    }
    expect_some("hackbench", result, right)
    expect_inside(run, "seconds", result["seconds"], ROUNDING_NS)
