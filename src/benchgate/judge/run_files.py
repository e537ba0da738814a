"""The files of one run that a verifier reads, each read once.

Takes a RawRun; gives the bytes of its console, its transcript, its clock log, its command line, the CPUs of
its threads and the counters that the host kept of them. Fails with VerifyError if a file cannot be read or is
not what benchgate writes, if the clock reported a problem, or if its log has another seed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from benchgate.base import snapshots
from benchgate.base.conversation import TypedLine, record_from_json
from benchgate.base.errors import VerifyError
from benchgate.base.files import read_json, read_start
from benchgate.base.jsonfields import read
from benchgate.base.runs import RawRun
from benchgate.base.snapshots import SnapshotRecord
from benchgate.base.text import one_line
from benchgate.base.workload.metrics import SECOND_NS
from benchgate.host.noise import HostSnapshot, ThreadCounters
from benchgate.insn import machine_shape
from benchgate.insn.log import ClockLog
from benchgate.insn.log_reader import read_log
from benchgate.insn.threads_log import ThreadEvents, read_thread_events
from benchgate.insn.window import ClockWindow, window
from benchgate.judge import wire
from benchgate.judge.accounts.threads.idleness import SchedulePauses
from benchgate.judge.accounts.threads.repeating import repeat_schedule
from benchgate.judge.accounts.threads.schedule import Schedule
from benchgate.judge.wire import MAX_CONSOLE_BYTES, Transcript
from benchgate.run.end_memory import EndMemory, read_memory
from benchgate.run.pinning import ThreadPlace
from benchgate.run.thread_use import MEMORY_FILE, HostRecord, MemoryRecord, UseSample

CONSOLE, ARGV, AFFINITY = "serial.log", "argv.json", "affinity.json"
EVENTS, THREAD_EVENTS, UNOBSERVED = "events.txt", "threads.txt", "unobserved.txt"
THREADS, HOST, CONVERSATION = "threads.json", "host.json", "conversation.json"
_T = TypeVar("_T")
_MOST_BYTES, _REASON_BYTES = 8 << 20, 1000
_NOT_RECORDED = HostSnapshot(0, None, None, None, None, None)


@dataclass(frozen=True, slots=True)
class Moment:
    """The host's counters at one moment of a run."""

    name: str
    t_ns: int
    vcpus: Mapping[int, ThreadCounters]
    """The counters by vCPU thread; a native run has none, because its workers end before its result."""
    host: HostSnapshot


