"""What the machine measured of a run's histograms, which its metrics use in place of what the guest printed.

Takes the run's files, its workload and its transcript; gives a histogram in ns by name, of all threads that
are workers with values in the guest's own one. None of a log without operations. Fails with VerifyError,
which names both sides, if the guest's histogram is not what the machine measured (measured_figures.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.runs import WorkerReport
from benchgate.base.statistics.histogram import Histogram, merged
from benchgate.base.workload.metrics import SECOND_NS
from benchgate.base.workload.workloads import Workload
from benchgate.insn.operations import ThreadOperations
from benchgate.judge.checks.measured_figures import MeasuredSpans, Slack, contradiction
from benchgate.judge.run_files import RunFiles
from benchgate.judge.wire import Transcript

ROUNDED_NS = 3
"""What a guest rounds when it computes ns of two readings of its clock, beside its clock's own step. Nothing
else lies between what a guest read and what the machine saw it read: an interrupt is in both."""

DRIFT = Fraction(1, 100_000)
"""By how much the rate of a guest's clock may be off: Linux multiplies and shifts. Seen: 1 in a million."""


def measured(
    files: RunFiles, workload: Workload, transcript: Transcript, step_ns: int
) -> Mapping[str, Histogram]:
    """`step_ns`: the processor's clock goes on by so much at once."""
    if files.run.lane is not Lane.INSN or not transcript.hz:
        return {}
    found, params = files.clock.operations, dict(files.run.cell.params)
    slack = Slack(below_ns=ROUNDED_NS + step_ns, above_ns=ROUNDED_NS + step_ns, drift=DRIFT)
    known = {
        name: found[name] for name, rule in workload.machine.items() if name in found and rule.is_made(params)
    }
    pairs = {
        name: _compared(name, threads, workload, transcript, slack)
        for name, threads in known.items()
        if name in transcript.histograms
    }
    return {name: histogram for name, histogram in pairs.items() if histogram is not None}


def _compared(
    name: str,
    threads: Sequence[ThreadOperations],
    workload: Workload,
    transcript: Transcript,
    slack: Slack,
) -> Histogram | None:
    """What the machine measured; None if it does not have a span for each value, or if it is not known which
    threads are the workers, because the program reads no clock at its marks."""
    each = transcript.histograms[name]
    reporters = [number for number, one in enumerate(each) if one.count]
    of_worker = threads_of_workers(threads, transcript.reports, transcript.hz or SECOND_NS)
    mine = [of_worker[number] for number in reporters if number in of_worker]
    if len(mine) < len(reporters):
        return None
    operation, said = workload.machine[name], merged(each)
    inner, outer = (merged(getattr(thread, kind) for thread in mine) for kind in ("inner", "outer"))
    may_lack = operation.is_wake and operation.record is None
    tick = Fraction(SECOND_NS, transcript.hz or SECOND_NS)
    alone = {number: of_worker[number] for number in reporters if _is_alone(of_worker, number, slack)}
    compared = [("", said, MeasuredSpans(inner, outer, may_lack))]
    for number, thread in alone.items():
        own = MeasuredSpans(thread.inner, thread.outer, may_lack)
        compared.append((f" of worker {number}", each[number], own))
    for whose, histogram, spans in compared:
        if wrong := contradiction(histogram, tick, spans, slack):
            calls = f"from {' or '.join(operation.begins)} to {' or '.join(operation.ends)}"
            raise VerifyError(
                f"the machine contradicts the guest: histogram {name}{whose} ({calls}): {wrong}"
            )
    return outer if said.count == outer.count else None


def _is_alone(of_worker: Mapping[int, ThreadOperations], worker: int, slack: Slack) -> bool:
    """Whether no other worker began and ended at so nearly the same times that its thread may be this one."""
    mine, near = of_worker[worker], 4 * max(slack.below_ns, slack.above_ns)
    return all(
        abs((other.started or 0) - (mine.started or 0)) + abs((other.ended or 0) - (mine.ended or 0)) > near
        for number, other in of_worker.items()
        if number != worker
    )


def threads_of_workers(
    threads: Sequence[ThreadOperations], reports: Sequence[WorkerReport], hz: int
) -> Mapping[int, ThreadOperations]:
    """Which thread each worker is. The harness reports what its clock said just after the marks, which the
    machine saw too."""
    known, times, ahead = _known(threads), _times(reports, hz), clock_ahead(threads, reports, hz)
    if ahead is None:
        return {}
    result: dict[int, int] = {}
    places = sorted(
        (_off(times[worker], one, ahead), worker, n) for worker in times for n, one in enumerate(known)
    )
    for _, worker, place in places:
        if worker not in result and place not in result.values():
            result[worker] = place
    return {worker: known[place].thread for worker, place in result.items()}


def clock_ahead(threads: Sequence[ThreadOperations], reports: Sequence[WorkerReport], hz: int) -> int | None:
    """By how many ns the guest's clock is ahead of the machine's, which is the same for all workers; None if
    it is not known."""
    known, times = _known(threads), _times(reports, hz)
    if not known or not times:
        return None

    def wrong_by(ahead: int) -> int:
        return sum(min(_off(own, one, ahead) for one in known) for own in times.values())

    return min((times[reports[0].id][0] - one.started for one in known), key=wrong_by)


@dataclass(frozen=True, slots=True)
class _KnownThread:
    thread: ThreadOperations
    started: int
    ended: int


def _known(threads: Sequence[ThreadOperations]) -> list[_KnownThread]:
    return [
        _KnownThread(one, one.started, one.ended)
        for one in threads
        if one.started is not None and one.ended is not None
    ]


def _times(reports: Sequence[WorkerReport], hz: int) -> Mapping[int, tuple[int, int]]:
    """In ns."""
    return {one.id: (one.start * SECOND_NS // hz, one.end * SECOND_NS // hz) for one in reports}


def _off(own: tuple[int, int], one: _KnownThread, ahead: int) -> int:
    return abs(own[0] - ahead - one.started) + abs(own[1] - ahead - one.ended)
