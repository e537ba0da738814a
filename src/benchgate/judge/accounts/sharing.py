"""Says who shares a line of memory with whom, and tells false sharing from true.

Takes the moved lines of a run (insn/sharing.py); gives `SharedLine`: the kind and a sentence for each line.
`recorded` takes judged runs; gives the moved lines that a session kept, in the order of execution. It fails
with VerifyError if such a file is not one.

Two CPUs share falsely if one writes and neither writes a byte that the other accesses. Accesses that are few
beside the line's moves (FEW) do not explain them: a program may just add up all counters at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from benchgate.base import grouped
from benchgate.insn.sharing import LineCpu, MovedLine, Sharing, read_sharing
from benchgate.judge.judged_run import JudgedRun, Recording, recordings

KEPT = "moved-lines.txt"
FEW = 0.01
"""Bytes that were accessed less often than this share of a line's moves are left out."""
MOST_NAMED = 4
"""A sentence names at most so many CPUs; those that do the same are counted once."""


class SharingKind(StrEnum):
    FALSE = "false sharing"
    TRUE = "true sharing"
    BOTH = "true and false sharing"
    HANDED = "handed over"
    """No two of its frequent users conflict: a thread or its data moved on."""


@dataclass(frozen=True, slots=True)
class LineUse:
    """What one CPU does to a line: the bytes of it, few accesses left out."""

    cpu: int
    reads: frozenset[int]
    writes: frozenset[int]

    @property
    def all(self) -> frozenset[int]:
        return self.reads | self.writes


@dataclass(frozen=True, slots=True)
class SharedLine:
    line: MovedLine
    kind: SharingKind
    name: str
    """The names of the variables in it, or its address."""
    said: str
    """Says who does what to which bytes, and what that is called."""

    @property
    def is_false(self) -> bool:
        return self.kind in (SharingKind.FALSE, SharingKind.BOTH)


def shared(line: MovedLine, size: int) -> SharedLine:
    """`size` is the number of bytes in a line."""
    parts = _parts(line, size)
    kind, name = _kind(parts), name_of(line)
    quoted = f"`{name}`" if line.names else name
    return SharedLine(line, kind, name, f"{_sentence(parts, line, quoted)}: {kind}")


def recorded(runs: Iterable[JudgedRun]) -> tuple[Recording[Sharing], ...]:
    return recordings(runs, KEPT, read_sharing)


def name_of(line: MovedLine) -> str:
    """`counters+0x40`, `a, b`, or the address and whose it is."""
    names = [f"{name.name}+{name.at:#x}" if name.at else name.name for name in line.names]
    if names:
        more = [f"{len(names) - 3} more"] if len(names) > 3 else []
        return ", ".join([*names[:3], *more])
    where = "kernel" if line.kernel else "user" if line.user else "physical"
    return f"{line.address:#x} ({where})"


def _parts(line: MovedLine, size: int) -> list[LineUse]:
    return [part for part in (_part(cpu, line.moves, size) for cpu in line.cpus) if part.all]


def _part(cpu: LineCpu, moves: int, size: int) -> LineUse:
    """Accesses whose bytes are not known count as accesses to all."""
    least = FEW * moves
    reads = {byte for touch in cpu.touches if touch.reads >= max(least, 1) for byte in touch.bytes}
    writes = {byte for touch in cpu.touches if touch.writes >= max(least, 1) for byte in touch.bytes}
    if cpu.more_reads >= max(least, 1):
        reads.update(range(size))
    if cpu.more_writes >= max(least, 1):
        writes.update(range(size))
    return LineUse(cpu.cpu, frozenset(reads), frozenset(writes))


def _kind(parts: Sequence[LineUse]) -> SharingKind:
    pairs = [(a, b) for a, b in combinations(parts, 2) if a.writes or b.writes]
    true = [bool(a.writes & b.all or b.writes & a.all) for a, b in pairs]
    if not pairs:
        return SharingKind.HANDED
    if all(true):
        return SharingKind.TRUE
    return SharingKind.BOTH if any(true) else SharingKind.FALSE


def _sentence(parts: Sequence[LineUse], line: MovedLine, name: str) -> str:
    if not parts:
        return f"no CPU often accesses the line of {name}"
    groups = grouped(parts, key=lambda part: (part.writes, part.reads - part.writes))
    named = list(groups.items())[:MOST_NAMED]
    left = len(parts) - sum(len(alike) for _, alike in named)
    said = ", ".join(
        _does([part.cpu for part in alike], writes, reads, line) for (writes, reads), alike in named
    )
    return f"{said}{f' (and {left} more CPUs)' if left else ''} of one line of {name}"


def _does(cpus: Sequence[int], writes: frozenset[int], reads: frozenset[int], line: MovedLine) -> str:
    """`CPU 0 writes bytes 0-7`; with several variables in the line, their names, too."""
    both, ending = (("write", writes), ("read", reads)), "s" if len(cpus) == 1 else ""
    texts = [f"{verb}{ending} {_ranges('byte', which)}{_named(which, line)}" for verb, which in both if which]
    return f"{_ranges('CPU', cpus)} {' and '.join(texts)}"


def _ranges(noun: str, which: Iterable[int]) -> str:
    """`bytes 0-7 and 16-23`, `CPU 3`."""
    ranges: list[list[int]] = []
    for number in sorted(which):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    texts = [str(a) if a == b else f"{a}-{b}" for a, b in ranges]
    is_one = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
    *most, last = texts
    listed = f"{', '.join(most)} and {last}" if most else last
    return f"{noun} {listed}" if is_one else f"{noun}s {listed}"


def _named(which: frozenset[int], line: MovedLine) -> str:
    if len(line.names) < 2:
        return ""
    names = [
        name.name for name in line.names if not which.isdisjoint(range(name.offset, name.offset + name.size))
    ]
    return f" ({', '.join(names)})" if names else ""
