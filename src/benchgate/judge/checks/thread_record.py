"""Checks a run's record of its guest's threads, and adds their metrics to what was verified.

Takes a verified run and its files; gives the run with the metrics and the histogram of its threads, or with
the reason why it has none. Fails with VerifyError if the record contradicts itself, or the clock's log.
"""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.runs import VerifiedRun
from benchgate.base.workload.metrics import OF_THREADS, SCHED_WAIT
from benchgate.insn.log import MarkKind
from benchgate.insn.threads_log import ThreadEvents
from benchgate.judge.accounts.threads.accounting import thread_books
from benchgate.judge.accounts.threads.figures import histogram_of, thread_metrics
from benchgate.judge.run_files import THREAD_EVENTS, RunFiles

_OPENS = (MarkKind.TOTAL_BEGIN, MarkKind.WORK_BEGIN)


def with_threads(found: VerifiedRun, files: RunFiles) -> VerifiedRun:
    """Adds the metrics of the guest's threads, or why it has none."""
    events, lane = files.thread_events, files.run.lane
    if lane is not Lane.INSN:
        if events:
            raise VerifyError(
                f"{THREAD_EVENTS}: threads are seen on the instruction clock only, not on {lane}"
            )
        why = f"threads are seen on the instruction clock only, and this is lane {lane}"
        return replace(found, skipped={**found.skipped, **dict.fromkeys(OF_THREADS, why)})
    if events is None:
        why = files.unobserved or f"its runs have no record of threads ({THREAD_EVENTS})"
        return replace(found, skipped={**found.skipped, **dict.fromkeys(OF_THREADS, why)})
    _check_thread_window(events, files)
    books = thread_books(events, explained=0)
    if books.is_cut:
        why = f"its record of threads was full at {books.end} ns, before the window closed"
        return replace(found, absent={**found.absent, **dict.fromkeys(OF_THREADS, why)})
    waits = {SCHED_WAIT: histogram_of(books.wait_lengths)}
    return replace(
        found,
        metrics={**found.metrics, **thread_metrics(books)},
        histograms={**found.histograms, **waits},
    )


def _check_thread_window(events: ThreadEvents, files: RunFiles) -> None:
    """The record must be of the same run as the clock's log."""
    if events.vcpus != files.run.cell.cpus:
        raise VerifyError(f"{THREAD_EVENTS} has {events.vcpus} vCPUs, but the cell has {files.run.cell.cpus}")
    window = (events.opened, events.closed)
    marked = (
        next((one.time for one in files.clock.marks if one.kind in _OPENS), None),
        next((one.time for one in files.clock.marks if one.kind == MarkKind.TOTAL_END), None),
    )
    if None in window or None in marked or window == marked:
        return
    raise VerifyError(
        f"{THREAD_EVENTS} has a window from {window[0]} to {window[1]}, but the marks in the clock's log are "
        f"at {marked[0]} and {marked[1]}"
    )
