"""Reads what the machine counted of the guest's programs and their kernel (c/record/counts.c).

`CountsReader` takes one line of the clock's log after the other, in words; `counts` gives `Counts`, or None
if the log has no such lines (older versions and a QEMU before 9.1 write none, and one that was killed had no
time to). The lines are untrusted: a line outside the format is a ValueError. `witnessed` adds vCPUs up, under
the names that a workload's YAML uses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

from benchgate.insn.log_text import number

SYSCALLS, PROGRAMS, SPUN = "syscalls", "programs", "spun"
EVENT = "events."
"""The first part of the names that a system's YAML makes itself."""
RETURNS, EXCHANGED = "returns", "exchanged"
"""The names that say whether the exits of system calls were seen, and whose bytes were read."""
_ALWAYS = ("atomics", "spaces", "halts", "instructions", "worked", PROGRAMS, SPUN, "products", "divisions")
"""The names that do not depend on what the plugin was told of the kernel's functions."""
TOTAL, WORK, WHOLE, SO_FAR = "total", "work", "whole", "so_far"
OTHERS = 1023
"""Stands for all system calls with this number or a higher one."""
MOST_NAMES = 64
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}(?:\.[a-z][a-z0-9_]{0,31})?")
_K = TypeVar("_K")


@dataclass(frozen=True, slots=True)
class CountedCpu:
    """What was counted of one vCPU, in one window or since the guest's start."""

    values: Mapping[str, int]
    """Maps each name that was counted to its number."""
    calls: Mapping[int, int] = field(default_factory=dict)
    """Maps the numbers of the system calls that were made to how often."""
    requested: Mapping[int, int] = field(default_factory=dict)
    """Maps the numbers of those that move bytes to how many they were asked for, in all."""

    done: Mapping[int, int] = field(default_factory=dict)
    """Maps the numbers of system calls to how often they succeeded. One that began before the window, or on
    another vCPU, counts where it returned."""
    moved: Mapping[int, int] = field(default_factory=dict)
    """Maps the numbers of those that move bytes to how many they returned, in all."""
    exchanged: Mapping[int, int] = field(default_factory=dict)
    """Maps the numbers of those that read to how many of the bytes another thread had written."""

    def since(self, before: CountedCpu) -> CountedCpu:
        """What was counted after that moment."""
        values, calls = _difference(self.values, before.values), _difference(self.calls, before.calls)
        return CountedCpu(values, calls, _difference(self.requested, before.requested))


def _difference(now: Mapping[_K, int], then: Mapping[_K, int]) -> Mapping[_K, int]:
    return MappingProxyType({key: value - then.get(key, 0) for key, value in now.items()})


