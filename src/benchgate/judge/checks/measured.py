"""What the machine measured of a run's histograms, which its metrics use in place of what the guest printed.

Takes the run's files, its workload and its transcript; gives a histogram in ns by name, of all threads that
are workers with values in the guest's own one. None of a log without operations. Fails with VerifyError,
which names both sides, if the guest's histogram is not what the machine measured (machine_figures.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.runs import WorkerReport
from benchgate.base.statistics.histogram import Histogram, merged
from benchgate.base.workload.metrics import SECOND_NS
from benchgate.base.workload.workloads import Workload
from benchgate.insn.log import ClockLog
from benchgate.insn.operations import ThreadOperations
from benchgate.judge.accounts.threads.worker_sleeps import clock_shift
from benchgate.judge.checks.machine_figures import Slack, Spans, contradiction
from benchgate.judge.run_files import RunFiles
from benchgate.judge.wire import Transcript

SLACK = Slack(below_ns=5_000, above_ns=10_000)
STRAYS = 2
"""So many values of each worker may be longer than the machine measured."""


def measured(files: RunFiles, workload: Workload, transcript: Transcript) -> Mapping[str, Histogram]:
    if files.run.lane is not Lane.INSN or not transcript.hz:
        return {}
    found = files.clock.operations
    known = {name: found[name] for name in workload.machine if name in found}
    pairs = {
        name: _compared(name, threads, files.clock, workload, transcript)
        for name, threads in known.items()
        if name in transcript.histograms
    }
    return {name: histogram for name, histogram in pairs.items() if histogram is not None}


def _compared(
    name: str, threads: Sequence[ThreadOperations], log: ClockLog, workload: Workload, transcript: Transcript
) -> Histogram | None:
    """What the machine measured; None if it has not as many spans as the guest has values."""
    each = transcript.histograms[name]
    reporters = [number for number, one in enumerate(each) if one.count]
    of_worker = threads_of_workers(threads, transcript.reports, log, transcript.hz or SECOND_NS)
    mine = [of_worker[number] for number in reporters if number in of_worker]
    operation, said = workload.machine[name], merged(each)
    inner, outer = (merged(getattr(thread, kind) for thread in mine) for kind in ("inner", "outer"))
    spans, slack = Spans(inner, outer, operation.is_wake), replace(SLACK, strays=STRAYS * len(mine))
    tick = Fraction(SECOND_NS, transcript.hz or SECOND_NS)
    if wrong := contradiction(said, tick, spans, slack):
        calls = f"from {' or '.join(operation.begins)} to {' or '.join(operation.ends)}"
        raise VerifyError(f"the machine contradicts the guest: histogram {name} ({calls}): {wrong}")
    return outer if said.count == outer.count else None


def threads_of_workers(
    threads: Sequence[ThreadOperations], reports: Sequence[WorkerReport], log: ClockLog, hz: int
) -> Mapping[int, ThreadOperations]:
    """Which thread each worker is: the one whose marks are nearest to the times that it reports, on the CPU
    where it says that it began."""
    shift, ticks = clock_shift(reports, log, hz), Fraction(SECOND_NS, hz)
    pairs = sorted(
        (_distance(thread, report, shift, ticks), report.id, place)
        for report in reports
        for place, thread in enumerate(threads)
        if thread.vcpu == report.cpu
    )
    result: dict[int, int] = {}
    for _, worker, place in pairs:
        if worker not in result and place not in result.values():
            result[worker] = place
    return {worker: threads[place] for worker, place in result.items()}


def _distance(thread: ThreadOperations, report: WorkerReport, shift: Fraction, ticks: Fraction) -> Fraction:
    end = thread.begin if thread.end is None else thread.end
    return abs(report.start * ticks - shift - thread.begin) + abs(report.end * ticks - shift - end)
