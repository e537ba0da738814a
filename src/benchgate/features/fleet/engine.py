"""What a fleet's runner needs of the engine that spreads its work: Dask (dask_engine.py), or a simulation.

An `Engine` takes numbered calls and gives events, in any order: an answer, or a loss. It may lose a call with
its worker or with the scheduler; it never gives two events for one number. Fails with FleetError if the fleet
is gone for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from benchgate.base.text import one_line


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    number: int
    address: str
    """The address of the worker, as the engine calls it."""
    answer: bytes

    @property
    def text(self) -> str:
        """The answer as one line that is safe to show."""
        return one_line(self.answer.decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class LossEvent:
    """The assignment came to nothing, through no fault of its own; it may be given again."""

    number: int
    why: str


Event = AnswerEvent | LossEvent


@dataclass(frozen=True, slots=True)
class FleetMember:
    """One worker of the fleet at this moment."""

    address: str
    slots: int


class Engine(Protocol):
    def seats(self) -> Sequence[FleetMember]:
        """Its workers now; none while the scheduler is away."""
        ...

    def run(self, number: int, task: bytes, *, key: str, avoid: frozenset[str], rank: int) -> None:
        """Gives an assignment to any worker but these. `rank`: the lower, the sooner. `key`: of the task, for
        messages and logs of the engine."""
        ...

    def store(self, number: int, sha256: str, content: bytes, address: str) -> None:
        """Sends an input to this worker; the answer is empty, or says why it was not kept."""
        ...

    def call(self, number: int, entry: str, data: bytes, address: str) -> None:
        """Calls this function of fleet/work.py on this worker."""
        ...

    def cancel(self, number: int) -> None:
        """No event comes for this number any more; a guest that it started ends."""
        ...

    def events(self, seconds: float) -> Sequence[Event]:
        """What happened since the last call; waits this long if nothing did."""
        ...

    def close(self) -> None: ...
