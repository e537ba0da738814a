"""How many CPUs a run used in its windows, by the clock's or the host's account of its vCPUs.

Takes a run's files, and what it reports of its windows and workers; gives a CpuUse for each window of which
something is known. A speedup of N needs that the work ran on N CPUs, so these are the limits of a ratio
(gates/used_cpus.py). Fails with VerifyError if workers report that they worked on CPUs that were halted
meanwhile; where only the host's account was read too late to show that they ran, the run is void.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from benchgate.base.cells import Lane, Window
from benchgate.base.errors import VerifyError
from benchgate.base.runs import CpuUse, VerifiedRun, WorkerReport
from benchgate.base.statistics.stats import Interval
from benchgate.base.text import counted
from benchgate.base.workload.metrics import SECOND_NS, time_text
from benchgate.base.workload.workloads import Workload
from benchgate.insn.activity import FULL, Activity, Column
from benchgate.insn.counts import PROGRAMS, SPUN
from benchgate.insn.log import ConsoleLine
from benchgate.judge.noise import vcpu_time
from benchgate.judge.run_files import RunFiles
from benchgate.judge.wire import MAX_HZ, Transcript

LEAST_SHARE = 0.1
"""A CPU must have been awake for this share of the time for which a worker reports that it worked there,
and a vCPU that a row counts must have worked for this share of its equal part of the window."""
LATE_SHARE = 0.5
"""The same, where it can only have been awake before the host had read the guest's ready line."""
TICK_NS = 10_000_000
"""The host's account of a running thread may be behind by the longest tick of a Linux host."""
WAITS = frozenset({"sleep", "disk", "network"})
"""The services with which a workload may leave every CPU idle."""


def of_activity(activity: Activity, begin: int, end: int) -> CpuUse:
    """Reads the columns of the instruction clock's log. What was done in a column that is partly in the
    window may have been in it as far as it fits, or not at all."""
    worked = _sums(activity, begin, end, lambda column: column.worked)
    return CpuUse(_limits(_sums(activity, begin, end, _awake), end - begin), _limits(worked, end - begin))


def awake_at_most(activity: Activity, begin: int, end: int) -> list[float]:
    """How long each vCPU may have been awake, in ns. Shares in the log are rounded: where there is none, a
    worker may have been for half a step."""
    rounded = activity.width / (2 * FULL)
    return [most + rounded for _, most in _sums(activity, begin, end, _awake)]


def of_lines(begin: ConsoleLine, end: ConsoleLine, length: int, *, is_exact: bool) -> CpuUse:
    """Reads the clock's record of two lines, between which the window lies. Only on the ideal machine
    (`is_exact`) is the time of each instruction known, and so what was no wait in a loop."""
    outside = max(0, end.time - begin.time - length)
    pairs = list(zip(begin.vcpus, end.vcpus, strict=True))

    def limits(parts: Sequence[int]) -> Interval:
        return _limits([(max(0, part - outside), min(part, length)) for part in parts], length)

    awake = limits([after.ran - before.ran for before, after in pairs])
    if not is_exact:
        return CpuUse(awake)
    return CpuUse(awake, limits([after.worked - before.worked for before, after in pairs]))


def of_threads(times_ns: Sequence[int], window_ns: float) -> CpuUse:
    """Reads the host's account of the vCPUs' threads, which begins before the window and ends after it."""
    return CpuUse(_limits([(0, min(times_n + TICK_NS, window_ns)) for times_n in times_ns], window_ns))


def of_reports(reports: Sequence[WorkerReport], cpus: int, workload: Workload) -> int | None:
    """Gives the number of CPUs on which the workers report that they were. None: it means nothing, because
    they may leave their CPU by themselves or take turns."""
    if not _only_computes(workload) or len(reports) != cpus:
        return None
    return len({cpu for report in reports for cpu in (report.cpu, report.cpu_end)})


def refuted(
    reports: Sequence[WorkerReport],
    workload: Workload,
    awake: Sequence[float],
    hz: int,
    share: float = LEAST_SHARE,
) -> str:
    """As many vCPUs as the workers name must have been awake for this share of the time that they worked. The
    guest may number them as it likes. `awake` has the ns of each vCPU. Empty: they were."""
    claimed: dict[int, int] = {}
    for report in reports if _only_computes(workload) else ():
        if report.cpu == report.cpu_end:
            claimed[report.cpu] = max(claimed.get(report.cpu, 0), report.end - report.start)
    spans = sorted((length * SECOND_NS / hz for length in claimed.values()), reverse=True)
    for number, (span, ran) in enumerate(zip(spans, sorted(awake, reverse=True), strict=False), 1):
        if ran < share * span:
            return (
                f"the workers report that they worked on {len(spans)} CPUs, and on each of {number} of them "
                f"for at least {span:.0f} ns, but only {counted(number - 1, 'vCPU')} ran for as much as "
                f"{share:.0%} of that; the next one for {ran:.0f} ns"
            )
    return ""


def crowded(
    reports: Sequence[WorkerReport],
    workload: Workload,
    awake: Sequence[float],
    hz: int,
    work_ns: float,
) -> str:
    """Why the workers that had work ran on fewer CPUs than they are; empty if they did not, or if it is not
    known. `awake`: how long each vCPU was in the work window, in ns. One that is late has as little work as
    its CPU: twice what a CPU needs."""
    cpus = len(awake)
    if of_reports(reports, cpus, workload) is None:
        return ""
    least = LEAST_SHARE * work_ns / cpus
    busy = [one for one in reports if (one.end - one.start) * SECOND_NS / hz >= 2 * least]
    named = {cpu for one in busy for cpu in (one.cpu, one.cpu_end)}
    used = min(len(named), sum(ran >= least for ran in awake))
    if used >= len(busy):
        return ""
    return (
        f"right answers, but {counted(len(busy), 'worker')} with work used {used} of {cpus} CPUs in the "
        f"window of {time_text(work_ns)}: threads were badly placed"
    )


