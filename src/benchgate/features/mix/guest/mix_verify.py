"""Verifies a run of a mix from its files; gives what each part did, and what the host lost to all of them.

Takes a RawRun and its Mix; reads the run's files. On wall time memory.json says what was used of the host's
last cache and memory: the moved bytes are those between the ready line and the last line, at the mean rate of
that time. Fails with VerifyError; its message says what is wrong, and
of which part. It can be repeated on any machine, from the files alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchgate.base import grouped
from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.runs import RawRun
from benchgate.base.system.systems import plain_name
from benchgate.base.text import one_line
from benchgate.base.void_rule import NO_RULE, VoidRule
from benchgate.features.mix.guest import mix_guest
from benchgate.features.mix.guest.mix_lines import MixTranscript, PartLine, parse
from benchgate.features.mix.guest.mix_part import AS_PROCESS, MixPart, starvation, verify_part
from benchgate.features.mix.guest.mix_runs import CACHE, GUEST_USES, MOVED, Mix, MixRun, Part, PartRun
from benchgate.insn.log import ClockLog, MarkKind
from benchgate.insn.memory_log import WINDOW
from benchgate.insn.window import AGREEMENT, AGREEMENT_NS
from benchgate.judge.checks.agreement import check_host
from benchgate.judge.checks.balance import check_balance
from benchgate.judge.checks.linux_kernel import check_kernel
from benchgate.judge.checks.transcript_checks import require_cpus
from benchgate.judge.noise import disturbance, excess, is_judged
from benchgate.judge.run_files import RunFiles
from benchgate.judge.verify import INSN_UNIT, check_ending, check_failures, check_span
from benchgate.run.thread_use import MemoryRecord, MemorySample

MIX_FILE = "mix.json"
PAGE = 4096
"""A limit of memory is rounded down to whole pages."""
_MISSING = {
    "controller": "the guest's kernel has no such controller of control groups (error {error})",
    "module": "the guest's kernel refused a module (error {error})",
    "uncounted": "this kernel does not count it for each program",
    "device": "this kernel has no such device",
    "na": "the guest could not count it",
}
_NO_BOOKS = {
    Lane.INSN: "the ideal machine has no caches: choose one that has, such as desktop8",
    Lane.KVM: "on wall time nothing in this guest counts what its CPUs bring from memory",
    Lane.TCG: "an emulated CPU has no caches: use the instruction clock on a machine such as desktop8",
}


def verify_mix(run: RawRun, mix: Mix, rule: VoidRule = NO_RULE) -> MixRun:
    """`rule` says by how much the host may disturb a run on wall time."""
    files = RunFiles(run)
    _check_asked(files, mix)
    try:
        check_ending(files, mix.system.end.exit_codes)
        transcript = parse(files.console, nonce=run.nonce)
    except VerifyError as error:
        raise VerifyError(_with_names(str(error), mix)) from None
    check_failures(files.console, mix.system.console.failures)
    check_kernel(files.console, mix.system)
    check_host(files, mix_guest.system_of(mix))
    _check_begin(mix, transcript)
    void = excess(disturbance(files), rule) if is_judged(run) else ""
    window_ns = _window(files, transcript, void)
    parts = _parts(run, mix, transcript)
    counted = files.host_memory if run.lane is Lane.KVM else None
    by_host = None if counted is None else host_memory(counted, window_ns)
    use, missing = _of_machine(files, mix) if by_host is None else _of_host(by_host)
    missing |= _missing(mix, transcript)
    return MixRun(
        window_ns=window_ns,
        cpus=mix.cpus,
        parts=parts,
        foreign_ns=transcript.foreign,
        memory_bytes=transcript.memory_bytes,
        use=use,
        cache_bytes=None if by_host is None else by_host.cache_bytes,
        missing=missing,
        ended="starved" if any(part.starved for part in parts) else transcript.ended,
        void=void,
    )


def _parts(run: RawRun, mix: Mix, seen: MixTranscript) -> tuple[PartRun, ...]:
    prints = mix.system.result if mix.own_conductor else AS_PROCESS
    runs = grouped(seen.runs, key=lambda execution: execution.part)
    known = (run.nonce, mix.cpus, seen.start, seen.end, prints)
    parts = [MixPart(part, number, *known) for number, part in enumerate(mix.parts)]
    each = [(part, seen.parts[number], runs.get(number, [])) for number, part in enumerate(parts)]
    for one in each:  # this comes first: the end of one is also the end of the others
        starvation(*one)
    return tuple(verify_part(*one) for one in each)


def _check_asked(files: RunFiles, mix: Mix) -> None:
    """The folder's own copy of the mix is this one."""
    if files.json(MIX_FILE) != mix.as_json() or files.run.cell != mix.cell:
        raise VerifyError(f"{files.run.folder.name} is a run of another mix ({MIX_FILE})")


def _with_names(text: str, mix: Mix) -> str:
    """The conductor knows its parts by their numbers."""
    names = {str(number): part.name for number, part in enumerate(mix.parts)}
    return re.sub(
        r"(benchfail: mix: part )(\d+)\b", lambda match: match[1] + names.get(match[2], match[2]), text
    )


def _check_begin(mix: Mix, seen: MixTranscript) -> None:
    require_cpus(mix.cpus, seen.online)
    named = mix.system.result.system or plain_name(mix.system.name)
    asked = (named, len(mix.parts), mix.least, mix.limit_ms)
    if asked != (seen.system, len(seen.parts), seen.least, seen.limit_ms):
        raise VerifyError(
            f"the mix is of (system, parts, least, limit_ms) {asked}, but the guest reports "
            f"{(seen.system, len(seen.parts), seen.least, seen.limit_ms)}"
        )
    for part, line in zip(mix.parts, seen.parts, strict=True):
        _check_part(part, line, mix.cpus)


