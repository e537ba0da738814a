"""The integer programme: the mix that exercises a system most, and the next best ones. Pure.

    maximise    sum over inputs i and resources j of x_i r_ij s_ij
    subject to  sum over i of x_i r_ij <= C_j for every resource j; every x_i a whole number, 0 or more

x_i is the number of instances of an input, r_ij the share of a resource that it uses, s_ij how much its
application depends on the resource, C_j the capacity. From Kuz, Anderson, Shinde and Roscoe, "Multicore OS
benchmarks: we can do better" (HotOS 2011). Takes Applications and capacities; gives the best mixes, best
first, which never include the empty one. Fails with UsageError if no input fits.

The solver (HiGHS, by scipy) computes in floating point and tolerates small violations. So each of its answers
is checked in exact arithmetic, and one that exceeds a capacity is excluded like a mix that was already found.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from benchgate.base.errors import UsageError
from benchgate.mix.applications import Applications, Input, Mix

FULL = Fraction(1)
"""A resource's capacity unless another one is given."""
MOST_INSTANCES = 10_000
"""Of one input. More of them make a list of processes and not a mix."""

_Array = NDArray[np.float64]
_Counts = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Programme:
    use: tuple[tuple[Fraction, ...], ...]
    """Of each input, of each resource."""
    worth: tuple[Fraction, ...]
    capacity: tuple[Fraction, ...]
    most: _Counts
    """How many instances of each input fit alone."""
    needed: tuple[bool, ...]
    """Inputs of which at least one instance must run; if none is named, any mix will do."""

    def totals(self, counts: Sequence[int]) -> tuple[Fraction, ...]:
        return tuple(
            sum((count * use[j] for count, use in zip(counts, self.use, strict=True)), Fraction(0))
            for j in range(len(self.capacity))
        )

    def objective(self, counts: Sequence[int]) -> Fraction:
        return sum((count * worth for count, worth in zip(counts, self.worth, strict=True)), Fraction(0))

    def order(self, counts: Sequence[int]) -> tuple[Fraction, list[int]]:
        """By which mixes are sorted, best first."""
        return -self.objective(counts), [-count for count in counts]

    def fits(self, counts: Sequence[int]) -> bool:
        return self.has_needed(counts) and all(
            total <= most for total, most in zip(self.totals(counts), self.capacity, strict=True)
        )

    def has_needed(self, counts: Sequence[int]) -> bool:
        return not any(self.needed) or any(
            count for count, need in zip(counts, self.needed, strict=True) if need
        )


def best(
    applications: Applications, capacity: Mapping[str, Fraction], top: int = 1, need: Collection[str] = ()
) -> tuple[Mix, ...]:
    """The `top` best mixes. Equal objectives are in the order of their counts, the highest first. `need`:
    names of inputs of which at least one instance must run."""
    programme, candidates = _programme(applications, capacity, need)
    return tuple(_mix(programme, candidates, counts) for counts in _best_counts(programme, top))


def near_best(
    applications: Applications, capacity: Mapping[str, Fraction], share: Fraction, most: int
) -> tuple[Mix, ...]:
    """The mixes with at least this share of the best objective, best first, at most so many."""
    programme, candidates = _programme(applications, capacity, ())
    found: list[_Counts] = []
    for counts in _solutions(programme):
        found.append(counts)
        found.sort(key=programme.order)
        if len(found) == most or programme.objective(counts) < share * programme.objective(found[0]):
            break
    good = (one for one in found if programme.objective(one) >= share * programme.objective(found[0]))
    return tuple(_mix(programme, candidates, counts) for counts in good)


def _programme(
    applications: Applications, capacity: Mapping[str, Fraction], need: Collection[str]
) -> tuple[_Programme, tuple[Input, ...]]:
    limits = tuple(capacity.get(name, FULL) for name in applications.resources)
    # An input that adds nothing to the objective would make mixes that differ in nothing else.
    candidates = tuple(one for one in applications.inputs if applications.worth(one) or one.name in need)
    programme = _Programme(
        use=tuple(one.use for one in candidates),
        worth=tuple(applications.worth(one) for one in candidates),
        capacity=limits,
        most=tuple(instances_alone(one, limits) for one in candidates),
        needed=tuple(one.name in need for one in candidates),
    )
    if need and not programme.has_needed(programme.most):
        raise UsageError(f"there is no mix with {' or '.join(need)}: alone it exceeds a capacity")
    if not any(programme.most):
        raise UsageError(
            f"{applications.where}: there is no mix: each input exceeds a capacity alone, or uses no "
            "resource that its score depends on; raise --capacity, or add inputs that use less"
        )
    return programme, candidates


