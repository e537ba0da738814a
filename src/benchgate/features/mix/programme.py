"""The integer programme: the mix that exercises a system most, and the next best ones. Pure.

    maximise    sum over inputs i and resources j of x_i r_ij s_ij
    subject to  sum over i of x_i r_ij <= C_j for every resource j; every x_i a whole number, 0 or more

x_i is the number of instances of an input, r_ij the share of a resource that it uses, s_ij how much its
application depends on the resource, C_j the capacity. From Kuz, Anderson, Shinde and Roscoe, "Multicore OS
benchmarks: we can do better" (HotOS 2011). Takes Applications and capacities; gives the best mixes, best
first, which never include the empty one. Fails with UsageError if no input fits.

What applications use and depend on is in fractions of a resource's capacity, kept as the exact decimal
fractions that were written, so that a resource that is used at exactly 100% is not above 100% by a rounding
error. Constructing the types cannot fail: files.py checks what comes from outside.

solver.py finds the mixes. A mix that is named fits exactly, and no mix that is left out is better by more
than about a millionth of what one instance is worth at most.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

from benchgate.base.errors import UsageError
from benchgate.features.mix.solver import Counts, Programme, solutions, weighted


@dataclass(frozen=True, slots=True)
class ApplicationInput:
    """One application with one input, measured alone."""

    application: str
    input: str
    score: Fraction
    use: tuple[Fraction, ...]
    """The share of each resource's capacity, in the order of `Applications.resources`."""
    where: str
    """File and line."""

    @property
    def name(self) -> str:
        return f"{self.application}.{self.input}"


@dataclass(frozen=True, slots=True)
class MixChoice:
    """How many instances of each input run together, with exact figures."""

    counts: tuple[tuple[ApplicationInput, int], ...]
    """The inputs that run, in the order of the applications' file."""
    objective: Fraction
    totals: tuple[Fraction, ...]
    """The share of each resource that all instances use together."""


@dataclass(frozen=True, slots=True)
class Applications:
    resources: tuple[str, ...]
    inputs: tuple[ApplicationInput, ...]
    sensitivity: Mapping[str, tuple[Fraction, ...]]
    """How much the score of each application depends on each resource: 0 not at all, 1 fully."""
    unavailable: tuple[str, ...] = ()
    """Resources that could not be measured for some input: they are not in `resources`."""
    where: str = "the vectors"
    """File and line of the resources' names."""
    unmeasured: Mapping[str, str] = field(default_factory=dict)
    """Applications of which there is a sensitivity and no input, and where."""

    def worth(self, application_input: ApplicationInput) -> Fraction:
        """What one instance adds to the objective: its use of each resource times its dependence on it."""
        depends = self.sensitivity[application_input.application]
        return sum((used * by for used, by in zip(application_input.use, depends, strict=True)), Fraction(0))

    def mix(self, counts: Mapping[str, int]) -> MixChoice:
        """The mix with so many instances of each input, by name."""
        run = tuple((one, counts[one.name]) for one in self.inputs if counts.get(one.name))
        numbers = [count for _, count in run]
        return MixChoice(
            counts=run,
            objective=weighted(numbers, (self.worth(one) for one, _ in run)),
            totals=tuple(
                weighted(numbers, (one.use[j] for one, _ in run)) for j in range(len(self.resources))
            ),
        )


FULL = Fraction(1)
"""A resource's capacity unless another one is given."""
MOST_INSTANCES = 10_000
"""More instances of one input than this make a list of processes and not a mix."""


def best(
    applications: Applications, capacity: Mapping[str, Fraction], top: int = 1, need: Collection[str] = ()
) -> tuple[MixChoice, ...]:
    """The `top` best mixes. Equal objectives are in the order of their counts, the highest first. `need`:
    names of inputs of which at least one instance must run."""
    programme, names = _programme(applications, capacity, need)
    # Solutions come best first up to the solver's tolerance only.
    found = sorted(islice(solutions(programme), top), key=programme.order)
    return tuple(applications.mix(dict(zip(names, counts, strict=True))) for counts in found)


def near_best(
    applications: Applications, capacity: Mapping[str, Fraction], share: Fraction, most: int
) -> tuple[MixChoice, ...]:
    """The mixes with at least this share of the best objective, best first, at most so many."""
    programme, names = _programme(applications, capacity, ())
    found: list[Counts] = []
    for counts in solutions(programme):
        found.append(counts)
        found.sort(key=programme.order)
        if len(found) == most or programme.objective(counts) < share * programme.objective(found[0]):
            break
    good = (one for one in found if programme.objective(one) >= share * programme.objective(found[0]))
    return tuple(applications.mix(dict(zip(names, counts, strict=True))) for counts in good)


def _programme(
    applications: Applications, capacity: Mapping[str, Fraction], need: Collection[str]
) -> tuple[Programme, list[str]]:
    """The programme, and the names of its inputs."""
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
    return programme, [candidate.name for candidate in candidates]


def instances_alone(application_input: ApplicationInput, limits: Sequence[Fraction]) -> int:
    """How many instances of this input alone the capacities allow."""
    pairs = zip(limits, application_input.use, strict=True)
    return min((min(limit // used, MOST_INSTANCES) for limit, used in pairs if used), default=0)


def is_maximal(mix: MixChoice, applications: Applications, capacity: Mapping[str, Fraction]) -> bool:
    """Whether no further instance of an input that adds to the objective fits into the mix."""
    limits = [capacity.get(name, FULL) for name in applications.resources]
    return not any(
        applications.worth(one)
        and all(total + use <= most for total, use, most in zip(mix.totals, one.use, limits, strict=True))
        for one in applications.inputs
    )