def _check_part(part: Part, line: PartLine, cpus: int) -> None:
    if (line.kind == "dummy") != (part.workload is None):
        raise VerifyError(f"part {part.name}: the guest reports a {line.kind}")
    limits = part.limits
    quota, period = (None, None) if limits.cpu_ppm is None else mix_guest.quota_of(limits.cpu_ppm, cpus)
    memory = None if limits.memory_bytes is None else limits.memory_bytes // PAGE * PAGE
    asked = {"cpu_us": quota, "period_us": period, "memory": memory}
    asked |= {"disk": limits.disk_bytes_per_s, "network": limits.network_bytes_per_s}
    if asked != dict(line.limits):
        raise VerifyError(
            f"part {part.name}: its limits are {asked}, but in the guest they were {dict(line.limits)}"
        )


def _window(files: RunFiles, seen: MixTranscript, void: str) -> int:
    """Its length in ns by the guest's clock, which the instruction clock must confirm."""
    length = seen.end - seen.start
    if length < 1:
        raise VerifyError("the window ends before it begins")
    if files.run.lane is not Lane.INSN:
        check_span(files, "ns", length, length, void=void)
        return length
    check_balance(files.clock)
    marked = _marked(files.clock)
    check_span(files, INSN_UNIT, marked, marked, void="")
    if abs(marked - length) > max(AGREEMENT_NS, AGREEMENT * marked):
        raise VerifyError(
            f"the guest timed the window at {length} ns, the instruction clock at {marked} ns: the guest's "
            "clock does not follow its instructions"
        )
    return length


def _marked(log: ClockLog) -> int:
    counts = Counter(mark.kind for mark in log.marks)
    if counts != {MarkKind.TOTAL_BEGIN: 1, MarkKind.TOTAL_END: 1}:
        raise VerifyError(
            f"the instruction clock saw {sum(counts.values())} marks, expected the two of the conductor: a "
            "part executes marks, too"
        )
    begin, end = log.marks
    if begin.kind != MarkKind.TOTAL_BEGIN or end.time <= begin.time:
        raise VerifyError("the conductor's marks are out of order")
    return end.time - begin.time


def _of_machine(files: RunFiles, mix: Mix) -> tuple[dict[str, int | None], dict[str, str]]:
    """What the machine's memory did for the whole guest in the window."""
    machine = mix.system.memory_machine
    books = files.clock.memory if files.run.lane is Lane.INSN else None
    if machine is None or books is None:
        return dict.fromkeys(GUEST_USES), dict.fromkeys(GUEST_USES, _NO_BOOKS[files.run.lane])
    every = books.phases[WINDOW]
    read = sum(cpu_books.counts["local"] + cpu_books.counts["remote"] for cpu_books in every)
    written = sum(cpu_books.counts["written_back"] for cpu_books in every)
    use: dict[str, int | None] = {MOVED: (read + written) * machine.line, CACHE: None}
    shared = machine.shared_bytes(mix.cpus)
    if shared is None:
        return use, {CACHE: f"machine {machine.name} has no cache that CPUs share"}
    return {**use, CACHE: min(shared, read * machine.line)}, {}


def _of_host(memory: HostMemory) -> tuple[dict[str, int | None], dict[str, str]]:
    """What the host counted of the whole guest."""
    use = {CACHE: memory.held_bytes, MOVED: memory.moved_bytes}
    return use, {name: memory.why for name, value in use.items() if value is None}


def _missing(mix: Mix, seen: MixTranscript) -> Mapping[str, str]:
    return {
        name: f"part {part.name}: {_MISSING.get(use.why, use.why).format(error=use.error)}"
        for part, line in zip(mix.parts, seen.parts, strict=True)
        for name, use in line.uses.items()
        if use.value is None
    }


_BEGINS, _ENDS = "ready", ("result", "end")


@dataclass(frozen=True, slots=True)
class HostMemory:
    held_bytes: int | None
    """The most at one moment between the ready line and the last one."""
    moved_bytes: int | None
    cache_bytes: int | None
    """The size of the last caches."""
    why: str
    """Why a figure is None."""


def host_memory(record: MemoryRecord, window_ns: int) -> HostMemory:
    inside, why, capacity = _inside(record.samples), one_line(record.why, 200), record.cache_bytes
    if not inside:
        return HostMemory(None, None, capacity, why or "no counter was read in the window")
    held = [sample.counters.held_bytes for sample in inside]
    known = [size for size in held if size is not None]
    most = max(known) if len(known) == len(held) else None
    return HostMemory(
        most, _moved(inside, window_ns), capacity, why or "a counter could not be read in the window"
    )


def _inside(samples: Sequence[MemorySample]) -> Sequence[MemorySample]:
    """The samples begin at the ready line and end at the last line seen; there are none if one is missing."""
    begins = [n for n, sample in enumerate(samples) if sample.moment == _BEGINS]
    ends = [n for n, sample in enumerate(samples) if sample.moment in _ENDS]
    return samples[begins[0] : ends[-1] + 1] if begins and ends and begins[0] < ends[-1] else ()


def _moved(inside: Sequence[MemorySample], window_ns: int) -> int | None:
    first, last = inside[0].counters, inside[-1].counters
    if first.moved_bytes is None or last.moved_bytes is None or first.moved_bytes > last.moved_bytes:
        return None
    span = last.time_ns - first.time_ns
    return (last.moved_bytes - first.moved_bytes) * window_ns // span if span > 0 else None
