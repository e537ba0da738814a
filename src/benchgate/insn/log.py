"""Strict parser for the log that the instruction clock writes.

Takes the path of a clock log; gives a frozen `ClockLog`. The file is untrusted: anything outside the format
raises VerifyError, with the line and the reason. The log of a clock that refused the QEMU or got stuck is
still valid; `problem` says what happened. A log without an end is valid too (QEMU was killed after the
result): its `totals` are empty and `closed` is false.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from pathlib import Path
from types import MappingProxyType

from benchgate.base.errors import VerifyError
from benchgate.base.files import read_start
from benchgate.base.runs import Resolution
from benchgate.base.text import one_line
from benchgate.insn.activity import Activity, Reader

LOG_LIMIT = 4 << 20
_NUMBER_LIMIT = 2**63
_NUMBER = re.compile(r"0|[1-9][0-9]{0,19}")
_WORD = re.compile(r"[a-z][a-z0-9_]{0,39}")
_HEADER = ("insn-clock", "level", "mode", "seed", "quantum", "fine", "rush", "vcpus", "api")


class Level(StrEnum):
    """What this QEMU supports. full: guest time is instruction time. count: counting and lockstep only."""

    FULL = "full"
    COUNT = "count"
    NONE = "none"


class ClockMode(StrEnum):
    SERIAL = "serial"
    PARALLEL = "parallel"


class MarkKind(IntEnum):
    """The kinds of BENCH_MARK in guest/bench.h."""

    WORK_BEGIN = 1
    WORK_END = 2
    TOTAL_BEGIN = 3
    TOTAL_END = 4


@dataclass(frozen=True, slots=True)
class Mark:
    """One executed mark. `kind` is a plain number, so that an unknown kind can be read and then refused."""

    kind: int
    vcpu: int
    time: int


@dataclass(frozen=True, slots=True)
class VcpuTotals:
    """The parts of one vCPU's time, in ns. `executed` is also its number of instructions."""

    time: int
    executed: int
    paused: int
    """The time added by `pause` instructions, beyond one instruction each."""
    skipped: int
    """The time skipped in loops that spin on the TSC."""
    halted: int


@dataclass(frozen=True, slots=True)
class Work:
    """What one vCPU had done at some moment."""

    ran: int = 0
    """The time in which it was not halted, in ns."""
    worked: int = 0
    """Executed instructions outside loops that only wait."""


