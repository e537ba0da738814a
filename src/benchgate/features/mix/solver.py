"""Whole numbers of instances that fit into capacities, best first. Pure.

Takes a Programme of exact fractions; gives counts that fit exactly. Fails with UsageError that names the
table if the solver gives up, or if too many of its answers exceed a capacity by less than it can tell.

The solver (HiGHS, by scipy) computes in floating point with absolute tolerances. So its rows and its
objective are scaled to 1, and each of its answers is checked in exact arithmetic. The mixes that remain after
an answer are divided into boxes, which differ in their bounds only (Lawler 1972): no list of excluded mixes,
and no variables for one. Of equally good mixes the one with the most instances of the first input is first,
and so on for the next inputs; it is looked for with the objective fixed, so the others need not be listed.
"""

from __future__ import annotations

import ctypes
import heapq
import itertools
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction

from benchgate.base.errors import UsageError

MOST_WRONG = 300
"""Answers of the solver that do not hold in exact arithmetic."""
MOST_TRIED = 50
"""Answers among which one that is exactly as good is looked for. Only its name would be another."""
MOST_NODES = 100_000
"""The solver's largest tree. Its time has no limit, because equal tables must give equal answers."""
Counts = tuple[int, ...]


def weighted(counts: Iterable[int], values: Iterable[Fraction]) -> Fraction:
    """The sum of the values, each so many times."""
    return sum((count * value for count, value in zip(counts, values, strict=True)), Fraction(0))


@dataclass(frozen=True, slots=True)
class Programme:
    use: tuple[tuple[Fraction, ...], ...]
    """What an instance uses, by input and by resource."""
    worth: tuple[Fraction, ...]
    capacity: tuple[Fraction, ...]
    most: Counts
    """How many instances of each input fit alone."""
    needed: tuple[bool, ...]
    """Inputs of which at least one instance must run; if none is named, any mix will do."""
    where: str = "the vectors"
    """File and line of the table."""

    def objective(self, counts: Sequence[int]) -> Fraction:
        return weighted(counts, self.worth)

    def order(self, counts: Sequence[int]) -> tuple[Fraction, list[int]]:
        """The key that sorts mixes, best first."""
        return -self.objective(counts), [-count for count in counts]

    def exceeded(self, counts: Sequence[int]) -> int | None:
        """A resource whose capacity is exceeded."""
        pairs = zip(zip(*self.use, strict=True), self.capacity, strict=True)
        return next((j for j, (use, most) in enumerate(pairs) if weighted(counts, use) > most), None)

    def has_needed(self, counts: Sequence[int]) -> bool:
        return not any(self.needed) or any(itertools.compress(counts, self.needed))


@dataclass(frozen=True, slots=True)
class _InstanceBounds:
    low: Counts
    high: Counts

    def with_low(self, i: int, value: int) -> _InstanceBounds:
        return _InstanceBounds((*self.low[:i], value, *self.low[i + 1 :]), self.high)

    def with_high(self, i: int, value: int) -> _InstanceBounds:
        return _InstanceBounds(self.low, (*self.high[:i], value, *self.high[i + 1 :]))

    def at(self, i: int, value: int) -> _InstanceBounds:
        return self.with_low(i, value).with_high(i, value)

    def without(self, counts: Counts) -> Iterator[_InstanceBounds]:
        """All but this mix: each box agrees with it up to an input, and has more or fewer of that one."""
        box = self
        for i, count in enumerate(counts):
            yield box.with_low(i, count + 1)
            yield box.with_high(i, count - 1)
            box = box.at(i, count)

    def not_above(self, counts: Counts) -> Iterator[_InstanceBounds]:
        """All but the mixes that have at least so many of every input."""
        box = self
        for i, count in enumerate(counts):
            yield box.with_high(i, count - 1)
            box = box.with_low(i, max(count, box.low[i]))

    def not_below(self, counts: Counts) -> Iterator[_InstanceBounds]:
        """All but the mixes that have at most so many of every input."""
        box = self
        for i, count in enumerate(counts):
            yield box.with_low(i, count + 1)
            box = box.with_high(i, min(count, box.high[i]))

    @property
    def is_empty(self) -> bool:
        return any(low > high for low, high in zip(self.low, self.high, strict=True))


