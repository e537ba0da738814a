"""The clocks of a session with --clock both: which one decides, why, and how many runs each may take.

Takes plain values, gives frozen objects. Inconsistent looks or an unknown clock fail with ValueError.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from benchgate.base.cells import Cell, Lane
from benchgate.base.errors import UsageError
from benchgate.base.gates import Policy
from benchgate.base.text import one_line

LONGEST_REASON = 400


class Clock(StrEnum):
    WALL = "wall"
    INSN = "insn"


CLOCK_NAMES: Mapping[Clock, str] = {Clock.WALL: "wall time", Clock.INSN: "the instruction clock"}


def clock_of(lane: Lane) -> Clock:
    return Clock.INSN if lane is Lane.INSN else Clock.WALL


@dataclass(frozen=True, slots=True)
class Clocks:
    """Each row is measured on both clocks: the gates of one decide, and the gates of the other inform."""

    decides: Clock
    because: str
    """The reason, found on this host, as words that follow `because`."""
    looks: Mapping[Clock, tuple[int, int]]
    """The first and the last number of runs per arm on each clock."""

    def __post_init__(self) -> None:
        if set(self.looks) != set(Clock):
            raise ValueError(f"looks must be those of {', '.join(Clock)}, not of {', '.join(self.looks)}")
        object.__setattr__(self, "looks", MappingProxyType(dict(self.looks)))
        object.__setattr__(self, "because", one_line(self.because, LONGEST_REASON))

    @property
    def sentence(self) -> str:
        return f"{CLOCK_NAMES[self.decides]} decides, because {self.because}"

    def policy(self, policy: Policy, clock: str) -> Policy:
        """The session's policy for the rows of one clock."""
        used = Clock(clock)
        first, last = self.looks[used]
        try:
            looked = policy.with_runs(first, last)
        except UsageError as error:
            raise ValueError(f"looks of {used}: {error}") from error
        informs = "" if used is self.decides else self.sentence
        return replace(looked, informs=policy.informs or informs, shows=not policy.informs)


def policy_for(policy: Policy, clocks: Clocks | None, cell: Cell) -> Policy:
    """The policy for the row of this cell; ValueError if its clock is not one of the session's."""
    if clocks is None:
        if cell.clock:
            raise ValueError(f"{cell.id} names a clock, but the session has only one")
        return policy
    return clocks.policy(policy, cell.clock)
