"""The files of one run that a verifier reads, each read once.

Takes a RawRun; gives the bytes of its console, its transcript, its clock log, its command line, the CPUs of
its threads and the counters that the host kept of them. Fails with VerifyError if a file cannot be read or is
not what benchgate writes, if the clock reported a problem, or if its log has another seed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from benchgate.base import conversation_json
from benchgate.base.conversation import Typed
from benchgate.base.errors import VerifyError
from benchgate.base.files import read_json, read_start
from benchgate.base.jsonfields import Fields
from benchgate.base.metrics import SECOND_NS
from benchgate.base.runs import RawRun
from benchgate.base.text import UNAVAILABLE
from benchgate.host.noise import HostSnapshot, ThreadCounters
from benchgate.insn import machine_shape
from benchgate.insn.log import ClockLog
from benchgate.insn.log_reader import read_log
from benchgate.insn.window import ClockWindow, window
from benchgate.judge import wire
from benchgate.judge.wire import MAX_CONSOLE_BYTES, Transcript

CONSOLE, ARGV, AFFINITY = "serial.log", "argv.json", "affinity.json"
THREADS, HOST, CONVERSATION = "threads.json", "host.json", "conversation.json"
_JSON_BYTES = 1 << 22
_NOT_RECORDED = HostSnapshot(0, None, None, None, None, None)


@dataclass(frozen=True, slots=True)
class Moment:
    """The host's counters at one moment of a run."""

    name: str
    t_ns: int
    vcpus: Mapping[int, ThreadCounters]
    """Those of the vCPUs' threads, by thread; none of a native run, whose workers end before its result."""
    host: HostSnapshot


