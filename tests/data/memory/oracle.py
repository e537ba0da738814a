"""What memory.c must say besides its times, of which the tests know what they must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchgate import ParamValue, WorkerReport, expect


def check(
    params: Mapping[str, ParamValue], _reports: Sequence[WorkerReport], result: Mapping[str, int]
) -> None:
    expect("the result", result, {"steps": int(params["steps"])})
