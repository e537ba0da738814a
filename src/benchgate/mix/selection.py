"""The mixes that a study runs, and what for. Pure.

Takes a Study and what its applications use and depend on; gives each mix once, with its roles. What cannot be
had, such as a mix with an input that exceeds a capacity alone, is a sentence. Fails with UsageError if no mix
fits at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from benchgate.base.errors import UsageError
from benchgate.mix.applications import Applications, MixChoice
from benchgate.mix.programme import FULL, best, is_maximal, near_best
from benchgate.mix.study import Study
from benchgate.mix.study_orders import Counts

BEST = "best"
NEAR = "near"
NEAR_SHARE = Fraction("0.9")
"""A mix with at least this share of the best objective is near-optimal."""
MOST_LOOKED_AT = 30
"""Near-optimal maximal mixes are looked for among so many of the next best ones."""


@dataclass(frozen=True, slots=True)
class MixPlan:
    """A mix that is run, and what for."""

    counts: Counts
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    chosen: tuple[MixPlan, ...]
    absent: tuple[str, ...] = field(default=())
    """Roles for which there is no mix, and why."""


def counts_of(mix: MixChoice) -> dict[str, int]:
    return {one.name: count for one, count in mix.counts}


def overcommit_role(by: Fraction) -> str:
    return f"overcommit {float(by):g}"


def scaling_role(name: str) -> str:
    return f"scaling {name}"


def select(study: Study, applications: Applications) -> Selection:
    capacity = study.capacity
    wanted: list[tuple[str, MixChoice]] = [(BEST, best(applications, capacity)[0])]
    absent: list[str] = []
    wanted += [(NEAR, mix) for mix in near(applications, capacity, study.near)]
    for by in study.overcommit:
        more = {name: by * capacity.get(name, FULL) for name in applications.resources}
        _add(wanted, absent, overcommit_role(by), applications, more, ())
    for one in study.inputs_of(study.scaling):
        _add(wanted, absent, scaling_role(one.name), applications, capacity, (one.name,))
    found: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for role, mix in wanted:
        found.setdefault(tuple(counts_of(mix).items()), []).append(role)
    return Selection(
        tuple(MixPlan(dict(counts), tuple(roles)) for counts, roles in found.items()), tuple(absent)
    )


def near(applications: Applications, capacity: Mapping[str, Fraction], most: int) -> Sequence[MixChoice]:
    """The best mixes that are near-optimal and maximal: smaller ones differ in how much they use."""
    if not most:
        return ()
    good = near_best(applications, capacity, NEAR_SHARE, MOST_LOOKED_AT)
    return [one for one in good if is_maximal(one, applications, capacity)][:most]


def _add(  # noqa: PLR0913, PLR0917 - the programme's parameters
    wanted: list[tuple[str, MixChoice]],
    absent: list[str],
    role: str,
    applications: Applications,
    capacity: Mapping[str, Fraction],
    need: tuple[str, ...],
) -> None:
    if not {one.name for one in applications.inputs}.issuperset(need):
        absent.append(f"{role}: {need[0]} is not in the programme")
        return
    try:
        wanted.append((role, best(applications, capacity, need=need)[0]))
    except UsageError as error:
        absent.append(f"{role}: {error}")