@dataclass(frozen=True, slots=True)
class ConsoleLine:
    """The end of one line of the guest's console."""

    end: int
    """How many bytes the console had then."""
    time: int
    vcpus: tuple[Work, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """Bytes that were typed at the guest's console at once."""

    console: int
    """How many bytes the console had then."""
    count: int
    time: int
    """When the first of them arrived, if none typed before was still on its way."""
    pace: int
    """From one byte to the next, in ns."""


@dataclass(frozen=True, slots=True)
class ClockLog:
    level: Level
    mode: ClockMode
    seed: int
    quantum: int
    """How many ns a vCPU may be ahead of the slowest one in the window."""
    fine: int
    """The same limit while a vCPU spins."""
    rush: int
    """Both limits are multiplied by this outside the window."""
    vcpus: int
    api: tuple[int, int, int]
    """The plugin interface version that was requested, then the oldest and the newest that QEMU offers."""
    marks: tuple[Mark, ...]
    lines: tuple[ConsoleLine, ...] = ()
    """Only of a system without marks."""
    inputs: tuple[Input, ...] = ()
    totals: tuple[VcpuTotals, ...] = ()
    activity: Activity | None = None
    """None in logs of earlier versions, and without the end of the log."""
    end: int | None = None
    checks: Mapping[str, int] = field(default_factory=dict)
    """Self-check counters; a serial run repeats them exactly."""
    host: Mapping[str, int] = field(default_factory=dict)
    """Counters that also depend on how the host scheduled threads."""
    refused: str = ""
    stuck: tuple[str, ...] = ()
    flooded: bool = False
    waited: int | None = None
    """Level count: the first vCPU that halted inside a worker's window."""
    closed: bool = False

    @property
    def problem(self) -> str:
        """Why this run has no result; empty if it has one."""
        if self.refused:
            return f"the instruction clock refused this QEMU: {self.refused}"
        if self.stuck:
            return f"the lockstep was stuck: {'; '.join(self.stuck)}"
        if self.waited is not None:
            return (
                f"a worker on vCPU {self.waited} waited inside its window: at level count timers follow host "
                "time, so only windows without waiting can be measured; use a QEMU that supports level full"
            )
        if self.flooded:
            return "the guest executed more marks than the clock's log can hold"
        return ""

    @property
    def resolution(self) -> Resolution | None:
        """None without totals, or from a clock that did not count hand-overs."""
        names = ("longest", "handovers", "late")
        found = [self.checks[name] for name in names if name in self.checks]
        return Resolution(*found) if len(found) == len(names) else None

    @property
    def repeatable(self) -> tuple[object, ...]:
        """Everything that must be equal in two serial runs of one seed."""
        counted = (
            *(self.marks, self.lines, self.inputs, self.totals, self.end, dict(self.checks)),
            self.activity,
        )
        return (self.level, self.mode, self.seed, *counted)


def read_log(path: Path) -> ClockLog:
    """The log at `path`."""
    try:
        raw = read_start(path, LOG_LIMIT)
    except OSError as error:
        raise VerifyError(f"the instruction clock left no log at {path}: {error.strerror}") from error
    if len(raw) > LOG_LIMIT:
        raise VerifyError(f"{path}: a clock log has at most {LOG_LIMIT} bytes")
    try:
        text = raw.decode("ascii")
    except UnicodeDecodeError as error:
        raise VerifyError(f"{path}: byte {error.start} is not ASCII: this is not a clock log") from error
    return _Reader(path).read(text)


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 0
        self.marks: list[Mark] = []
        self.lines: list[ConsoleLine] = []
        self.inputs: list[Input] = []
        self.work: tuple[Work, ...] = ()
        self.totals: list[VcpuTotals] = []
        self.activity = Reader()
        self.counters: dict[str, dict[str, int]] = {"check": {}, "host": {}}
        self.stuck: list[str] = []
        self.refused = ""
        self.waited: int | None = None
        self.end: int | None = None
        self.flooded = self.closed = False
        self.vcpus = 0

    def fail(self, why: str) -> VerifyError:
        return VerifyError(f"{self.path}:{self.line}: {why}")

    def number(self, word: str, *, below: int = _NUMBER_LIMIT) -> int:
        if not _NUMBER.fullmatch(word) or int(word) >= below:
            raise self.fail(f"`{word[:40]}` is not a number below {below}")
        return int(word)

    def read(self, text: str) -> ClockLog:
        lines = text.split("\n")
        if lines and lines[-1]:
            lines.pop()  # QEMU died while it wrote this line
        header = self._header(lines)
        self.vcpus = header.vcpus
        self.work = (Work(),) * header.vcpus
        handlers: dict[str, Callable[[list[str]], None]] = {
            "mark": self._mark,
            "ran": self._ran,
            "line": self._console_line,
            "typed": self._typed,
            "vcpu": self._vcpu,
            "waited": self._waited,
            "check": self._counter,
            "host": self._counter,
            "end": self._end,
            **dict.fromkeys(("columns", "worked", "spun", "woke"), self._activity),
            "beat": self._pulse,
            "halted": self._pulse,
        }
        for self.line, line in enumerate(lines[len(_HEADER) :], len(_HEADER) + 1):
            self._line(line, handlers)
        if self.closed and (len(self.totals) != self.vcpus or self.end is None):
            raise self.fail("the log is closed, but the totals are incomplete")
        return replace(
            header,
            marks=tuple(self.marks),
            lines=tuple(self.lines),
            inputs=tuple(self.inputs),
            totals=tuple(self.totals),
            activity=self._whole_activity(),
            end=self.end,
            checks=MappingProxyType(self.counters["check"]),
            host=MappingProxyType(self.counters["host"]),
            refused=self.refused,
            stuck=tuple(self.stuck),
            flooded=self.flooded,
            waited=self.waited,
            closed=self.closed,
        )

    def _header(self, lines: list[str]) -> ClockLog:
        words: dict[str, list[str]] = {}
        for self.line, name in enumerate(_HEADER, 1):
            found, *values = lines[self.line - 1].split(" ") if len(lines) >= self.line else [""]
            if found != name or len(values) != (3 if name == "api" else 1):
                raise self.fail(f"expected `{name}`: this is not a complete log of the instruction clock")
            words[name] = values
        self.line = 1
        if words["insn-clock"] != ["1"]:
            raise self.fail(f"version `{words['insn-clock'][0][:20]}` of the clock's log is unknown")
        try:
            level, mode = Level(words["level"][0]), ClockMode(words["mode"][0])
        except ValueError as error:
            raise self.fail("an unknown level or mode") from error
        seed, vcpus = self.number(words["seed"][0], below=2**64), self.number(words["vcpus"][0], below=257)
        quantum, fine, rush = (
            self.number(words[name][0], below=2**40) for name in ("quantum", "fine", "rush")
        )
        requested, oldest, newest = map(self.number, words["api"])
        return ClockLog(
            level, mode, seed, quantum, fine, rush, vcpus, api=(requested, oldest, newest), marks=()
        )

    def _line(self, line: str, handlers: dict[str, Callable[[list[str]], None]]) -> None:
        word, _, rest = line.partition(" ")
        if self.closed and line:
            raise self.fail("there is text after the end of the log")
        if word == "refused":
            self.refused = one_line(rest, 300)
        elif word == "stuck":
            self.stuck.append(one_line(rest, 300))
        elif word == "flood":
            self.flooded = True
        elif line == "closed":
            self.closed = True
        elif word in handlers:
            handlers[word](line.split(" "))
        elif line:
            raise self.fail(f"unknown line `{one_line(line, 60)}`")

    def _mark(self, words: list[str]) -> None:
        if len(words) != 4 or not re.fullmatch(r"[0-9a-f]{2}", words[1]):
            raise self.fail("expected `mark KIND VCPU TIME`")
        vcpu = self.number(words[2], below=self.vcpus)
        self.marks.append(Mark(int(words[1], 16), vcpu, self.number(words[3])))

    def _ran(self, words: list[str]) -> None:
        if len(words) != 4:
            raise self.fail("expected `ran VCPU RAN WORKED`")
        vcpu = self.number(words[1], below=self.vcpus)
        now = Work(self.number(words[2]), self.number(words[3]))
        self.work = (*self.work[:vcpu], now, *self.work[vcpu + 1 :])

    def _console_line(self, words: list[str]) -> None:
        if len(words) != 3:
            raise self.fail("expected `line BYTES TIME`")
        end = self.number(words[1])
        if self.lines and end <= self.lines[-1].end:
            raise self.fail(f"a line ends at byte {end}, not after the one before it")
        self.lines.append(ConsoleLine(end, self.number(words[2]), self.work))

    def _typed(self, words: list[str]) -> None:
        if len(words) != 5:
            raise self.fail("expected `typed BYTES COUNT TIME PACE`")
        self.inputs.append(Input(*(self.number(word) for word in words[1:])))

    def _pulse(self, words: list[str]) -> None:
        """For whoever watches the run; nothing is judged by it."""
        if len(words) != 2:
            raise self.fail(f"expected `{words[0]} TIME`")
        self.number(words[1])

    def _waited(self, words: list[str]) -> None:
        if len(words) != 3 or self.waited is not None:
            raise self.fail("expected `waited VCPU TIME`, at most once")
        self.number(words[2])
        self.waited = self.number(words[1], below=self.vcpus)

    def _vcpu(self, words: list[str]) -> None:
        names = ("time", "executed", "paused", "skipped", "halted")
        if tuple(words[2::2]) != names or len(words) != 12 or words[1] != str(len(self.totals)):
            raise self.fail(
                "expected `vcpu N time T executed E paused P skipped S halted H`, in order of the vCPUs"
            )
        if len(self.totals) >= self.vcpus:
            raise self.fail("totals for a vCPU that does not exist")
        self.totals.append(VcpuTotals(*(self.number(word) for word in words[3::2])))

    def _activity(self, words: list[str]) -> None:
        try:
            if words[0] == "columns":
                self.activity.columns(words)
            elif words[0] == "woke":
                self.activity.woke(words, self.vcpus)
            else:
                self.activity.shares(words)
        except ValueError as error:
            raise self.fail(str(error)) from None

    def _whole_activity(self) -> Activity | None:
        try:
            return self.activity.activity(self.vcpus)
        except ValueError as error:
            raise self.fail(str(error)) from None

    def _counter(self, words: list[str]) -> None:
        counters = self.counters[words[0]]
        if len(words) != 3 or not _WORD.fullmatch(words[1]) or words[1] in counters:
            raise self.fail(f"expected `{words[0]} NAME VALUE`, each name once")
        counters[words[1]] = self.number(words[2], below=2**64)

    def _end(self, words: list[str]) -> None:
        if len(words) != 2 or self.end is not None:
            raise self.fail("expected `end TIME`, once")
        self.end = self.number(words[1])
