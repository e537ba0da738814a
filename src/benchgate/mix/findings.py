"""What is odd about a set of applications, as sentences. Pure.

Takes Applications and capacities; gives a sentence for each finding, with file, line and column where there
is one. None of them makes the programme wrong, so nothing fails; but its answer may not be what was wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from benchgate.base.text import percent
from benchgate.mix.applications import Applications, Input, Mix
from benchgate.mix.programme import FULL, MOST_INSTANCES


def of_applications(applications: Applications, capacity: Mapping[str, Fraction]) -> Iterator[str]:
    for name, where in applications.unmeasured.items():
        yield f"{where}: application: {name} has no input in the other table, and is in no mix"
    for name in applications.unavailable:
        yield f"{applications.where}: {name} is unavailable for some input, and is not in the programme"
    for j, name in enumerate(applications.resources):
        if not any(one.use[j] for one in applications.inputs):
            yield f"{applications.where}: no input uses {name}: is the set of applications complete?"
    for one in applications.inputs:
        yield from _alone(one, applications, capacity)


def of_mix(mix: Mix, applications: Applications) -> Iterator[str]:
    """The resources that the best mix leaves alone although some input uses them; and inputs that use so
    little that the programme has all but no bound."""
    for j, name in enumerate(applications.resources):
        if not mix.totals[j] and any(one.use[j] for one in applications.inputs):
            at = applications.where
            yield f"{at}: the best mix does not use {name}: is the set of applications complete?"
    for one, count in mix.counts:
        if count == MOST_INSTANCES:
            yield (
                f"{one.where}: {one.name} uses so little that {count:,} instances fit, and no more are tried"
            )


def _alone(one: Input, applications: Applications, capacity: Mapping[str, Fraction]) -> Iterator[str]:
    if not applications.worth(one):
        yield f"{one.where}: {one.name} uses no resource that its score depends on, and is in no mix"
    for name, used in zip(applications.resources, one.use, strict=True):
        limit = capacity.get(name, FULL)
        if used > limit:
            yield (
                f"{one.where}: {name}: {one.name} alone uses {percent(float(used))}, more than the capacity "
                f"of {percent(float(limit))}, and is in no mix"
            )
