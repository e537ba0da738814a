"""Reads the books of a machine's memory system from the clock's log (c/memory/memory.h has the model).

`MemoryLogReader` takes one line after the other, in words; `books` and `orders` give frozen data, or None and
nothing if the log has no such lines (the ideal machine; a QEMU that was killed before it wrote them). The
lines are untrusted: a line outside the format is a ValueError. Whether the books balance is for
judge/checks/balance.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from benchgate.base.runs import Disorder
from benchgate.insn.log_text import ADDRESS, number

BOOT, WINDOW = "boot", "window"
PHASES = (BOOT, WINDOW)
"""`boot` is all that lies outside the window."""

KINDS = ("reads", "writes", "fetches", "atomics")
_TRANSFERS = ("transfer_cluster", "transfer_across", "transfer_socket")
PLACES = ("l1", "l2", "l3", "local", "remote", *_TRANSFERS)
"""The places that can serve an access."""
CLASSES = (*PLACES, "upgrade", "busy", "queue", "atomic", "walk", "interrupt")
"""The causes for which a vCPU can be stalled; c/memory/memory.h explains each."""
COUNTS = (*KINDS, *CLASSES, "invalidations", "written_back", "outside")
TOUCHED = "touched"
"""A further count: the bytes of the lines of which this vCPU was the first to use data in the window. Earlier
versions do not write it."""
PARTS = ("executed", "paused", "skipped", "halted", "stalled")
DELAYED = "delayed"
"""An additional part of the time, in a run that was explored."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class PhaseTime:
    """The parts of one vCPU's time in one phase, in ns."""

    executed: int
    paused: int
    skipped: int
    halted: int
    stalled: int
    delayed: int = 0

    @property
    def whole(self) -> int:
        return self.executed + self.paused + self.skipped + self.halted + self.stalled + self.delayed


@dataclass(frozen=True, slots=True)
class CpuBooks:
    """The books of one vCPU in one phase."""

    spent: PhaseTime
    counts: Mapping[str, int]
    """Maps each of COUNTS to its number, and TOUCHED where that is known."""
    stalls: Mapping[str, int]
    """Maps each of CLASSES to a time in ns."""

    @property
    def waited(self) -> int:
        """The part of `spent.stalled` in which it waited. The rest is what instructions of a small CPU took
        beyond 1 ns each."""
        return sum(self.stalls.values())


@dataclass(frozen=True, slots=True)
class MemoryBooks:
    machine: str
    phases: Mapping[str, tuple[CpuBooks, ...]]
    """Maps each of PHASES to the books of the vCPUs in order."""


Cell = tuple[str, int]
"""A phase and a vCPU."""


class MemoryLogReader:
    def __init__(self) -> None:
        self.machine: str | None = None
        self.explored = False
        """Whether the log is an exploration's, which has the additional part DELAYED."""
        self._spent: dict[Cell, PhaseTime] = {}
        self._counts: dict[Cell, Mapping[str, int]] = {}
        self._stalls: dict[Cell, Mapping[str, int]] = {}
        self._orders: dict[str, Disorder] = {}
        self.words: Mapping[str, Callable[[list[str], int], None]] = {
            "machine": self._machine,
            "spent": self._spend,
            "memory": self._count,
            "stall": self._stall,
            "order": self._order,
        }
        """Maps a line's first word to its reader, which also takes the number of vCPUs."""

    def _machine(self, words: list[str], _vcpus: int) -> None:
        if len(words) != 2 or self.machine is not None or not _NAME.fullmatch(words[1]):
            raise ValueError("expected `machine NAME`, once")
        self.machine = words[1]

    def _spend(self, words: list[str], vcpus: int) -> None:
        parts = (*PARTS, DELAYED) if self.explored else PARTS
        found = self._named(words, vcpus, parts, self._spent)
        self._spent[_cell(words)] = PhaseTime(**found)

    def _count(self, words: list[str], vcpus: int) -> None:
        names = (*COUNTS, TOUCHED) if TOUCHED in words else COUNTS
        self._counts[_cell(words)] = self._named(words, vcpus, names, self._counts)

    def _stall(self, words: list[str], vcpus: int) -> None:
        self._stalls[_cell(words)] = self._named(words, vcpus, CLASSES, self._stalls)

    def _named(
        self, words: list[str], vcpus: int, names: tuple[str, ...], known: Mapping[Cell, object]
    ) -> Mapping[str, int]:
        """Reads `WORD PHASE CPU NAME VALUE ...`, with each name once."""
        if self.machine is None:
            raise ValueError(f"`{words[0]}` stands before `machine NAME`")
        if len(words) != 3 + 2 * len(names) or set(words[3::2]) != set(names) or words[1] not in PHASES:
            raise ValueError(f"expected `{words[0]} PHASE CPU` and each of {' '.join(names)} with its value")
        if words[2] not in map(str, range(vcpus)):
            raise ValueError(f"there is no vCPU {words[2][:20]}")
        if _cell(words) in known:
            raise ValueError(f"the second `{words[0]}` of vCPU {words[2]} in phase {words[1]}")
        values = map(number, words[4::2])
        return MappingProxyType(dict(zip(words[3::2], values, strict=True)))

    def _order(self, words: list[str], _vcpus: int) -> None:
        if len(words) != 7 or words[1] not in PHASES or words[1] in self._orders:
            form = "`order PHASE COUNT WORST_NS WORST_LINE TOTAL_NS CROSSED`, once a phase"
            raise ValueError(f"expected {form}")
        if not ADDRESS.fullmatch(words[4]):
            raise ValueError(f"`{words[4][:20]}` is not an address")
        count, worst, total, crossed = (number(words[at]) for at in (2, 3, 5, 6))
        if not worst <= total <= worst * count:
            raise ValueError(f"{count} accesses, the worst {worst} ns, cannot be {total} ns in all")
        if crossed > count:
            raise ValueError(f"{crossed} of {count} accesses cannot have crossed")
        self._orders[words[1]] = Disorder(count, worst, total, int(words[4], 16), crossed)

    def books(self, vcpus: int, *, closed: bool) -> MemoryBooks | None:
        """Gives the books. If the log is whole (`closed`), a machine without books is a ValueError."""
        if self.machine is None:
            return None
        whole = [(phase, cpu) for phase in PHASES for cpu in range(vcpus)]
        known = {"spent": {*self._spent}, "memory": {*self._counts}, "stall": {*self._stalls}}
        lacks = [(word, *cell) for word, cells in known.items() for cell in whole if cell not in cells]
        if lacks and closed:
            raise ValueError(f"there is no `{lacks[0][0]} {lacks[0][1]} {lacks[0][2]}`")
        if lacks:
            return None
        books = {cell: CpuBooks(self._spent[cell], self._counts[cell], self._stalls[cell]) for cell in whole}
        phases = {phase: tuple(books[phase, cpu] for cpu in range(vcpus)) for phase in PHASES}
        return MemoryBooks(self.machine, MappingProxyType(phases))

    def orders(self) -> Mapping[str, Disorder]:
        return MappingProxyType(dict(self._orders))


def _cell(words: list[str]) -> Cell:
    return words[1], int(words[2])