_Row = tuple[tuple[int, ...], int]
"""Whole numbers, and what their sum over the instances must not exceed."""


@dataclass(slots=True)
class _Search:
    programme: Programme
    rows: list[_Row] = field(default_factory=list)
    wrong: int = 0

    def greatest(self, box: _InstanceBounds, weights: Sequence[Fraction], least: Fraction) -> Counts | None:
        """The mix in the box with the greatest sum of weights whose objective is at least so much."""
        open_boxes: list[tuple[Fraction, int, Counts, _InstanceBounds]] = []
        number = 0
        boxes: Iterable[_InstanceBounds] = (box,)
        while True:
            for one in boxes:
                counts = self.solve(one, weights, least)
                if counts is not None:
                    heapq.heappush(open_boxes, (-weighted(counts, weights), number, counts, one))
                    number += 1
            if not open_boxes or (least and number > MOST_TRIED):
                return None
            _, _, counts, one = heapq.heappop(open_boxes)
            resource = self.programme.exceeded(counts)
            if resource is None and self.programme.objective(counts) >= least:
                return counts
            boxes = self.remaining(one, counts, resource)

    def remaining(
        self, box: _InstanceBounds, counts: Counts, resource: int | None
    ) -> Iterable[_InstanceBounds]:
        """What remains of a box whose answer exceeds `resource`, or has too small an objective."""
        if resource is None:
            return box.not_below(counts)
        self.wrong += 1
        if self.wrong > MOST_WRONG:
            raise UsageError(
                f"{self.programme.where}: too many mixes exceed a capacity by less than a millionth; "
                "next: round the shares, or give a --capacity that is not met so closely"
            )
        if (row := self.cut(counts, resource)) is not None:
            self.rows.append(row)
            return (box,)
        return box.not_above(self.cover(counts, resource))

    def cut(self, counts: Counts, resource: int) -> _Row | None:
        """A row that all mixes that fit keep, and these counts exceed by 1 or more (Chvatal and Gomory)."""
        parts, limit = _row(self.programme, resource)
        for part in {number for number, count in zip(parts, counts, strict=True) if count and number}:
            for divisor in (Fraction(part, k) for k in range(1, 9)):
                row = tuple(math.floor(number / divisor) for number in parts)
                most = math.floor(limit / divisor)
                if sum(a * count for a, count in zip(row, counts, strict=True)) > most:
                    return row, most
        return None

    def cover(self, counts: Counts, resource: int) -> Counts:
        """The fewest of these instances that still exceed the capacity."""
        parts, limit = _row(self.programme, resource)
        excess = sum(a * count for a, count in zip(parts, counts, strict=True)) - limit
        kept = list(counts)
        for i, part in enumerate(parts):
            fewer = min(kept[i], (excess - 1) // part) if part else kept[i]
            kept[i] -= fewer
            excess -= fewer * part
        return tuple(kept)

    def solve(self, box: _InstanceBounds, weights: Sequence[Fraction], least: Fraction) -> Counts | None:
        """The solver's answer, which may be wrong by its tolerances."""
        import numpy as np  # noqa: PLC0415 - scipy takes half a second, and every session loads this module
        from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415

        if box.is_empty:
            return None
        programme = self.programme
        bounds = Bounds(np.array(box.low, float), np.array(box.high, float))
        some = [*(programme.needed if any(programme.needed) else [True] * len(weights))]
        rows, high = [[-float(one) for one in some]], [-1.0]
        for parts, limit in self.rows:
            rows.append([2.0 if a > limit else a / limit for a in parts])
            high.append(1.0)
        if least:
            rows.append([-float(min(fraction / least, Fraction(2))) for fraction in programme.worth])
            high.append(-1.0)
        scale = max(weights) or 1
        with _silent():
            result = milp(
                [-float(weight / scale) for weight in weights],
                integrality=np.ones(len(weights)),
                bounds=bounds,
                constraints=LinearConstraint(np.array(rows), -np.inf, np.array(high)),
                options={"mip_rel_gap": 0, "node_limit": MOST_NODES},
            )
        if result.status == _INFEASIBLE:
            return None
        if result.status != _OPTIMAL or result.x is None:
            advice = "next: leave out inputs, or give smaller capacities"
            raise UsageError(f"{programme.where}: the solver found no mix ({result.message}); {advice}")
        return tuple(round(value) for value in result.x)


_OPTIMAL, _INFEASIBLE = 0, 2


@contextmanager
def _silent() -> Iterator[None]:
    """Hides what the solver prints: for some programmes it prints a line that no option turns off, and
    standard output may be the JSON of `mix choose`."""
    library = ctypes.CDLL(None)
    library.fflush(None)  # what was printed before is not the solver's
    try:
        kept = os.dup(_STDOUT)
    except OSError:  # it is closed
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, _STDOUT)
        yield
    finally:
        library.fflush(None)
        os.dup2(kept, _STDOUT)
        os.close(kept)
        os.close(nowhere)


