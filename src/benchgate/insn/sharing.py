"""Reads the memory lines that moved between CPUs in the window (c/record/sharing.c), and names their
variables.

Takes the path of the file; gives frozen `Sharing`, the line that moved most first. `named` adds the variables
that lie in each line, from symbol tables; `text` writes it again, in the plugin's format with lines `called`.
The file is untrusted: a line outside the format is a VerifyError that names it, and so is a file without an
end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchgate.base.errors import VerifyError
from benchgate.insn.log_text import text_of
from benchgate.insn.symbols import Symbols

FILE_LIMIT = 256 << 20
MOST_CPUS = 256
LONGEST_LINE = 1024
_N, _HEX = r"(0|[1-9][0-9]{0,18})", r"(0|[1-9a-f][0-9a-f]{0,15})"
_HEAD = re.compile(rf"line {_N}\nvcpus {_N}\nwindow {_N}\ndropped {_N} {_N}")
_MOVED = re.compile(rf"moved {_HEX} {_HEX} {_HEX} {_N}")
_CPU = {
    "by": re.compile(rf"by {_N} {_N} {_N} {_N} {_N}"),
    "at": re.compile(rf"at {_N} {_N} {_N} {_N} {_N}"),
    "more": re.compile(rf"more {_N} {_N} {_N}"),
}
_CALLED = re.compile(rf"called {_N} {_N} {_N} ([!-~]{{1,200}})")
_END = re.compile(rf"end {_N}")


@dataclass(frozen=True, slots=True)
class Touch:
    """How often one CPU accessed these bytes of a line."""

    offset: int
    size: int
    reads: int
    writes: int

    @property
    def bytes(self) -> range:
        return range(self.offset, self.offset + self.size)


@dataclass(frozen=True, slots=True)
class LineCpu:
    cpu: int
    taken: tuple[int, int, int]
    """How often it took the line from a CPU of its cluster, of another cluster, and of another socket."""
    given: int
    touches: tuple[Touch, ...]
    more_reads: int = 0
    more_writes: int = 0
    """The accesses to bytes that are not in `touches`."""

    @property
    def accesses(self) -> int:
        return sum(touch.reads + touch.writes for touch in self.touches) + self.more_reads + self.more_writes


@dataclass(frozen=True, slots=True)
class VariableBytes:
    """The bytes of a line that belong to one variable."""

    offset: int
    size: int
    at: int
    """The offset in the variable at which they begin."""
    name: str


@dataclass(frozen=True, slots=True)
class MovedLine:
    physical: int
    kernel: int
    """The first virtual address in the upper half by which it was accessed; 0 if there is none."""
    user: int
    """The first such address in the lower half; 0 if there is none."""
    moves: int
    cpus: tuple[LineCpu, ...]
    names: tuple[VariableBytes, ...] = ()
    """The variables in the line by offset; empty if no symbol is known."""

    @property
    def address(self) -> int:
        """The address by which it was accessed: the kernel's, else a user's, else the physical one."""
        return self.kernel or self.user or self.physical


@dataclass(frozen=True, slots=True)
class Sharing:
    line: int
    """The number of bytes in a line."""
    vcpus: int
    window: int
    """The length of the window, in ns."""
    dropped: int
    """How many lines were dropped because they moved seldom and the table was full."""
    dropped_moves: int
    """A dropped line moved at most this often, and each count is too low by at most this."""
    known: int
    """How many lines moved, without the dropped ones. The file has the 4,000 that moved most."""
    lines: tuple[MovedLine, ...]


def read_sharing(path: Path) -> Sharing:
    return _SharingReader(path, text_of(path, FILE_LIMIT, "moved lines").split("\n")).read()


@dataclass
class _Cpu:
    """The state of a CPU while its lines are read."""

    by: tuple[int, ...] = (0, 0, 0, 0)
    touches: list[Touch] = field(default_factory=list)
    more: tuple[int, ...] = (0, 0)

    def frozen(self, cpu: int) -> LineCpu:
        cluster, across, socket, given = self.by
        return LineCpu(cpu, (cluster, across, socket), given, tuple(self.touches), *self.more)


class _SharingReader:
    def __init__(self, path: Path, lines: list[str]) -> None:
        self.path, self.lines = path, lines
        self.at = 0
        self.line = self.vcpus = 0

    def fail(self, why: str) -> VerifyError:
        return VerifyError(f"{self.path}:{self.at + 1}: {why}")

    def read(self) -> Sharing:
        if self.lines[:1] != ["insn-sharing 1"]:
            raise VerifyError(f"{self.path}: not a file of moved lines of a known version")
        if not (head := _HEAD.fullmatch("\n".join(self.lines[1:5]))):
            raise VerifyError(f"{self.path}: the head of the file of moved lines is not complete")
        self.line, self.vcpus, window, dropped, dropped_moves = map(int, head.groups())
        if not (0 < self.line <= LONGEST_LINE and 0 < self.vcpus <= MOST_CPUS):
            raise VerifyError(f"{self.path}: {self.line} bytes a line and {self.vcpus} CPUs cannot be")
        self.at = 5
        lines = tuple(self._moved())
        known = _END.fullmatch(self.lines[self.at])
        if not known or int(known[1]) < len(lines) or self.lines[self.at + 1 :] != [""]:
            raise self.fail("expected `end LINES`, and nothing after it")
        return Sharing(self.line, self.vcpus, window, dropped, dropped_moves, int(known[1]), lines)

    def _moved(self) -> Iterator[MovedLine]:
        while match := _MOVED.fullmatch(self._now()):
            physical, kernel, user = (int(word, 16) for word in match.groups()[:3])
            self.at += 1
            names = tuple(self._names())
            yield MovedLine(physical, kernel, user, int(match[4]), tuple(self._cpus()), names)

    def _names(self) -> Iterator[VariableBytes]:
        while match := _CALLED.fullmatch(self._now()):
            offset, size, at = map(int, match.groups()[:3])
            self._fits(offset, size)
            self.at += 1
            yield VariableBytes(offset, size, at, match[4])

    def _cpus(self) -> Iterator[LineCpu]:
        known: dict[int, _Cpu] = {}
        add: dict[str, Callable[[_Cpu, tuple[int, ...]], None]] = {
            "by": lambda cpu, values: setattr(cpu, "by", values),
            "at": lambda cpu, values: cpu.touches.append(self._touch(*values)),
            "more": lambda cpu, values: setattr(cpu, "more", values),
        }
        while (pattern := _CPU.get(word := self._now().partition(" ")[0])) is not None:
            if not (match := pattern.fullmatch(self._now())):
                raise self.fail("this is not a line of a file of moved lines")
            cpu, *values = map(int, match.groups())
            if cpu >= self.vcpus:
                raise self.fail(f"there is no vCPU {cpu}")
            add[word](known.setdefault(cpu, _Cpu()), tuple(values))
            self.at += 1
        return (value.frozen(cpu) for cpu, value in known.items())

    def _touch(self, offset: int, size: int, reads: int, writes: int) -> Touch:
        self._fits(offset, size)
        return Touch(offset, size, reads, writes)

    def _fits(self, offset: int, size: int) -> None:
        if not 0 < size <= self.line - offset:
            raise self.fail(f"{size} bytes at {offset} do not fit into a line of {self.line}")

    def _now(self) -> str:
        return self.lines[self.at] if self.at < len(self.lines) else ""


# ---- names


MOST_NAMED = 64
"""This many lines, those that moved most, are kept and named."""


def named(seen: Sharing, kernel: Symbols, user: Symbols) -> Sharing:
    """Adds the variables to the first lines, and drops the other lines."""
    lines = (replace(line, names=_named(line, seen.line, kernel, user)) for line in seen.lines[:MOST_NAMED])
    return replace(seen, lines=tuple(lines))


def _named(line: MovedLine, size: int, kernel: Symbols, user: Symbols) -> tuple[VariableBytes, ...]:
    """The variables in a line. A kernel's own address of user memory has no symbol, so both are tried."""
    both = ((line.kernel, kernel), (line.user, user))
    result = ([*_variables(begin, size, symbols)] for begin, symbols in both if begin)
    return next((tuple(names) for names in result if names), ())


