"""What is odd about a set of applications, and which of them can be in no mix, as sentences. Pure.

Takes Applications and capacities, the tables of a programme, or a Study with what was measured of it; gives a
sentence for each finding, with file, line and column or key where there is one. Nothing fails, and what was
measured stays; but the answer may not be what was wanted.

An application is in no mix if its score does not rise with what it uses. A study has measured it: under
limits of what it uses, the score falls. An application is refused if none of its limits lowers it, or if all
limits of a resource raise it. A table from anywhere has the scores of inputs only: it is refused if an input
uses no less than another one of its application, and more of something, but does not score higher. In a study
that is said, and refuses nothing: a larger input may be harder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import permutations

from benchgate.base.text import percent
from benchgate.features.mix.programme import FULL, MOST_INSTANCES, ApplicationInput, Applications, MixChoice
from benchgate.features.mix.sensitivity import Sigma
from benchgate.features.mix.study import Study
from benchgate.features.mix.vectors import Vector

CLEARLY = Fraction(5, 100)
"""By how much a score must be higher under every limit of a resource."""
BARELY = Fraction(1, 100)
"""By how much one limit at least must lower it."""
NEXT = "next: name another `score`"


def of_applications(applications: Applications, capacity: Mapping[str, Fraction]) -> Iterator[str]:
    for name, where in applications.unmeasured.items():
        yield f"{where}: application: {name} has no input in the other table, and is in no mix"
    for name in applications.unavailable:
        yield f"{applications.where}: {name} is unavailable for some input, and is not in the programme"
    for j, name in enumerate(applications.resources):
        if not any(entry.use[j] for entry in applications.inputs):
            yield f"{applications.where}: no input uses {name}: is the set of applications complete?"
    for entry in applications.inputs:
        yield from _alone(entry, applications, capacity)


def of_mix(mix: MixChoice, applications: Applications) -> Iterator[str]:
    """The resources that the best mix leaves alone although some input uses them; and inputs that use so
    little that the programme has all but no bound."""
    for j, name in enumerate(applications.resources):
        if not mix.totals[j] and any(entry.use[j] for entry in applications.inputs):
            at = applications.where
            yield f"{at}: the best mix does not use {name}: is the set of applications complete?"
    for entry, count in mix.counts:
        if count == MOST_INSTANCES:
            much = f"{entry.name} uses so little that {count:,} instances fit"
            yield f"{entry.where}: {much}, and no more are tried"


def _alone(
    entry: ApplicationInput, applications: Applications, capacity: Mapping[str, Fraction]
) -> Iterator[str]:
    if not applications.worth(entry):
        yield f"{entry.where}: {entry.name} uses no resource that its score depends on, and is in no mix"
    for name, used in zip(applications.resources, entry.use, strict=True):
        limit = capacity.get(name, FULL)
        if used > limit:
            yield (
                f"{entry.where}: {name}: {entry.name} alone uses {percent(float(used))}, more than the "
                f"capacity of {percent(float(limit))}, and is in no mix"
            )


def of_tables(applications: Applications) -> Iterator[str]:
    for less, more in permutations(applications.inputs, 2):
        is_same = less.application == more.application
        if is_same and _uses_more(less.use, more.use) and more.score <= less.score:
            yield (
                f"{more.where}: score: {more.name} uses more than {less.name}, but its score is not higher "
                f"({float(more.score):g}, and {float(less.score):g}): a score must rise with resources"
            )


def of_study(study: Study, sigmas: Sequence[Sigma]) -> Mapping[str, str]:
    """By application."""
    result: dict[str, str] = {}
    for name in study.applications:
        mine = [sigma for sigma in sigmas if sigma.application == name and sigma.levels]
        why = _rising(mine) or _unmoved(mine)
        if why:
            where = study.inputs_of(name)[-1].where
            result[name] = f"{where}: score: {name} {why}, so it is refused, and in no mix; {NEXT}"
    return result


def _rising(mine: Sequence[Sigma]) -> str:
    found = (sigma.resource for sigma in mine if all(level.kept > 1 + CLEARLY for level in sigma.levels))
    resource = next(found, "")
    return f"scores more with less {resource}, at every limit" if resource else ""


def _unmoved(mine: Sequence[Sigma]) -> str:
    if not mine or any(level.kept < 1 - BARELY for sigma in mine for level in sigma.levels):
        return ""
    names = ", ".join(sigma.resource for sigma in mine)
    return f"scores as much with less of all that was limited ({names})"


def falling(study: Study, vectors: Sequence[Vector]) -> Iterator[str]:
    """Inputs that use more than another one and score less, as sentences: their sizes may explain it."""
    for less, more in permutations(vectors, 2):
        name = less.input.application
        if name != more.input.application or less.score is None or more.score is None:
            continue
        pairs = [(less.use.get(resource), more.use.get(resource)) for resource in study.resources]
        known = [(a.value, b.value) for a, b in pairs if a is not None and b is not None]
        uses = [a for a, _ in known], [b for _, b in known]
        if study.comparable(name) and _uses_more(*uses) and more.score.high <= less.score.low:
            yield (
                f"{more.input.where}: score: {more.input.name} uses more than {less.input.name}, but its "
                f"score is not higher ({float(more.score.value):.4g}, and {float(less.score.value):.4g})"
            )


def _uses_more(less: Sequence[Fraction], more: Sequence[Fraction]) -> bool:
    return tuple(less) != tuple(more) and all(a <= b for a, b in zip(less, more, strict=True))
