"""The integer programme: the mix that exercises a system most, and the next best ones. Pure.

    maximise    sum over inputs i and resources j of x_i r_ij s_ij
    subject to  sum over i of x_i r_ij <= C_j for every resource j; every x_i a whole number, 0 or more

x_i is the number of instances of an input, r_ij the share of a resource that it uses, s_ij how much its
application depends on the resource, C_j the capacity. From Kuz, Anderson, Shinde and Roscoe, "Multicore OS
benchmarks: we can do better" (HotOS 2011). Takes Applications and capacities; gives the best mixes, best
first, which never include the empty one. Fails with UsageError if no input fits.

solver.py finds them. A mix that is named fits exactly, and no mix that is left out is better by more than
about a millionth of what one instance is worth at most.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from itertools import islice

from benchgate.base.errors import UsageError
from benchgate.mix.applications import ApplicationInput, Applications, MixChoice
from benchgate.mix.solver import Counts, Programme, solutions

FULL = Fraction(1)
"""A resource's capacity unless another one is given."""
MOST_INSTANCES = 10_000
"""More instances of one input than this make a list of processes and not a mix."""


def best(
    applications: Applications, capacity: Mapping[str, Fraction], top: int = 1, need: Collection[str] = ()
) -> tuple[MixChoice, ...]:
    """The `top` best mixes. Equal objectives are in the order of their counts, the highest first. `need`:
    names of inputs of which at least one instance must run."""
    programme, candidates = _programme(applications, capacity, need)
    return tuple(_mix(programme, candidates, counts) for counts in _best_counts(programme, top))


def near_best(
    applications: Applications, capacity: Mapping[str, Fraction], share: Fraction, most: int
) -> tuple[MixChoice, ...]:
    """The mixes with at least this share of the best objective, best first, at most so many."""
    programme, candidates = _programme(applications, capacity, ())
    found: list[Counts] = []
    for counts in solutions(programme):
        found.append(counts)
        found.sort(key=programme.order)
        if len(found) == most or programme.objective(counts) < share * programme.objective(found[0]):
            break
    good = (one for one in found if programme.objective(one) >= share * programme.objective(found[0]))
    return tuple(_mix(programme, candidates, counts) for counts in good)


def _programme(
    applications: Applications, capacity: Mapping[str, Fraction], need: Collection[str]
) -> tuple[Programme, tuple[ApplicationInput, ...]]:
    limits = tuple(capacity.get(name, FULL) for name in applications.resources)
    # An input that adds nothing to the objective would make mixes that differ in nothing else.
    candidates = tuple(one for one in applications.inputs if applications.worth(one) or one.name in need)
    programme = Programme(
        use=tuple(candidate.use for candidate in candidates),
        worth=tuple(applications.worth(candidate) for candidate in candidates),
        capacity=limits,
        most=tuple(instances_alone(candidate, limits) for candidate in candidates),
        needed=tuple(candidate.name in need for candidate in candidates),
        where=applications.where,
    )
    if need and not programme.has_needed(programme.most):
        raise UsageError(f"there is no mix with {' or '.join(need)}: alone it exceeds a capacity")
    if not any(programme.most):
        raise UsageError(
            f"{applications.where}: there is no mix: each input exceeds a capacity alone, or uses no "
            "resource that its score depends on; raise --capacity, or add inputs that use less"
        )
    return programme, candidates


def instances_alone(one: ApplicationInput, limits: Sequence[Fraction]) -> int:
    """How many instances of this input alone the capacities allow."""
    rooms = [math.floor(limit / used) for limit, used in zip(limits, one.use, strict=True) if used]
    return min(*rooms, MOST_INSTANCES) if rooms else 0


def is_maximal(mix: MixChoice, applications: Applications, capacity: Mapping[str, Fraction]) -> bool:
    """Whether no further instance of an input that adds to the objective fits into the mix."""
    limits = [capacity.get(name, FULL) for name in applications.resources]
    return not any(
        applications.worth(one)
        and all(total + use <= most for total, use, most in zip(mix.totals, one.use, limits, strict=True))
        for one in applications.inputs
    )


def _mix(programme: Programme, candidates: Sequence[ApplicationInput], counts: Counts) -> MixChoice:
    return MixChoice(
        tuple((candidate, count) for candidate, count in zip(candidates, counts, strict=True) if count),
        programme.objective(counts),
        programme.totals(counts),
    )


def _best_counts(programme: Programme, top: int) -> list[Counts]:
    """Solutions come best first up to the solver's tolerance, and are sorted exactly."""
    return sorted(islice(solutions(programme), top), key=programme.order)
