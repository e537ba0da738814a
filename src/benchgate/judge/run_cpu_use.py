"""How many CPUs a run used in each of its windows, from its files.

Takes the files of a run, and what it reports of its windows and workers; gives a CpuUse for each window of
which something is known. Fails with VerifyError if workers report that they worked on CPUs that were halted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchgate.base.cells import Lane, Window
from benchgate.base.metrics import SECOND_NS
from benchgate.base.runs import CpuUse
from benchgate.base.stats import Interval
from benchgate.base.workloads import Workload
from benchgate.insn.log import Level
from benchgate.judge.cpu_use import awake_ns, check_claims, of_activity, of_reports, of_threads
from benchgate.judge.noise import vcpu_time
from benchgate.judge.run_files import RunFiles
from benchgate.judge.wire import MAX_HZ, Transcript

_Use = tuple[dict[Window, CpuUse], Sequence[float]]
"""What each window used, and for how long each vCPU was awake, in ns: empty if that is not known."""


def of_wire(files: RunFiles, transcript: Transcript, workload: Workload) -> Mapping[Window, CpuUse]:
    """What the workers report, and no more than is known of the vCPUs."""
    hz = transcript.hz or (SECOND_NS if transcript.unit == "ns" else MAX_HZ)
    if files.run.lane is Lane.INSN:
        used, awake = _by_clock(files)
    else:
        work = transcript.work_end - transcript.work_start
        total = transcript.total_end - transcript.total_start
        used, awake = _by_host(files, work * SECOND_NS / hz, total * SECOND_NS / hz)
    if awake:
        check_claims(transcript.reports, workload, awake, hz)
    named = of_reports(transcript.reports, files.run.cell.cpus, workload)
    if named is not None:  # in the total window the parent is at work too
        used[Window.WORK] = used.get(Window.WORK, CpuUse(Interval(0.0, named))).at_most(named)
    return used


def of_printed(files: RunFiles, unit: str, work: int, total: int) -> Mapping[Window, CpuUse]:
    """In wall time, of a system that prints its figures."""
    each_ns = 1 if unit == "ns" else SECOND_NS / MAX_HZ
    return _by_host(files, work * each_ns, total * each_ns)[0]


def _by_clock(files: RunFiles) -> _Use:
    activity, marked = files.clock.activity, files.marked
    if activity is None or files.clock.level is not Level.FULL:
        return {}, []
    used = {
        Window.WORK: of_activity(activity, marked.work_begin, marked.work_end),
        Window.TOTAL: of_activity(activity, marked.total_begin, marked.total_end),
    }
    return used, awake_ns(activity, marked.total_begin, marked.total_end)


def _by_host(files: RunFiles, work_ns: float, total_ns: float) -> _Use:
    ran = vcpu_time(files.moments, total_ns) or []
    used = {Window.WORK: of_threads(ran, work_ns), Window.TOTAL: of_threads(ran, total_ns)} if ran else {}
    return used, ran
