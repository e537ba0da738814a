"""What applications use and depend on, as types. Pure.

Shares are fractions of a resource's capacity, kept as the exact decimal fractions that were written, so that
a resource that is used at exactly 100% is not above 100% by a rounding error. Constructing them cannot fail:
files.py checks what comes from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction


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

    def worth(self, one: ApplicationInput) -> Fraction:
        """What one instance adds to the objective: its use of each resource times its dependence on it."""
        return sum(
            (used * by for used, by in zip(one.use, self.sensitivity[one.application], strict=True)),
            Fraction(0),
        )

    def mix(self, counts: Mapping[str, int]) -> MixChoice:
        """The mix with so many instances of each input, by name."""
        run = tuple((one, counts[one.name]) for one in self.inputs if counts.get(one.name))
        return MixChoice(
            counts=run,
            objective=sum((count * self.worth(one) for one, count in run), Fraction(0)),
            totals=tuple(
                sum((count * one.use[j] for one, count in run), Fraction(0))
                for j in range(len(self.resources))
            ),
        )
