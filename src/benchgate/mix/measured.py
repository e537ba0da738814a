"""One run of a mix as a study uses it: scores, and what was used of each resource, in whole units.

Takes values of a run; gives a frozen Measured. Fails with ValueError for a score below 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from benchgate.base.jsonfields import Between, Matches
from benchgate.mix.numbers import Kept
from benchgate.mix.orders import input_of
from benchgate.mix.study import RESOURCES

UNITS: Mapping[str, str] = {
    "cpu": "ns of CPU time",
    "cache": "bytes",
    "bandwidth": "bytes",
    "memory": "bytes",
    "disk": "bytes",
    "network": "bytes",
}
"""Of `use` and `capacity`: what was used in the window; of cache and memory the most at one time."""

_Resource = Annotated[str, Matches("|".join(RESOURCES), "a resource")]
_Figures = Mapping[_Resource, int | None]


@dataclass(frozen=True, slots=True)
class PartMeasured:
    name: str
    """`primes.small#1`."""
    score: Kept
    runs: int
    use: _Figures
    starved: str = ""
    """The resource for want of which it was ended: its score is that of what it completed."""

    def __post_init__(self) -> None:
        if self.score < 0:
            raise ValueError("score is below 0")

    @property
    def input(self) -> str:
        return input_of(self.name)


@dataclass(frozen=True, slots=True)
class Measured:
    window_ns: Annotated[int, Between(1)]
    parts: tuple[PartMeasured, ...]
    use: _Figures
    """Of the whole guest; None if it could not be read."""
    capacity: _Figures
    """Of the guest in this window. A resource that is calibrated has none here."""
    missing: Mapping[_Resource, str]
    """Why a resource has no figure."""

    def used(self, resource: str) -> int | None:
        """By all parts together. What only the whole guest can be asked for is the guest's."""
        if self.use.get(resource) is not None:
            return self.use[resource]
        each = [part.use.get(resource) for part in self.parts]
        known = [one for one in each if one is not None]
        return sum(known) if known and len(known) == len(each) else None

    def rate(self, resource: str) -> Fraction | None:
        """What was used of it, for each nanosecond of the window."""
        used = self.used(resource)
        return None if used is None else Fraction(used, self.window_ns)