@dataclass(frozen=True)
class RunFiles:
    run: RawRun

    @cached_property
    def console(self) -> bytes:
        path = self.run.folder / CONSOLE
        try:
            return read_start(path, MAX_CONSOLE_BYTES)
        except OSError as error:
            raise VerifyError(f"the console {path} cannot be read: {error.strerror}") from error

    @cached_property
    def transcript(self) -> Transcript:
        return wire.parse(self.console, nonce=self.run.nonce)

    @cached_property
    def typed(self) -> tuple[Typed, ...]:
        """What was typed at the guest's prompt."""
        try:
            return conversation_json.from_json(self.json(CONVERSATION))
        except ValueError as error:
            raise VerifyError(f"{self.run.folder / CONVERSATION}: {error}") from error

    @cached_property
    def marked(self) -> ClockWindow:
        """The windows between the guest's marks on the instruction clock."""
        return window(self.clock, self.transcript.workers)

    @cached_property
    def shape(self) -> str:
        """The machine that the clock was given; empty: the ideal one."""
        path = self.run.folder / machine_shape.FILE
        try:
            return read_start(path, _JSON_BYTES).decode("ascii", "replace") if os.path.lexists(path) else ""
        except OSError as error:
            raise VerifyError(f"{path} cannot be read: {error.strerror}") from error

    @cached_property
    def argv(self) -> tuple[str, ...]:
        """The command line that was executed."""
        words = self._list(ARGV)
        if not all(isinstance(word, str) for word in words):
            raise VerifyError(f"{self.run.folder / ARGV} is not a command line")
        return tuple(words)

    @cached_property
    def affinity(self) -> tuple[tuple[int | None, tuple[int, ...]], ...]:
        """Of each thread: its vCPU, if it is one, and the host CPUs that it was read back to have."""
        try:
            return tuple(map(_placed, self._list(AFFINITY)))
        except ValueError as error:
            raise VerifyError(f"{self.run.folder / AFFINITY}: {error}") from error

    @cached_property
    def vcpu_threads(self) -> frozenset[int]:
        """The threads of the vCPUs."""
        try:
            entries = [Fields(one, "a thread") for one in self._list(AFFINITY)]
            return frozenset(
                one.number("thread") for one in entries if one.number_or_none("vcpu") is not None
            )
        except ValueError as error:
            raise VerifyError(f"{self.run.folder / AFFINITY}: {error}") from error

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """What was recorded of threads and host, in order. Without the files, which earlier versions did not
        write, nothing is known."""
        hosts, found = self._hosts[1], []
        try:
            for value in self._list(THREADS) if os.path.lexists(self.run.folder / THREADS) else ():
                found.append(_moment(value, hosts))
        except ValueError as error:
            raise VerifyError(f"{self.run.folder / THREADS}: {error}") from error
        return tuple(found)

    @cached_property
    def tick_ns(self) -> int:
        """The unit in which the host counts stolen time."""
        return self._hosts[0]

    @cached_property
    def _hosts(self) -> tuple[int, dict[str, HostSnapshot]]:
        path = self.run.folder / HOST
        if not os.path.lexists(path):
            return SECOND_NS // 100, {}
        try:
            fields = Fields(self.json(HOST), "the host")
            ticks, samples = fields.number("ticks_per_s", 1), fields.take("samples", list)
            fields.done()
            return SECOND_NS // ticks, dict(_snapshot(value) for value in samples)
        except ValueError as error:
            raise VerifyError(f"{path}: {error}") from error

    def _list(self, name: str) -> list[Any]:
        found = self.json(name)
        if not isinstance(found, list):
            raise VerifyError(f"{self.run.folder / name} is not a JSON list")
        return found

    def json(self, name: str) -> Any:
        """The JSON in a file of the run's folder."""
        path = self.run.folder / name
        try:
            return read_json(read_start(path, _JSON_BYTES))
        except OSError as error:
            raise VerifyError(f"{path} cannot be read: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise VerifyError(f"{path} is not JSON: {error}") from error

    @cached_property
    def clock(self) -> ClockLog:
        if self.run.clock_log is None:
            raise VerifyError("this run has no log of the instruction clock")
        log = read_log(self.run.clock_log)
        if log.problem:
            raise VerifyError(f"the instruction clock: {log.problem}")
        if log.seed != self.run.seed:
            raise VerifyError(f"the instruction clock ran with seed {log.seed}, not {self.run.seed}")
        return log


def _placed(value: object) -> tuple[int | None, tuple[int, ...]]:
    fields = Fields(value, "a thread")
    vcpu, asked, found = fields.number_or_none("vcpu"), fields.numbers("asked"), fields.numbers("found")
    if vcpu is not None and asked != found:
        raise ValueError(f"vCPU {vcpu} was to run on CPUs {asked}, and has {found}")
    return vcpu, found


def _moment(value: object, hosts: Mapping[str, HostSnapshot]) -> Moment:
    fields = Fields(value, "a moment")
    name, t_ns = fields.text("moment"), fields.number("t_ns")
    threads = [_thread(one) for one in fields.take("threads", list)]
    fields.done()
    vcpus = {one.thread: one for vcpu, one in threads if vcpu is not None}
    return Moment(name, t_ns, MappingProxyType(vcpus), hosts.get(name, _NOT_RECORDED))


def _thread(value: object) -> tuple[int | None, ThreadCounters]:
    fields = Fields(value, "a thread")
    vcpu, thread, name = fields.number_or_none("vcpu"), fields.number("thread"), fields.text("name")
    counters = ("run_ns", "delay_ns", "timeslices", "voluntary", "involuntary", "migrations", "cpu")
    found = ThreadCounters(thread, name, *(_counter(fields, one) for one in counters))
    fields.done()
    return vcpu, found


def _snapshot(value: object) -> tuple[str, HostSnapshot]:
    fields = Fields(value, "a snapshot")
    snapshot = HostSnapshot(
        time_ns=fields.number("time_ns"),
        steal_ticks=_counters(fields, "steal_ticks"),
        all_ticks=_counters(fields, "all_ticks"),
        psi_cpu_us=_counter(fields, "psi_cpu_us"),
        frequency_khz=_counters(fields, "frequency_khz"),
        throttles=_counters(fields, "throttles"),
    )
    name = fields.text("moment")
    fields.done()
    return name, snapshot


def _counter(fields: Fields, key: str) -> int | None:
    """None if the host did not offer it; earlier versions wrote null then."""
    return None if fields.is_absent(key, UNAVAILABLE) else fields.number_or_none(key)


def _counters(fields: Fields, key: str) -> dict[int, int] | None:
    """A counter by CPU."""
    if fields.is_absent(key, UNAVAILABLE):
        return None
    by_cpu = Fields(fields.take(key, dict), key)
    return {int(cpu): by_cpu.number(cpu) for cpu in by_cpu.names() if cpu.isascii() and cpu.isdigit()}


def read_console(run: RawRun) -> bytes:
    return RunFiles(run).console