@dataclass(frozen=True)
class RunFiles:
    run: RawRun

    @cached_property
    def console(self) -> bytes:
        return self._start_of(CONSOLE, MAX_CONSOLE_BYTES, "the console ")

    @cached_property
    def transcript(self) -> Transcript:
        return wire.parse(self.console, nonce=self.run.nonce)

    @cached_property
    def typed(self) -> tuple[TypedLine, ...]:
        """What was typed at the guest's prompt."""
        return self._read(CONVERSATION, record_from_json)

    @cached_property
    def marked(self) -> ClockWindow:
        """The windows between the guest's marks on the instruction clock."""
        return window(self.clock, self.transcript.workers)

    @cached_property
    def shape(self) -> str:
        """The machine that the clock was given; empty: the ideal one."""
        return self._beside(machine_shape.FILE).decode("ascii", "replace")

    @cached_property
    def start(self) -> SnapshotRecord | None:
        """The snapshot from which it started; None if it booted."""
        path = self.run.folder / snapshots.FILE
        try:
            return snapshots.read_record(self.run.folder) if os.path.lexists(path) else None
        except OSError as error:
            raise VerifyError(f"{path} cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise VerifyError(f"{path}: {error}") from error

    @cached_property
    def words(self) -> str:
        """The words of its command line that came after its start; empty: there were none."""
        return self._beside(snapshots.WORDS).decode("utf-8", "replace").removesuffix("\n")

    @cached_property
    def end_memory(self) -> EndMemory | None:
        """The digests of its memory at its end; None: none were kept."""
        return read_memory(self.run.folder)

    @cached_property
    def argv(self) -> tuple[str, ...]:
        """The command line that was executed."""
        return self._read(ARGV, lambda value: read(tuple[str, ...], value, "the command line"))

    @cached_property
    def affinity(self) -> tuple[tuple[int | None, tuple[int, ...]], ...]:
        """Each thread's vCPU, if it is one, and the host CPUs that were read back for it."""
        return tuple((place.vcpu, place.found) for place in self._placed)

    @cached_property
    def vcpu_threads(self) -> frozenset[int]:
        return frozenset(place.thread for place in self._placed if place.vcpu is not None)

    @cached_property
    def _placed(self) -> tuple[ThreadPlace, ...]:
        places = self._read(AFFINITY, lambda value: read(tuple[ThreadPlace, ...], value, "threads"))
        for place in places:
            if place.vcpu is not None and place.asked != place.found:
                why = f"vCPU {place.vcpu} was to run on CPUs {place.asked}, and has {place.found}"
                raise VerifyError(f"{self.run.folder / AFFINITY}: {why}")
        return places

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """What was recorded of threads and host, in order. Without the files, which earlier versions did not
        write, nothing is known."""
        if not os.path.lexists(self.run.folder / THREADS):
            return ()
        hosts = {sample.moment: sample.snapshot for sample in self._hosts.samples}
        samples = self._read(THREADS, lambda value: read(tuple[UseSample, ...], value, "moments"))
        return tuple(
            Moment(of.moment, of.t_ns, of.vcpus, hosts.get(of.moment, _NOT_RECORDED)) for of in samples
        )

    @cached_property
    def tick_ns(self) -> int:
        """The unit in which the host counts stolen time."""
        return SECOND_NS // self._hosts.ticks_per_s

    @cached_property
    def _hosts(self) -> HostRecord:
        """Nothing is known without the file, which earlier versions did not write."""
        missing = not os.path.lexists(self.run.folder / HOST)
        if missing:
            return HostRecord(100, ())
        return self._read(HOST, lambda value: read(HostRecord, value, "the host"))

    @cached_property
    def thread_events(self) -> ThreadEvents | None:
        """What the guest's scheduler did; None if it was not observed."""
        path = self.run.folder / THREAD_EVENTS
        return read_thread_events(path) if os.path.lexists(path) else None

    @cached_property
    def schedule(self) -> Schedule | None:
        """These events, repeated in their order."""
        return repeat_schedule(self.thread_events) if self.thread_events else None

    @cached_property
    def pauses(self) -> SchedulePauses | None:
        return SchedulePauses(self.schedule) if self.schedule else None

    @cached_property
    def unobserved(self) -> str:
        """Why the guest's threads were not observed although a gate needs it; empty if nothing says so."""
        return one_line(self._beside(UNOBSERVED), _REASON_BYTES)

    @cached_property
    def host_memory(self) -> MemoryRecord | None:
        """What the host counted of its caches and memory; None: it was not asked to."""
        there = os.path.lexists(self.run.folder / MEMORY_FILE)
        return self._read(MEMORY_FILE, lambda value: read(MemoryRecord, value, "memory")) if there else None

    def _beside(self, name: str) -> bytes:
        """The content of a file that not every run has."""
        return self._start_of(name) if os.path.lexists(self.run.folder / name) else b""

    def _start_of(self, name: str, most: int = _MOST_BYTES, what: str = "") -> bytes:
        path = self.run.folder / name
        try:
            return read_start(path, most)
        except OSError as error:
            raise VerifyError(f"{what}{path} cannot be read: {error.strerror}") from error

    def _read(self, name: str, read_value: Callable[[Any], _T]) -> _T:
        try:
            return read_value(self.json(name))
        except ValueError as error:
            raise VerifyError(f"{self.run.folder / name}: {error}") from error

    def json(self, name: str) -> Any:
        try:
            return read_json(self._start_of(name))
        except ValueError as error:
            raise VerifyError(f"{self.run.folder / name} is not JSON: {error}") from error

    @cached_property
    def clock_log(self) -> ClockLog:
        """The clock's log as it is, also of a run that failed."""
        if self.run.clock_log is None:
            raise VerifyError("this run has no log of the instruction clock")
        return read_log(self.run.clock_log)

    @cached_property
    def clock(self) -> ClockLog:
        log = self.clock_log
        if log.problem:
            raise VerifyError(f"the instruction clock: {log.problem}")
        if log.seed != self.run.seed:
            raise VerifyError(f"the instruction clock ran with seed {log.seed}, not {self.run.seed}")
        return log


def read_console(run: RawRun) -> bytes:
    return RunFiles(run).console
