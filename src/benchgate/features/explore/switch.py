"""The instructions between which a switch of CPUs must fall. Pure.

Takes stalls, what each CPU executed meanwhile, and symbols; gives places such as `thread_park+0x1c`, and the
sentence. Does not fail: an address without a symbol is shown as a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from benchgate.insn.explore_log import Delay
from benchgate.insn.symbols import Symbols


@dataclass(frozen=True, slots=True)
class SwitchSide:
    """Two places in what one CPU executes."""

    vcpu: int
    first: str
    last: str

    @property
    def span(self) -> str:
        return self.first if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True, slots=True)
class Switch:
    """One stall that the find needs."""

    stopped: SwitchSide
    """The CPU has executed `first`, and stops before it has executed `last`."""
    ns: int
    """The CPU stops for at least so long."""
    ran: tuple[SwitchSide, ...]
    """What the other CPUs executed meanwhile; one that executed nothing is not there."""

    @property
    def sentence(self) -> str:
        where = f"CPU {self.stopped.vcpu} stops after {self.stopped.first} and before {self.stopped.last}"
        others = " and ".join(f"CPU {side.vcpu} executes {side.span}" for side in self.ran)
        return f"{where} for {self.ns} ns, in which {others or 'no other CPU executes anything'}"


@dataclass(frozen=True, slots=True)
class Segment:
    """What one CPU did in one stretch of guest time, for the picture."""

    vcpu: int
    begin: int
    end: int
    symbol: str
    """Empty: it was stopped."""


def place(pc: int, tables: Iterable[Symbols]) -> str:
    """The symbol of the first table that knows the address: the kernel's, then the program's."""
    for table in tables:
        for name, begin, _ in table.within(pc, pc + 1):
            return f"{name}+{pc - begin:#x}"
    return f"{pc:#x}"


def during(log: Sequence[Delay], stall: Delay) -> tuple[int, int]:
    """The part of the log between a stall and the next entry of its CPU. A serial run makes entries in the
    order of execution, which guest times tell up to a quantum only. A CPU that never goes on has no next
    entry; then the time of the stall is what limits it."""
    begin = log.index(stall) + 1
    later = (n for n in range(begin, len(log)) if log[n].vcpu == stall.vcpu)
    end = next(later, None)
    if end is None:
        over = stall.time + stall.ns
        end = next((n for n in range(begin, len(log)) if log[n].time >= over), len(log))
    return begin, end


def executed(log: Sequence[Delay], vcpu: int, tables: Sequence[Symbols]) -> SwitchSide | None:
    """The first and the last instruction of a CPU in this part of a log; None if there is none."""
    mine = [delay for delay in log if delay.vcpu == vcpu]
    return SwitchSide(vcpu, place(mine[0].pc, tables), place(mine[-1].pc, tables)) if mine else None


def around(log: Sequence[Delay], vcpu: int, begin: int, end: int, whole: tuple[int, int]) -> tuple[int, int]:
    """Two instructions between which the CPU executed this part of the log: the last one known before it and
    the first one known after it. Where none is known, `whole` has the bound."""
    before = [delay.instruction for delay in log[:begin] if delay.vcpu == vcpu]
    after = [delay.instruction for delay in log[end:] if delay.vcpu == vcpu]
    return max(before, default=whole[0]), min(after, default=whole[1])


def segments(
    probes: Sequence[Delay], stalls: Sequence[Delay], end: int, tables: Sequence[Symbols]
) -> tuple[Segment, ...]:
    """Segments by CPU and time. Each lasts as long as one function is seen."""
    result = []
    for vcpu in sorted({delay.vcpu for delay in (*probes, *stalls)}):
        stops = [stall for stall in stalls if stall.vcpu == vcpu]
        result += [Segment(vcpu, stop.time, stop.time + stop.ns, "") for stop in stops]
        mine = sorted(
            (probe for probe in probes if probe.vcpu == vcpu),
            key=lambda delay: (delay.instruction, delay.time),
        )
        runs = [(name, [*group]) for name, group in groupby(mine, lambda delay: _symbol(delay.pc, tables))]
        for n, (name, group) in enumerate(runs):
            last = runs[n + 1][1][0].time if n + 1 < len(runs) else min(end, group[-1].time + 1)
            result += _around(Segment(vcpu, group[0].time, max(last, group[0].time + 1), name), stops)
    return tuple(sorted(result, key=lambda segment: (segment.vcpu, segment.begin, segment.end)))


def _symbol(pc: int, tables: Sequence[Symbols]) -> str:
    return place(pc, tables).partition("+")[0]


def _around(whole: Segment, stops: Sequence[Delay]) -> list[Segment]:
    """The segment without the time in which the CPU was stopped."""
    left = [whole]
    for stop in stops:
        begin, end = stop.time, stop.time + stop.ns
        left = [
            Segment(segment.vcpu, a, b, segment.symbol)
            for segment in left
            for a, b in ((segment.begin, min(segment.end, begin)), (max(segment.begin, end), segment.end))
            if a < b
        ]
    return left
