"""Reads what an exploration did in one run, from the clock's log (c/explore/delays.c).

`StallLogReader` takes one line after the other, in words; `explored` gives a `StallLog`, or None if the run
was not explored. The lines are untrusted: a line outside the format is a ValueError.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from benchgate.base.exploration import MOST_NS, MOST_POINTS, StallPoint, Strategy
from benchgate.insn.log_text import ADDRESS, number

LOOKS = 20
"""This many places of a vCPU are kept, one for each of the clock's last beats (10 ms of guest time apart)."""


@dataclass(frozen=True, slots=True)
class Delay:
    """One stall as it was made."""

    vcpu: int
    instruction: int
    """How many instructions the vCPU had begun before the stall, from its start."""
    ns: int
    time: int
    """When the stall began, by the vCPU's own time."""
    pc: int
    """The address of the instruction."""

    @property
    def point(self) -> StallPoint:
        """The point that repeats this stall."""
        return StallPoint(self.vcpu, self.instruction, self.ns)


@dataclass(frozen=True, slots=True)
class StallLog:
    strategy: Strategy
    seed: int
    delays: tuple[Delay, ...]
    """The stalls in the order in which they were made; only the first ones if `full`."""
    full: bool = False
    """Whether the log could not hold all stalls: then only the strategy and its seed repeat the run."""
    places: Mapping[int, int] = field(default_factory=dict)
    """Maps a vCPU to the block of code that it had entered last, as the log last said."""
    before: Mapping[int, tuple[int, ...]] = field(default_factory=dict, compare=False)
    """Maps a vCPU to its places at the last LOOKS times, including the last one."""
    steps: int | None = None
    """The number of synchronising instructions in the strategy's range while another vCPU was not halted.
    None if QEMU was killed before it wrote it."""
    made: int | None = None
    """The number of all stalls; None if QEMU was killed before it wrote it."""


class StallLogReader:
    def __init__(self) -> None:
        self._head: tuple[Strategy, int] | None = None
        self._delays: list[Delay] = []
        self._full = False
        self._places: dict[int, deque[int]] = {}
        self._totals: tuple[int, int] | None = None
        self.words: Mapping[str, Callable[[list[str], int], None]] = {
            "explore": self._explore,
            "delay": self._delay,
            "unlogged": self._unlogged,
            "at": self._at,
            "explored": self._explored,
        }
        """What reads a line, by its first word; it also takes the number of vCPUs."""

    @property
    def began(self) -> bool:
        return self._head is not None

    def _explore(self, words: list[str], _vcpus: int) -> None:
        if len(words) != 3 or self._head is not None:
            raise ValueError("expected `explore STRATEGY SEED`, once")
        self._head = Strategy(words[1]), number(words[2])

    def _delay(self, words: list[str], vcpus: int) -> None:
        if len(words) != 6 or not self.began or not ADDRESS.fullmatch(words[5]):
            raise ValueError("expected `delay VCPU INSTRUCTION NS TIME PC` after `explore`")
        vcpu, instruction, ns, time = map(number, words[1:5])
        if vcpu >= vcpus or ns > MOST_NS:
            raise ValueError(f"vCPU {vcpu} of {vcpus} cannot have been stalled for {ns} ns")
        if len(self._delays) >= MOST_POINTS or self._full:
            raise ValueError(f"there are more than {MOST_POINTS} stalls")
        self._delays.append(Delay(vcpu, instruction, ns, time, int(words[5], 16)))

    def _unlogged(self, words: list[str], _vcpus: int) -> None:
        if len(words) != 2 or len(self._delays) != MOST_POINTS or self._full:
            raise ValueError(f"expected `unlogged TIME` after {MOST_POINTS} stalls, once")
        number(words[1])
        self._full = True

    def _at(self, words: list[str], vcpus: int) -> None:
        if len(words) != 3 or not self.began or not ADDRESS.fullmatch(words[2]):
            raise ValueError("expected `at VCPU PC` after `explore`")
        vcpu = number(words[1])
        if vcpu >= vcpus:
            raise ValueError(f"there is no vCPU {vcpu}")
        self._places.setdefault(vcpu, deque(maxlen=LOOKS)).append(int(words[2], 16))

    def _explored(self, words: list[str], _vcpus: int) -> None:
        if len(words) != 3 or not self.began or self._totals is not None:
            raise ValueError("expected `explored STEPS DELAYS` after `explore`, once")
        self._totals = number(words[1]), number(words[2])
        if (self._totals[1] != len(self._delays)) != self._full:
            raise ValueError(f"{self._totals[1]} stalls were made, but {len(self._delays)} are listed")

    def explored(self) -> StallLog | None:
        if self._head is None:
            return None
        strategy, seed = self._head
        steps, made = self._totals or (None, None)
        last = MappingProxyType({vcpu: seen[-1] for vcpu, seen in self._places.items()})
        before = MappingProxyType({vcpu: tuple(seen) for vcpu, seen in self._places.items()})
        return StallLog(strategy, seed, tuple(self._delays), self._full, last, before, steps, made)
