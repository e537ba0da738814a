"""Applications whose score does not rise with what they use, so that they can be in no mix. Pure.

Takes the tables of a programme, or a Study with what was measured of it; gives a sentence for each problem,
with file, line and key. Nothing fails, and what was measured stays.

A study has measured it: under limits of what it uses, the score falls. An application is refused if none of
its limits lowers it, or if all limits of a resource raise it. A table from anywhere has the scores of inputs
only: it is refused if an input uses no less than another one of its application, and more of something, but
does not score higher. In a study that is said, and refuses nothing: a larger input may be harder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import permutations

from benchgate.mix.applications import Applications
from benchgate.mix.sensitivity import Sigma
from benchgate.mix.study import Study
from benchgate.mix.vectors import Vector

CLEARLY = Fraction(5, 100)
"""A score that is higher by more than this under every limit of a resource is refused."""
BARELY = Fraction(1, 100)
"""A score that no limit lowers by more than this is refused."""
NEXT = "next: name another `score`"


def of_tables(applications: Applications) -> Iterator[str]:
    for less, more in permutations(applications.inputs, 2):
        if (
            less.application == more.application
            and _uses_more(less.use, more.use)
            and more.score <= less.score
        ):
            yield (
                f"{more.where}: score: {more.name} uses more than {less.name}, but its score is not higher "
                f"({float(more.score):g}, and {float(less.score):g}): a score must rise with resources"
            )


def of_study(study: Study, sigmas: Sequence[Sigma]) -> Mapping[str, str]:
    """Why the score of an application is refused, by the application's name."""
    found: dict[str, str] = {}
    for name in study.applications:
        mine = [one for one in sigmas if one.application == name and one.levels]
        why = _rising(mine) or _unmoved(mine)
        if why:
            where = study.inputs_of(name)[-1].where
            found[name] = f"{where}: score: {name} {why}, so it is refused, and in no mix; {NEXT}"
    return found


def _rising(mine: Sequence[Sigma]) -> str:
    found = (one.resource for one in mine if all(level.kept > 1 + CLEARLY for level in one.levels))
    resource = next(found, "")
    return f"scores more with less {resource}, at every limit" if resource else ""


def _unmoved(mine: Sequence[Sigma]) -> str:
    if not mine or any(level.kept < 1 - BARELY for one in mine for level in one.levels):
        return ""
    names = ", ".join(one.resource for one in mine)
    return f"scores as much with less of all that was limited ({names})"


def falling(study: Study, vectors: Sequence[Vector]) -> Iterator[str]:
    """Inputs that use more than another one and score less, as sentences: their sizes may explain it."""
    for less, more in permutations(vectors, 2):
        name = less.input.application
        if name != more.input.application or less.score is None or more.score is None:
            continue
        known = [
            (a.value, b.value)
            for resource in study.resources
            if (a := less.use.get(resource)) is not None and (b := more.use.get(resource)) is not None
        ]
        uses = [a for a, _ in known], [b for _, b in known]
        if study.comparable(name) and _uses_more(*uses) and more.score.high <= less.score.low:
            yield (
                f"{more.input.where}: score: {more.input.name} uses more than {less.input.name}, but its "
                f"score is not higher ({float(more.score.value):.4g}, and {float(less.score.value):.4g})"
            )


def _uses_more(less: Sequence[Fraction], more: Sequence[Fraction]) -> bool:
    return tuple(less) != tuple(more) and all(a <= b for a, b in zip(less, more, strict=True))