def may_sleep(workload: Workload) -> bool:
    """True if all CPUs may be idle in its window."""
    return workload.tool is not None or bool(WAITS & workload.services)


def _only_computes(workload: Workload) -> bool:
    """Its workers stay on their CPUs from their start to their end, unless the system moves them."""
    return workload.has_program and workload.tool is None and not workload.services


def _awake(column: Column) -> float:
    return min(1.0, column.worked + column.spun)


def _sums(
    activity: Activity, begin: int, end: int, share: Callable[[Column], float]
) -> list[tuple[float, float]]:
    """Gives the least and the most time in the window that each vCPU spent so. `share` gives at most 1, so
    a column outside of the window adds nothing."""
    sums = []
    first = max(0, (begin - activity.begin) // activity.width)
    for vcpu in activity.vcpus:
        last = min(len(vcpu), max(first, -((activity.begin - end) // activity.width)))
        least = most = 0.0
        for number, column in enumerate(vcpu[first:last], first):
            if first < number < last - 1:  # only the others may be partly outside
                least += (spent := share(column) * activity.width)
                most += spent
                continue
            at = activity.begin + number * activity.width
            until = min(at + activity.width, activity.end)
            inside = max(0, min(until, end) - max(at, begin))
            spent = share(column) * (until - at)
            least += max(0.0, spent - (until - at - inside))
            most += min(spent, inside)
        sums.append((least, most))
    return sums


def _limits(parts: Sequence[tuple[float, float]], length: float) -> Interval:
    low, high = (math.fsum(part[which] for part in parts) / length for which in (0, 1))
    return Interval(low, high)


# ---- of the files of a run


def of_programs(files: RunFiles) -> int | None:
    """The instructions of user programs in the work window, without those in loops that only wait."""
    counts = files.clock.counts if files.run.lane is Lane.INSN else None
    if counts is None or counts.work is None or not {PROGRAMS, SPUN} <= {*counts.names}:
        return None
    return sum(vcpu.values[PROGRAMS] - vcpu.values[SPUN] for vcpu in counts.work.vcpus)


_Use = tuple[dict[Window, CpuUse], Sequence[float]]
"""What each window used, and for how long each vCPU was awake, in ns: empty if that is not known."""


def of_wire(
    files: RunFiles, transcript: Transcript, workload: Workload, work: int, total: int
) -> tuple[Mapping[Window, CpuUse], str]:
    """What the workers report, and no more than is known of the vCPUs; and why the run is void, if it is."""
    hz = transcript.hz or MAX_HZ
    if files.run.lane is Lane.INSN:
        used, awake = _by_clock(files)
    else:
        used, awake = _by_host(files, work * SECOND_NS / hz, total * SECOND_NS / hz)
    if awake and (said := refuted(transcript.reports, workload, awake, hz)):
        # Until the result, also before the ready line: on a slow host, such as a nested one, the guest may
        # have done all of its work by the time that the host has read that line.
        in_all = vcpu_time(files.moments, math.inf) or []
        if files.run.lane is Lane.INSN or refuted(transcript.reports, workload, in_all, hz, LATE_SHARE):
            raise VerifyError(said)
        return {}, f"the host read the guest's ready line only after its workers had worked: {said}"
    named = of_reports(transcript.reports, files.run.cell.cpus, workload)
    if named is not None:  # the parent is at work, too, in the total window
        used[Window.WORK] = used.get(Window.WORK, CpuUse(Interval(0.0, named))).at_most(named)
    return used, ""


def badly_placed(files: RunFiles, run: VerifiedRun, workload: Workload) -> str:
    """On the instruction clock only: `crowded`. For those who look for it: no verdict asks."""
    activity = files.clock.activity
    if activity is None or not run.workers:
        return ""
    begin, end = files.marked.work_begin, files.marked.work_end
    awake = [most for _, most in _sums(activity, begin, end, _awake)]
    return crowded(run.workers, workload, awake, run.hz or MAX_HZ, end - begin)


def of_printed(files: RunFiles, unit: str, work: int, total: int) -> Mapping[Window, CpuUse]:
    """The run was on wall time, and its system prints its figures."""
    return _by_host(files, shortest_ns(work, unit), shortest_ns(total, unit))[0]


def shortest_ns(length: int, unit: str) -> float:
    """The length of a printed window. Cycles are taken for as short as they can be."""
    return length if unit == "ns" else length * SECOND_NS / MAX_HZ


def _by_clock(files: RunFiles) -> _Use:
    activity, marked = files.clock.activity, files.marked
    if activity is None:
        return {}, []
    used = {
        Window.WORK: of_activity(activity, marked.work_begin, marked.work_end),
        Window.TOTAL: of_activity(activity, marked.total_begin, marked.total_end),
    }
    return used, awake_at_most(activity, marked.total_begin, marked.total_end)


def _by_host(files: RunFiles, work_ns: float, total_ns: float) -> _Use:
    ran = vcpu_time(files.moments, total_ns) or []
    used = {Window.WORK: of_threads(ran, work_ns), Window.TOTAL: of_threads(ran, total_ns)} if ran else {}
    return used, ran
