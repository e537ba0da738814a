"""The runs that a session wants of its fleet, and what became of each: bookkeeping without a network. Pure.

Takes packed tasks in the order in which they will be asked for, and events; gives what to send next, and
answers that were checked. A run is wanted once for each (key, copy): the same task is never made twice for
one copy, and an answer is given once. Fails with FleetError for a run that no worker can make.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from benchgate.features.fleet.errors import FleetError
from benchgate.features.fleet.packing import TaskPackage
from benchgate.features.fleet.received import CheckedAnswer

MOST_LOSSES = 8
"""A run that was lost as often as this probably ends its workers."""

Want = tuple[str, int]
"""The key of a task, and which of its copies."""


@dataclass
class Assignment:
    packed: TaskPackage
    want: Want
    rank: int = 0
    number: int = 0
    """The engine's number for it; 0: the engine does not have it."""
    answer: CheckedAnswer | None = None
    address: str = ""
    """The address of the worker that answered."""
    losses: int = 0
    awaits: set[str] = field(default_factory=set)
    """The inputs that are being sent to the worker which lacked them."""
    avoid: set[str] = field(default_factory=set)
    """Workers that refused it, or made its other copy."""
    doubted: bool = False
    """Its first answer may have been the worker's fault, so it was made again."""
    refusals: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.packed.task.cell.id}, seed {self.packed.task.seed}"

    @property
    def answered(self) -> CheckedAnswer:
        assert self.answer is not None
        return self.answer

    @property
    def is_idle(self) -> bool:
        return self.answer is None and not self.number and not self.awaits


class Assignments:
    def __init__(self) -> None:
        self._all: dict[Want, Assignment] = {}
        self._by_number: dict[int, Assignment] = {}
        self._ranks = 0
        self._idle: set[Want] = set()
        """The assignments that can be sent."""
        self._queue: list[tuple[int, Want]] = []
        """A heap of all that are idle, and of some that were."""

    def want(self, packed: TaskPackage, copy: int) -> Assignment:
        """The assignment for this copy; the same one for the same task, until it is taken."""
        want = (packed.key, copy)
        if want not in self._all:
            self._ranks += 1
            self._all[want] = Assignment(packed, want, rank=self._ranks)
            self.again(self._all[want])
        return self._all[want]

    def keep_only(self, wants: Iterable[Want]) -> list[int]:
        """Drops all others; gives the numbers under which those are with the engine."""
        kept = set(wants)
        dropped = [self._all.pop(want) for want in list(self._all) if want not in kept]
        numbers = [assignment.number for assignment in dropped if assignment.number]
        for number in numbers:
            del self._by_number[number]
        self._idle &= kept
        return numbers

    def take(self, assignment: Assignment) -> CheckedAnswer:
        """Gives its answer, once."""
        del self._all[assignment.want]
        return assignment.answered

    def has(self, key: str, copy: int) -> bool:
        return (key, copy) in self._all

    def by_number(self, number: int) -> Assignment | None:
        return self._by_number.get(number)

    def sent(self, assignment: Assignment, number: int) -> None:
        assignment.number = number
        self._by_number[number] = assignment
        self._idle.discard(assignment.want)

    def ended(self, assignment: Assignment) -> None:
        """The engine does not have it any more, answered or not."""
        self._by_number.pop(assignment.number, None)
        assignment.number = 0

    def again(self, assignment: Assignment) -> None:
        """It can be sent again, in its old place."""
        self._idle.add(assignment.want)
        heapq.heappush(self._queue, (assignment.rank, assignment.want))

    def lost(self, assignment: Assignment, why: str) -> None:
        self.ended(assignment)
        assignment.losses += 1
        if assignment.losses > MOST_LOSSES:
            raise FleetError(
                f"{assignment.name}: lost {assignment.losses} times, the last time because {why}; it may "
                "end its workers: make it here, without --fleet"
            )

    def sendable(self, window: int) -> Iterator[Assignment]:
        """The next to send, in the order of the plan, so that no more than `window` are under way or wait to
        be taken. The caller sends each before it takes the next."""
        while self._queue and len(self._all) - len(self._idle) < window:
            rank, want = heapq.heappop(self._queue)
            if want in self._idle and self._all[want].rank == rank:
                yield self._all[want]

    def __iter__(self) -> Iterator[Assignment]:
        return iter(list(self._all.values()))

    def __len__(self) -> int:
        return len(self._all)
