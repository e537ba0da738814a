"""Checks that what the clock counted agrees with the rest of its log: its marks, its time, its columns.

Takes a clock's log; gives nothing. Fails with VerifyError, in one sentence, if a number was changed and those
that follow from it were not. Logs of earlier versions lack some of the names; what is there must agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from benchgate.base.errors import VerifyError
from benchgate.insn.activity import FULL, Activity
from benchgate.insn.counts import PROGRAMS, TOTAL, WHOLE, WORK, CountedCpu, CountedSpan
from benchgate.insn.log import ClockLog, MarkKind
from benchgate.insn.window import CALM

_EXECUTED, _WORKED, _SPUN = "instructions", "worked", "spun"
_BLOCK = 512
"""QEMU translates at most so many instructions at once. Where a window begins or ends, another vCPU may stand
at the begin of a block or, on a machine with memory, inside of one: it is then in one count only."""
_PARTS = (
    (_WORKED, _EXECUTED, 1, 0),
    (PROGRAMS, _EXECUTED, 1, 2 * _BLOCK),
    (_SPUN, PROGRAMS, 2, 0),
    ("syscalls", PROGRAMS, 1, 0),
)
"""The first is at most so many times the second, and so many more. A `pause` in a loop that waits counts
twice as spun."""
_GROW = (_EXECUTED, _WORKED, PROGRAMS, _SPUN, "syscalls")
_MARKS = {TOTAL: (MarkKind.TOTAL_BEGIN, MarkKind.TOTAL_END), WORK: (MarkKind.WORK_BEGIN, MarkKind.WORK_END)}


def check_counts(log: ClockLog) -> None:
    found = chain(_windows(log), _within(log), _nested(log), _columns(log), _threads(log))
    if wrong := next(found, ""):
        raise VerifyError(f"the machine's counts do not agree with its log: {wrong}")


def _spans(log: ClockLog) -> Mapping[str, CountedSpan]:
    counts = log.counts
    known = {WORK: counts.work, TOTAL: counts.total, WHOLE: counts.whole} if counts else {}
    return {name: span for name, span in known.items() if span is not None}


def _apart(log: ClockLog) -> int:
    """By how much the times of two vCPUs differ at most, in ns."""
    return log.quantum * log.rush * CALM


def _windows(log: ClockLog) -> Iterator[str]:
    """A window is counted from the first mark of its begin that was executed to the last one of its end."""
    for name, kinds in _MARKS.items():
        span, times = _spans(log).get(name), [_times(log, kind) for kind in kinds]
        if span and all(times) and (span.begin, span.end) != (times[0][0], times[1][-1]):
            marked = f"{times[0][0]} to {times[1][-1]}"
            yield f"the {name} window is counted from {span.begin} to {span.end}, but marked from {marked} ns"


def _times(log: ClockLog, kind: MarkKind) -> list[int]:
    return [mark.time for mark in log.marks if mark.kind == kind]


def _within(log: ClockLog) -> Iterator[str]:
    """What is a part of something is not more than it, and no instruction takes less than 1 ns."""
    for name, span in _spans(log).items():
        length = span.end - span.begin + _apart(log)
        for vcpu, cpu in enumerate(span.vcpus):
            where, known = f"vCPU {vcpu} in the {name} window", cpu.values
            for part, of, times, more in _PARTS:
                if part in known and of in known and known[part] > times * known[of] + more:
                    yield f"{where} has {known[part]} {part}, of {known[of]} {of}"
            if name != WHOLE and known.get(_EXECUTED, 0) > length:
                yield f"{where} has {known[_EXECUTED]} instructions, which is longer than the window"


def _nested(log: ClockLog) -> Iterator[str]:
    spans = _spans(log)
    for inner, outer in ((WORK, TOTAL), (TOTAL, WHOLE)):
        if inner in spans and outer in spans:
            for vcpu, pair in enumerate(zip(spans[inner].vcpus, spans[outer].vcpus, strict=True)):
                yield from _grew(vcpu, f"the {inner} window", f"the {outer} window", *pair)
    for name, span in spans.items():
        for vcpu, (cpu, totals) in enumerate(zip(span.vcpus, log.totals, strict=False)):
            if cpu.values.get(_EXECUTED, 0) > totals.executed:
                counted = cpu.values[_EXECUTED]
                yield f"vCPU {vcpu} has {counted} instructions in {name}, but executed {totals.executed}"


def _grew(vcpu: int, inner: str, outer: str, part: CountedCpu, whole: CountedCpu) -> Iterator[str]:
    for name in _GROW:
        if name in whole.values and part.values.get(name, 0) > whole.values[name]:
            yield f"vCPU {vcpu} has {part.values[name]} {name} in {inner}, {whole.values[name]} in {outer}"


def _columns(log: ClockLog) -> Iterator[str]:
    """On a machine with memory, and on CPUs of another speed, an instruction is no ns. A log with lines of
    the console has columns from its begin."""
    activity, span = log.activity, _spans(log).get(TOTAL)
    if activity is None or span is None or log.lines or log.machine or log.capacities or log.explored:
        return
    apart = _apart(log)
    if max(abs(activity.begin - span.begin), abs(activity.end - span.end)) > apart:
        yield f"its columns are from {activity.begin} to {activity.end} ns, not those of the total window"
    count = len(activity.vcpus[0]) if activity.vcpus else 0
    rounded = activity.width * count // FULL + apart
    for vcpu, cpu in enumerate(span.vcpus):
        if _WORKED in cpu.values:
            drawn = _drawn(activity, vcpu)
            if abs(cpu.values[_WORKED] - drawn) > rounded:
                yield f"vCPU {vcpu} worked {cpu.values[_WORKED]} ns, but {drawn} ns in its columns"


def _drawn(activity: Activity, vcpu: int) -> int:
    columns = activity.vcpus[vcpu]
    last = activity.end - activity.begin - (len(columns) - 1) * activity.width
    return round(sum(one.worked for one in columns[:-1]) * activity.width + columns[-1].worked * last)


def _threads(log: ClockLog) -> Iterator[str]:
    """A thread is measured from a mark of its begin to one of an end."""
    begins = {(mark.vcpu, mark.time) for mark in log.marks if mark.kind == MarkKind.WORK_BEGIN}
    ends = set(_times(log, MarkKind.WORK_END))
    for name, threads in log.operations.items():
        for one in threads:
            if (one.vcpu, one.begin) not in begins or one.end not in (*ends, None):
                yield f"{name} of thread {one.thread} is measured from {one.begin} to {one.end}, not at marks"