@dataclass(frozen=True, slots=True)
class CountedSpan:
    """A window, in ns of guest time, and what was counted in it of each vCPU."""

    begin: int
    end: int
    vcpus: tuple[CountedCpu, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    names: tuple[str, ...]
    """What was counted. Any other name was not seen, which is not the same as 0."""
    total: CountedSpan | None
    """From the first mark that begins the window to the last one that ends it; None if there is none."""
    work: CountedSpan | None
    """From the first begin of a worker to the last end of one."""
    whole: CountedSpan | None = None
    """From where the workload's program starts, or the guest if that was not seen, to the end; None in logs
    of earlier versions."""

    @property
    def repeatable(self) -> tuple[object, ...]:
        """The parts that are equal in two runs of a seed, whether or not functions are observed."""
        return tuple(
            (name, span.begin, span.end, tuple(vcpu.values[name] for vcpu in span.vcpus))
            for name in _ALWAYS
            for span in (self.total, self.work)
            if span is not None and name in self.names
        )


def witnessed(vcpus: Iterable[CountedCpu], calls: Mapping[str, int]) -> Mapping[str, int]:
    """The sums over these vCPUs. `calls` maps the names of system calls to their numbers: they make
    `syscalls.NAME` and `bytes.NAME`, of calls that were not made, too; and `done.NAME`, `moved.NAME` and
    `exchanged.NAME` where the exits of calls were seen."""
    sums: Counter[str] = Counter()
    by_call: dict[str, Counter[int]] = {}
    for vcpu in vcpus:
        for name, value in vcpu.values.items():
            sums[name] += value
        counted = {SYSCALLS: vcpu.calls, "bytes": vcpu.requested}
        if RETURNS in vcpu.values:
            counted |= {"done": vcpu.done, "moved": vcpu.moved}
        if EXCHANGED in vcpu.values:
            counted["exchanged"] = vcpu.exchanged
        for what, values in counted.items():
            by_call.setdefault(what, Counter()).update(values)
    named = {f"{what}.{call}": found[n] for what, found in by_call.items() for call, n in calls.items()}
    return MappingProxyType({**sums, **named})


class _CountedSoFar:
    def __init__(self) -> None:
        self.values: dict[str, int] = {}
        self.calls: dict[int, int] = {}
        self.requested: dict[int, int] = {}
        self.done: dict[int, int] = {}
        self.moved: dict[int, int] = {}
        self.exchanged: dict[int, int] = {}

    def frozen(self, names: Iterable[str]) -> CountedCpu:
        if SYSCALLS in names and sum(self.calls.values()) != self.values.get(SYSCALLS, 0):
            raise ValueError("the system calls by number are not as many as all of them")
        for name, numbers in ((RETURNS, self.done), (EXCHANGED, self.exchanged)):
            if sum(numbers.values()) != self.values.get(name, 0):
                raise ValueError(f"`{name}` by number of the system call is not as many as all of them")
        values = {name: self.values.get(name, 0) for name in names}
        each = values, self.calls, self.requested, self.done, self.moved, self.exchanged
        return CountedCpu(*(MappingProxyType(dict(one)) for one in each))


class CountsReader:
    def __init__(self) -> None:
        self._names: list[str] = []
        self._spans: dict[str, tuple[int, int]] = {}
        self._cpus: dict[tuple[str, int], _CountedSoFar] = {}
        self._lines: tuple[CountedCpu, ...] | None = None
        self._changed = True
        self.words: Mapping[str, Callable[[list[str], int], None]] = {
            "counted": self._counted,
            "counting": self._counting,
            "uncounted": self._uncounted,
            "saw": self._saw,
            "called": self._called,
            "returned": self._returned,
            "exchanged": self._exchanged,
        }
        """Maps a line's first word to its reader, which also takes the number of vCPUs."""
        self._stopped = False

    def _counted(self, words: list[str], _vcpus: int) -> None:
        is_name = len(words) == 2 and _NAME.fullmatch(words[1]) and words[1] not in self._names
        if not is_name or self._cpus or self._spans or len(self._names) >= MOST_NAMES:
            raise ValueError(f"expected `counted NAME`, each once, before all counts, at most {MOST_NAMES}")
        self._names.append(words[1])

    def _counting(self, words: list[str], _vcpus: int) -> None:
        if (
            len(words) != 4
            or words[1] not in (TOTAL, WORK, WHOLE)
            or words[1] in self._spans
            or not self._names
        ):
            raise ValueError("expected `counting total|work|whole BEGIN END`, each once, after `counted`")
        begin, end = number(words[2]), number(words[3])
        self._spans[words[1]] = begin, end

    def _uncounted(self, words: list[str], _vcpus: int) -> None:
        if len(words) != 1 or self._stopped:
            raise ValueError("expected `uncounted`, once")
        self._stopped = self._changed = True

    def _cpu(self, words: list[str], vcpus: int) -> _CountedSoFar:
        span, vcpu = words[1], number(words[2], vcpus)
        if span not in self._spans and span != SO_FAR:
            raise ValueError(f"counts of `{span[:20]}`, of which no line `counting` says when it was")
        if span == SO_FAR:
            if self._stopped:
                raise ValueError("counts after `uncounted`")
            self._changed = True
        return self._cpus.setdefault((span, vcpu), _CountedSoFar())

    def _saw(self, words: list[str], vcpus: int) -> None:
        if len(words) != 5 or words[3] not in self._names:
            raise ValueError("expected `saw SPAN VCPU NAME VALUE`, of a name that is counted")
        values = self._cpu(words, vcpus).values
        _grow(values, words[3], number(words[4]), is_final=words[1] != SO_FAR)

    def _called(self, words: list[str], vcpus: int) -> None:
        if len(words) != 6 or SYSCALLS not in self._names:
            raise ValueError("expected `called SPAN VCPU NUMBER TIMES BYTES`")
        cpu, is_final = self._cpu(words, vcpus), words[1] != SO_FAR
        call, times = number(words[3], OTHERS + 1), number(words[4])
        _grow(cpu.calls, call, times, is_final=is_final)
        if words[5] != "-":
            asked = number(words[5])
            if not is_final and asked == cpu.requested.get(call):
                return  # more calls that ask for no byte
            _grow(cpu.requested, call, asked, is_final=is_final, least=0)

    def _returned(self, words: list[str], vcpus: int) -> None:
        if len(words) != 6 or RETURNS not in self._names or words[1] == SO_FAR:
            raise ValueError("expected `returned total|work VCPU NUMBER TIMES BYTES`")
        cpu, call = self._cpu(words, vcpus), number(words[3], OTHERS + 1)
        _grow(cpu.done, call, number(words[4]), is_final=True)
        if words[5] != "-":
            _grow(cpu.moved, call, number(words[5]), is_final=True, least=0)

    def _exchanged(self, words: list[str], vcpus: int) -> None:
        if len(words) != 5 or EXCHANGED not in self._names or words[1] == SO_FAR:
            raise ValueError("expected `exchanged total|work VCPU NUMBER BYTES`")
        cpu, call = self._cpu(words, vcpus), number(words[3], OTHERS + 1)
        _grow(cpu.exchanged, call, number(words[4]), is_final=True)

    def line(self, vcpus: int) -> tuple[CountedCpu, ...] | None:
        """What was counted up to a line of the console; None if it is not known."""
        if not self._names or self._stopped:
            return None
        if self._changed:
            self._lines = tuple(self._of(SO_FAR, c) for c in range(vcpus))
            self._changed = False
        return self._lines

    def _of(self, span: str, vcpu: int) -> CountedCpu:
        return self._cpus.get((span, vcpu), _CountedSoFar()).frozen(self._names)

    def counts(self, vcpus: int, *, closed: bool) -> Counts | None:
        """Gives what was read. It is known only of a whole log (`closed`)."""
        if not self._names or not closed:
            return None
        spans = {
            name: CountedSpan(*times, tuple(self._of(name, c) for c in range(vcpus)))
            for name, times in self._spans.items()
        }
        return Counts(tuple(self._names), *map(spans.get, (TOTAL, WORK, WHOLE)))


def _grow(known: dict[_K, int], key: _K, value: int, *, is_final: bool, least: int = 1) -> None:
    if value < least or (key in known and (is_final or value <= known[key])):
        raise ValueError(f"the count of `{key}` is 0, comes a second time, or does not grow")
    known[key] = value
