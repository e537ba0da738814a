"""Strict parser for the log that the instruction clock writes.

Takes the path of a clock log; gives its `ClockLog`. The file is untrusted: anything outside the format raises
VerifyError, with the line and the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from benchgate.base.errors import VerifyError
from benchgate.base.files import read_start
from benchgate.base.text import one_line
from benchgate.insn import log
from benchgate.insn.activity import ActivityReader
from benchgate.insn.counts import CountsReader
from benchgate.insn.explore_log import StallLogReader as ExploreReader
from benchgate.insn.log_text import number, whole_lines
from benchgate.insn.memory_log import DELAYED, PARTS
from benchgate.insn.memory_log import MemoryLogReader as MemoryReader
from benchgate.insn.operations import OperationsReader

LOG_LIMIT = 4 << 20
_WORD = re.compile(r"[a-z][a-z0-9_]{0,39}")
_HEADER = ("insn-clock", "level", "mode", "seed", "quantum", "fine", "rush", "vcpus", "api")


def read_log(path: Path) -> log.ClockLog:
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
    return _LogReader(path).read(text)


def _grows(before: log.LateSightings | None, after: log.LateSightings | None) -> bool:
    if before is None or after is None:
        return before is after
    return before.handovers <= after.handovers and before.late <= after.late


class _LogReader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 0
        self.marks: list[log.ClockMark] = []
        self.lines: list[log.ConsoleLine] = []
        self.inputs: list[log.ConsoleInput] = []
        self.work: tuple[log.VcpuWork, ...] = ()
        self.totals: list[log.VcpuTotals] = []
        self.capacities: list[int] = []
        self.activity = ActivityReader()
        self.memory = MemoryReader()
        self.explore = ExploreReader()
        self.counted = CountsReader()
        self.operated = OperationsReader()
        readers = self.activity, self.memory, self.explore, self.counted, self.operated
        self.parts = {word: read for reader in readers for word, read in reader.words.items()}
        self.counters: dict[str, dict[str, int]] = {"check": {}, "host": {}}
        self.carrier = ""
        self.stuck: list[str] = []
        self.refused = ""
        self.start: tuple[int, int] | None = None
        self.end: int | None = None
        self.turned: list[log.TurnedClock] = []
        self.flooded = self.closed = False
        self.vcpus = 0

    def fail(self, why: str) -> VerifyError:
        return VerifyError(f"{self.path}:{self.line}: {why}")

    @contextmanager
    def _located(self) -> Iterator[None]:
        """Adds the line to the error about one of its words."""
        try:
            yield
        except ValueError as error:
            raise self.fail(str(error)) from None

    def read(self, text: str) -> log.ClockLog:
        lines = whole_lines(text)
        header = self._header(lines)
        self.vcpus = header.vcpus
        self.work = (log.VcpuWork(),) * header.vcpus
        own: dict[str, Callable[[list[str]], None]] = {
            "start": self._start,
            "capacity": self._capacity,
            "mark": self._mark,
            "ran": self._ran,
            "polled": self._polled,
            "line": self._console_line,
            "typed": self._typed,
            "vcpu": self._vcpu,
            "check": self._counter,
            "host": self._host,
            "end": self._end,
            "beat": self._pulse,
            "turned": self._turned,
            "halted": self._pulse,
        }
        with self._located():
            for self.line, line in enumerate(lines[len(_HEADER) :], len(_HEADER) + 1):
                self._line(line, own)
        if self.closed and (len(self.totals) != self.vcpus or self.end is None):
            raise self.fail("the log is closed, but the totals are incomplete")
        with self._located():
            activity = self.activity.activity(self.vcpus, self.counters["host"])
            memory = self.memory.books(self.vcpus, closed=self.closed)
            counts = self.counted.counts(self.vcpus, closed=self.closed)
            operations = self.operated.operations(closed=self.closed)
        return replace(
            header,
            marks=tuple(self.marks),
            lines=tuple(self.lines),
            inputs=tuple(self.inputs),
            totals=tuple(self.totals),
            activity=activity,
            start=self.start,
            machine=self.memory.machine or "",
            capacities=tuple(self.capacities),
            memory=memory,
            orders=self.memory.orders(),
            explored=self.explore.explored(),
            counts=counts,
            operations=operations,
            children=tuple(self.operated.children) if self.closed else (),
            unmeasured=MappingProxyType(dict(self.operated.unmeasured)),
            end=self.end,
            turned=tuple(self.turned),
            checks=MappingProxyType(self.counters["check"]),
            carrier=self.carrier,
            host=MappingProxyType(self.counters["host"]),
            refused=self.refused,
            stuck=tuple(self.stuck),
            flooded=self.flooded,
            closed=self.closed,
        )

    def _header(self, lines: list[str]) -> log.ClockLog:
        words: dict[str, list[str]] = {}
        for self.line, name in enumerate(_HEADER, 1):
            found, *values = lines[self.line - 1].split(" ") if len(lines) >= self.line else [""]
            if found != name or len(values) != (3 if name == "api" else 1):
                raise self.fail(f"expected `{name}`: this is not a complete log of the instruction clock")
            words[name] = values
        self.line = 1
        if words["insn-clock"] != ["1"]:
            raise self.fail(f"version `{words['insn-clock'][0][:20]}` of the clock's log is unknown")
        if (words["level"], words["mode"]) != (["full"], ["serial"]):
            raise self.fail("expected `level full` and `mode serial`: no other clock is exact")
        with self._located():
            seed, vcpus = number(words["seed"][0], 2**64), number(words["vcpus"][0], 257)
            quantum, fine, rush = (number(words[name][0], 2**40) for name in ("quantum", "fine", "rush"))
            requested, oldest, newest = map(number, words["api"])
        return log.ClockLog(seed, quantum, fine, rush, vcpus, api=(requested, oldest, newest), marks=())

    def _line(self, line: str, own: dict[str, Callable[[list[str]], None]]) -> None:
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
        elif word in own:
            own[word](line.split(" "))
        elif (reads := self.parts.get(word)) is not None:
            reads(line.split(" "), self.vcpus)
            self.memory.explored = self.explore.began
        elif line:
            raise self.fail(f"unknown line `{one_line(line, 60)}`")

    def _start(self, words: list[str]) -> None:
        if len(words) != 3 or self.start is not None:
            raise self.fail("expected `start TIME BYTES`, once")
        self.start = number(words[1]), number(words[2])

    def _capacity(self, words: list[str]) -> None:
        if len(words) != 3 or words[1] != str(len(self.capacities)):
            raise self.fail("expected `capacity VCPU CAPACITY`, in order of the vCPUs")
        self.capacities.append(number(words[2]))

    def _mark(self, words: list[str]) -> None:
        if len(words) != 4 or not re.fullmatch(r"[0-9a-f]{2}", words[1]):
            raise self.fail("expected `mark KIND VCPU TIME`")
        vcpu = number(words[2], self.vcpus)
        self.marks.append(log.ClockMark(int(words[1], 16), vcpu, number(words[3])))

    def _ran(self, words: list[str]) -> None:
        if len(words) != 4:
            raise self.fail("expected `ran VCPU RAN WORKED`")
        vcpu = number(words[1], self.vcpus)
        self._works(vcpu, replace(self.work[vcpu], ran=number(words[2]), worked=number(words[3])))

    def _polled(self, words: list[str]) -> None:
        if len(words) != 3:
            raise self.fail("expected `polled VCPU COUNT`")
        vcpu = number(words[1], self.vcpus)
        self._works(vcpu, replace(self.work[vcpu], polled=number(words[2])))

    def _works(self, vcpu: int, now: log.VcpuWork) -> None:
        self.work = (*self.work[:vcpu], now, *self.work[vcpu + 1 :])

    def _console_line(self, words: list[str]) -> None:
        if len(words) not in (3, 6):
            raise self.fail("expected `line BYTES TIME HANDOVERS LATE PENDING`")
        end, time, *late = map(number, words[1:])
        if self.lines and end <= self.lines[-1].end:
            raise self.fail(f"a line ends at byte {end}, not after the one before it")
        seen = log.LateSightings(*late) if late else None
        if self.lines and not _grows(self.lines[-1].seen_late, seen):
            raise self.fail("its hand-overs, or the delays of all, are fewer than those of the line before")
        self.lines.append(log.ConsoleLine(end, time, self.work, seen, self.counted.line(self.vcpus)))

    def _typed(self, words: list[str]) -> None:
        if len(words) != 5:
            raise self.fail("expected `typed BYTES COUNT TIME PACE`")
        self.inputs.append(log.ConsoleInput(*(number(word) for word in words[1:])))

    def _pulse(self, words: list[str]) -> None:
        """Checks a line that only watchers of the running guest use."""
        if len(words) != 2:
            raise self.fail(f"expected `{words[0]} TIME`")
        number(words[1])

    def _turned(self, words: list[str]) -> None:
        if len(words) != 6:
            raise self.fail("expected `turned TIME SEED QUANTUM FINE RUSH`")
        self.turned.append(log.TurnedClock(*map(number, words[1:])))

    def _vcpu(self, words: list[str]) -> None:
        spent = PARTS if self.memory.machine or self.capacities else PARTS[:-1]
        names = ("time", *spent, *((DELAYED,) if self.explore.began else ()))
        is_next = len(words) == 2 + 2 * len(names) and words[1] == str(len(self.totals))
        if not is_next or tuple(words[2::2]) != names:
            parts = " ".join(f"{name} {name[0].upper()}" for name in names)
            raise self.fail(f"expected `vcpu N {parts}`, in order of the vCPUs")
        if len(self.totals) >= self.vcpus:
            raise self.fail("totals for a vCPU that does not exist")
        values = map(number, words[3::2])
        self.totals.append(log.VcpuTotals(**dict(zip(names, values, strict=True))))

    def _counter(self, words: list[str]) -> None:
        counters = self.counters[words[0]]
        if len(words) != 3 or not _WORD.fullmatch(words[1]) or words[1] in counters:
            raise self.fail(f"expected `{words[0]} NAME VALUE`, each name once")
        counters[words[1]] = number(words[2], 2**64)

    def _host(self, words: list[str]) -> None:
        if words[1:2] != ["carrier"]:
            self._counter(words)
        elif len(words) != 3 or words[2] not in log.CARRIERS or self.carrier:
            raise self.fail(f"expected `host carrier WAY`, once; a way is one of {', '.join(log.CARRIERS)}")
        else:
            self.carrier = words[2]

    def _end(self, words: list[str]) -> None:
        if len(words) != 2 or self.end is not None:
            raise self.fail("expected `end TIME`, once")
        self.end = number(words[1])
