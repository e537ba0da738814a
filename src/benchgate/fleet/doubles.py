"""Runs that two workers make, so that each worker is compared: who makes them, and who was wrong.

`Pairs` chooses the workers; it is pure. `compare` takes both copies of a run, and a `Court`, which can have a
third worker make it; it names the worker that was wrong, or fails with FleetError if nobody can say who.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Protocol

from benchgate.base.errors import FleetError
from benchgate.fleet import agreement
from benchgate.fleet.assignments import Assignment, Want
from benchgate.fleet.received import Received

FIRST, SECOND, THIRD = range(3)
"""The copies of a run: the second one of a row's first seed is made on another worker, and a third one
decides if they differ."""


class Pairs:
    def __init__(self) -> None:
        self._places: dict[Want, str] = {}
        self._made: Counter[str] = Counter()
        """Copies by worker."""

    def place(self, want: Want, usable: Collection[str]) -> str:
        """The one worker that makes this copy: never that of the other copy while there is another one, and
        one that was compared little, so that each is compared after some rows."""
        allowed = set(usable) - {self.of_other(want)} or set(usable)
        known = self._places.get(want, "")
        if known not in allowed:
            known = min(allowed, key=lambda address: (self._made[address], address))
            self._places[want] = known
            self._made[known] += 1
        return known

    def of_other(self, want: Want) -> str:
        """Who makes or made the other copy of a first or second one; empty: nobody yet."""
        key, copy = want
        return self._places.get((key, SECOND if copy == FIRST else FIRST), "")


class Court(Protocol):
    """What `compare` needs of the fleet."""

    def open_seats(self) -> Mapping[str, int]:
        """The slots of each worker that may get runs, by address."""
        ...

    def third(self, of: Assignment, avoid: Collection[str]) -> tuple[str, Received]:
        """The same run once more, by a worker that is none of these, and its address."""
        ...

    def distrust(self, address: str, why: str) -> None:
        """Gives this worker no more runs, and drops its answers that were not used."""
        ...

    def tell(self, text: str) -> None: ...


def compare(court: Court, first: Assignment, second: Assignment) -> None:
    """Before anything of a row is used. The run of a worker that was wrong has to be made again."""
    row = first.packed.task.cell.row
    one, two = first.answered, second.answered
    difference = agreement.difference(one.answer.files, two.answer.files)
    if not difference:
        return
    names = f"{one.answer.worker} and {two.answer.worker}"
    both = {first.address, second.address}
    if not set(court.open_seats()) - both:
        raise FleetError(
            f"{row}: {names} made different runs of seed {first.packed.task.seed} ({difference}), and "
            "there is no third worker to decide: measure here, without --fleet, or add a worker"
        )
    court.tell(f"{row}: {names} made different runs of one seed ({difference}); a third worker decides")
    address, judge = court.third(first, both)
    ruling = agreement.ruling(
        (first.address, one.answer.files), (second.address, two.answer.files), (address, judge.answer.files)
    )
    if not ruling.odd:
        raise FleetError(
            f"{row}: {names} and {judge.answer.worker} made three different runs of one seed ({difference}): "
            "it does not repeat, so measure here, without --fleet, and see docs/fleet.md"
        )
    court.distrust(ruling.odd, f"its run of {row} is not that of two others: {difference}")