def instances_alone(one: Input, limits: Sequence[Fraction]) -> int:
    """How many instances of this input alone the capacities allow."""
    rooms = [math.floor(limit / used) for limit, used in zip(limits, one.use, strict=True) if used]
    return min(*rooms, MOST_INSTANCES) if rooms else 0


def is_maximal(mix: Mix, applications: Applications, capacity: Mapping[str, Fraction]) -> bool:
    """Whether no further instance of an input that adds to the objective fits into the mix."""
    limits = [capacity.get(name, FULL) for name in applications.resources]
    return not any(
        applications.worth(one)
        and all(total + use <= most for total, use, most in zip(mix.totals, one.use, limits, strict=True))
        for one in applications.inputs
    )


def _mix(programme: _Programme, candidates: Sequence[Input], counts: _Counts) -> Mix:
    return Mix(
        tuple((one, count) for one, count in zip(candidates, counts, strict=True) if count),
        programme.objective(counts),
        programme.totals(counts),
    )


def _best_counts(programme: _Programme, top: int) -> list[_Counts]:
    """Solutions come best first up to the solver's tolerance, so they are collected until one is clearly
    worse than the last that is wanted, and sorted exactly."""
    found: list[_Counts] = []
    for counts in _solutions(programme):
        found.append(counts)
        found.sort(key=programme.order)
        if len(found) > top and _clearly_worse(programme, counts, found[top - 1]):
            break
    return found[:top]


_TOLERANCE = Fraction(1, 10**6)


def _clearly_worse(programme: _Programme, counts: _Counts, than: _Counts) -> bool:
    return programme.objective(counts) < programme.objective(than) * (1 - _TOLERANCE)


def _solutions(programme: _Programme) -> Iterator[_Counts]:
    """Each mix that fits, except the empty one, roughly best first."""
    excluded: list[_Counts] = [(0,) * len(programme.most)]
    while (counts := _solve(programme, excluded)) is not None:
        if programme.fits(counts):
            yield counts
        excluded.append(counts)


def _solve(programme: _Programme, excluded: Sequence[_Counts]) -> _Counts | None:
    """The best mix that is not excluded; None if there is none.

    A mix x differs from an excluded one e if some x_i is above or below e_i. Two binary variables for each i
    say so: up_i allows x_i >= e_i + 1 only, down_i x_i <= e_i - 1 only, and one of them must be 1.
    """
    inputs, columns = len(programme.most), len(programme.most) * (1 + 2 * len(excluded))
    rows: list[_Array] = []
    lowest: list[float] = []
    highest: list[float] = []

    def require(row: _Array, low: float, high: float) -> None:
        rows.append(row)
        lowest.append(low)
        highest.append(high)

    for j, limit in enumerate(programme.capacity):
        row = np.zeros(columns)
        row[:inputs] = [float(use[j]) for use in programme.use]
        require(row, -np.inf, float(limit))
    if any(programme.needed):
        row = np.zeros(columns)
        row[:inputs] = programme.needed
        require(row, 1, np.inf)
    for number, counts in enumerate(excluded):
        at = inputs * (1 + 2 * number)
        some = np.zeros(columns)
        some[at : at + 2 * inputs] = 1
        require(some, 1, np.inf)
        for i, (count, most) in enumerate(zip(counts, programme.most, strict=True)):
            up, down = np.zeros(columns), np.zeros(columns)
            up[i], up[at + i] = 1, -(count + 1)
            require(up, 0, np.inf)
            down[i], down[at + inputs + i] = 1, most - count + 1
            require(down, -np.inf, most)
    worth = np.zeros(columns)
    worth[:inputs] = [-float(one) for one in programme.worth]
    upper = np.ones(columns)
    upper[:inputs] = programme.most
    result = milp(
        worth,
        integrality=np.ones(columns),
        bounds=Bounds(np.zeros(columns), upper),
        constraints=LinearConstraint(np.array(rows), np.array(lowest), np.array(highest)),
        options={"mip_rel_gap": 0},
    )
    if result.x is None:
        return None
    return tuple(round(value) for value in result.x[:inputs])