def _variables(begin: int, size: int, symbols: Symbols) -> Iterator[VariableBytes]:
    for name, first, end in symbols.within(begin, begin + size):
        offset = max(first - begin, 0)
        yield VariableBytes(offset, min(end - begin, size) - offset, begin + offset - first, name)


def text(seen: Sharing) -> str:
    head = (
        "insn-sharing 1",
        f"line {seen.line}",
        f"vcpus {seen.vcpus}",
        f"window {seen.window}",
        f"dropped {seen.dropped} {seen.dropped_moves}",
    )
    body = (word for line in seen.lines for word in _lines_of(line))
    return "".join(f"{line}\n" for line in (*head, *body, f"end {seen.known}"))


def _lines_of(line: MovedLine) -> Iterator[str]:
    yield f"moved {line.physical:x} {line.kernel:x} {line.user:x} {line.moves}"
    for name in line.names:
        yield f"called {name.offset} {name.size} {name.at} {name.name}"
    for cpu in line.cpus:
        yield f"by {cpu.cpu} {' '.join(map(str, cpu.taken))} {cpu.given}"
        for touch in cpu.touches:
            yield f"at {cpu.cpu} {touch.offset} {touch.size} {touch.reads} {touch.writes}"
        if cpu.more_reads or cpu.more_writes:
            yield f"more {cpu.cpu} {cpu.more_reads} {cpu.more_writes}"