_STDOUT = 1


def solutions(programme: Programme) -> Iterator[Counts]:
    """Each mix that fits, except the empty one, best first up to the solver's tolerance."""
    rows = [_row(programme, resource) for resource in range(len(programme.capacity))]
    search = _Search(programme, [row for row in rows if row[1]])
    waiting: list[tuple[Fraction, bool, list[int], Counts, _InstanceBounds]] = []
    boxes: Iterable[_InstanceBounds] = (_InstanceBounds((0,) * len(programme.most), programme.most),)

    def push(counts: Counts, box: _InstanceBounds, *, is_first: bool) -> None:
        value, order = programme.order(counts)
        heapq.heappush(waiting, (value, is_first, order, counts, box))

    while True:
        for box in boxes:
            counts = search.greatest(box, programme.worth, Fraction(0))
            if counts is not None:
                push(_filled(programme, counts, box), box, is_first=False)
        if not waiting:
            return
        _, is_first, _, counts, box = heapq.heappop(waiting)
        if is_first:
            yield counts
            boxes = box.without(counts)
        else:
            push(_first_of_equals(search, counts, box), box, is_first=True)
            boxes = ()


def _first_of_equals(search: _Search, counts: Counts, box: _InstanceBounds) -> Counts:
    """Among equals in the box, gives the mix with the most of the first input, then of the second ..."""
    programme = search.programme
    for i, high in enumerate(box.high):
        if counts[i] < high:
            weights = [Fraction(int(i == k)) for k in range(len(counts))]
            found = search.greatest(box.with_low(i, counts[i]), weights, programme.objective(counts))
            counts = found or counts
        box = box.at(i, counts[i])
    return counts


def _filled(programme: Programme, counts: Counts, box: _InstanceBounds) -> Counts:
    """Adds what still fits: the solver leaves out what is worth less than its tolerance."""
    result = list(counts)
    for i, high in enumerate(box.high):
        while programme.worth[i] and result[i] < high:
            result[i] += 1
            if programme.exceeded(result) is not None:
                result[i] -= 1
                break
    return tuple(result)


def _row(programme: Programme, resource: int) -> _Row:
    """What an instance uses, and the capacity, as the smallest whole numbers that say the same."""
    parts, unit = _whole([use[resource] for use in programme.use])
    return parts, math.floor(programme.capacity[resource] / unit) if unit else 0


def _whole(values: Sequence[Fraction]) -> tuple[tuple[int, ...], Fraction]:
    """The values as multiples of their greatest common divisor, and that divisor; 0 if all are 0."""
    scale = math.lcm(*(value.denominator for value in values))
    parts = [int(value * scale) for value in values]
    unit = math.gcd(*parts)
    return tuple(part // (unit or 1) for part in parts), Fraction(unit, scale)
