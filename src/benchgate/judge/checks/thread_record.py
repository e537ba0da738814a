"""Checks a run's record of its guest's threads, and adds their figures to what was verified.

Takes a verified run and its files; gives the run with the metrics and the histogram of its threads, or with
the reason why it has none. Fails with VerifyError if the record contradicts itself, or the clock's log. The
metrics are those that every observed run has (base/workload/metrics.OF_THREADS); the histogram is of the
waits, in ns. If no thread waited, the waits are 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.runs import VerifiedRun
from benchgate.base.statistics.histogram import Histogram, bucket_of
from benchgate.base.workload.metrics import (
    HELD,
    NS,
    OF_THREADS,
    SCHED_WAIT,
    SETTLING,
    WASTED,
    WASTED_LONGEST,
    MetricKind,
    observed,
)
from benchgate.base.workload.workloads import Workload
from benchgate.insn.log import MarkKind
from benchgate.insn.threads_log import ThreadEvents
from benchgate.judge.accounts.threads.accounting import books_of_run, conserved
from benchgate.judge.accounts.threads.books import ThreadBooks
from benchgate.judge.run_files import THREAD_EVENTS, RunFiles


def thread_metrics(books: ThreadBooks) -> dict[str, float]:
    idle, waits = conserved(books), histogram_of(books.wait_lengths)
    own = {WASTED: idle.share, WASTED_LONGEST: float(idle.longest)}
    if books.has_halts:
        own[SETTLING] = idle.settling / idle.settled if idle.settled else 0.0
    if books.has_stays:
        own[HELD] = idle.held_share
    of_waits = {name: thread.at for name, thread in OF_THREADS.items() if thread.of == SCHED_WAIT}
    return {**own, **{name: waits.percentile(at) if waits.count else 0.0 for name, at in of_waits.items()}}


def histogram_of(values: Iterable[int]) -> Histogram:
    result = sorted(values)
    buckets = Counter(map(bucket_of, result))
    low, high = (result[0], result[-1]) if result else (0, 0)
    return Histogram(len(result), sum(result), low, high, MappingProxyType(dict(sorted(buckets.items()))))


def with_threads(run: VerifiedRun, files: RunFiles, workload: Workload) -> VerifiedRun:
    """Adds the metrics of the guest's threads, or why it has none."""
    events, lane, names = files.thread_events, files.run.lane, observed(workload.metrics)
    if lane is not Lane.INSN:
        if events:
            raise VerifyError(
                f"{THREAD_EVENTS}: threads are seen on the instruction clock only, not on {lane}"
            )
        why = f"threads are seen on the instruction clock only, and this is lane {lane}"
        return replace(run, skipped={**run.skipped, **dict.fromkeys(names, why)})
    if events is None:
        why = files.unobserved or f"its runs have no record of threads ({THREAD_EVENTS})"
        return replace(run, skipped={**run.skipped, **dict.fromkeys(names, why)})
    _check_thread_window(events, files)
    _check_halts(files)
    books = books_of_run(files, explained=0)
    assert books is not None  # there are events
    _check_latencies(run, workload, books, _ON_A_MACHINE if files.shape else 1)
    if books.is_cut:
        why = f"its record of threads was full at {books.end} ns, before the window closed"
        return replace(run, absent={**run.absent, **dict.fromkeys(names, why)})
    waits = {SCHED_WAIT: histogram_of(books.wait_lengths)}
    return replace(
        run,
        metrics={**run.metrics, **thread_metrics(books)},
        histograms={**run.histograms, **waits},
        measured=run.measured | set(waits),
    )


def _check_thread_window(events: ThreadEvents, files: RunFiles) -> None:
    """The record must be of the same run as the clock's log."""
    if events.vcpus != files.run.cell.cpus:
        raise VerifyError(f"{THREAD_EVENTS} has {events.vcpus} vCPUs, but the cell has {files.run.cell.cpus}")
    window = (events.opened, events.closed)
    log = files.clock
    opened = log.first_mark(MarkKind.TOTAL_BEGIN, MarkKind.WORK_BEGIN)
    marked = (opened, log.first_mark(MarkKind.TOTAL_END))
    if None in window or None in marked or window == marked:
        return
    raise VerifyError(
        f"{THREAD_EVENTS} has a window from {window[0]} to {window[1]}, but the marks in the clock's log are "
        f"at {marked[0]} and {marked[1]}"
    )


def _check_halts(files: RunFiles) -> None:
    """A CPU is idle while the clock halts it, so both must know the same halts."""
    schedule, log = files.schedule, files.clock
    if schedule is None or schedule.halted is None or schedule.is_cut or not log.totals:
        return
    before = log.start[0] if log.start else 0
    for cpu, ((ended, since), totals) in enumerate(zip(schedule.halted, log.totals, strict=True)):
        halted = before + ended + (0 if since is None else max(0, totals.time - since))
        if halted != totals.halted:
            raise VerifyError(
                f"{THREAD_EVENTS} has CPU {cpu} halted for {halted} ns, but the clock's log for "
                f"{totals.halted}"
            )


_STAMPS_NS, _OF_WORKER_NS = 100_000, 20_000
"""What a wake-up that the guest times takes at most beyond waiting for a CPU and other work: in all, and for
each worker that one call may wake."""
_ON_A_MACHINE = 8
"""How many times as long that takes where memory or small CPUs make instructions slower."""
_P99 = 99
_TIMES = 3
"""Who wakes, who is woken and the wake-up itself may each wait for a CPU while the guest times."""


def wake_ups(workload: Workload, params: Mapping[str, object]) -> set[str]:
    """Those that the machine measures. What is recorded later has more than the wake-up in it: a request of
    schbench has sleeps."""
    made = {name: rule for name, rule in workload.machine.items() if rule.is_wake and rule.is_made(params)}
    first = min((rule.record for rule in made.values() if rule.record is not None), default=None)
    return {name for name, rule in made.items() if rule.record in (None, first)}


def _check_latencies(run: VerifiedRun, workload: Workload, books: ThreadBooks, slow: int) -> None:
    """The lengths of wake-ups, by the guest or the machine, are made of the threads' waits, of other work of
    those who wake or are woken, and of the calls. If 1% are longer than all that can be, a wait is missing:
    the record begins too late, or threads waited where it does not look."""
    timed = {promise.histogram for promise in workload.promises if promise.histogram}
    timed |= wake_ups(workload, dict(run.run.cell.params))
    wait = books.wait_lengths[-1] if books.wait_lengths else 0
    work = max((of.end - of.begin for of in books.slices if of.state == "running"), default=0)
    most = _TIMES * wait + work + slow * (_STAMPS_NS + _OF_WORKER_NS * len(run.workers))
    for name, metric in workload.metrics.items():
        is_wake_up = metric.kind is MetricKind.PERCENTILE and metric.unit == NS and metric.of in timed
        if is_wake_up and metric.at <= _P99 and run.metrics.get(name, 0) > most:
            raise VerifyError(
                f"{name} is {run.metrics[name]:.0f} ns, but by {THREAD_EVENTS} no thread "
                f"waited for a CPU longer than {wait} ns, and none ran longer at a stretch than {work} ns"
            )
