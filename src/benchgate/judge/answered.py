"""Asks a workload's oracle about one transcript, and computes the workload's metrics.

Takes a workload, its parameters and a parsed transcript; gives what the oracle was told of the run, and what
the metrics need. Fails with VerifyError if the answers are wrong, and as judge/oracle.py does.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchgate.base.cells import Params, Window
from benchgate.base.metrics import SECOND_NS
from benchgate.base.workloads import Workload
from benchgate.judge import tool_result
from benchgate.judge.metrics import Reported
from benchgate.judge.oracle import ORACLES
from benchgate.judge.oracle_run import OracleRun
from benchgate.judge.wire import Transcript


def check_answers(
    workload: Workload, params: Params, cpus: int, transcript: Transcript
) -> tuple[Transcript, OracleRun]:
    """The transcript with the numbers that an existing program printed, and what the oracle knew."""
    if workload.tool:
        transcript = tool_result.with_result(workload.tool, transcript)
    seen = OracleRun(
        cpus=cpus,
        unit=transcript.unit,
        hz=transcript.hz,
        work=transcript.work_end - transcript.work_start,
        total=transcript.total_end - transcript.total_start,
        by_worker=transcript.histograms,
    )
    if workload.has_oracle:
        ORACLES.check(workload.oracle, dict(params), transcript.reports, transcript.result, seen)
    return transcript, seen


def reported(
    transcript: Transcript, seen: OracleRun, windows: Mapping[Window, int], hz: int | None
) -> Reported:
    """`windows`: in a unit of which `hz` are one second."""
    in_ns = {window: length * SECOND_NS / hz for window, length in windows.items()} if hz else None
    return Reported(transcript.reports, transcript.result, seen.histograms, transcript.hz, in_ns)
