"""The mixes that a study runs, what for, and whether the choice of one survives the noise behind it. Pure.

Takes a Study and what its applications use and depend on; gives each mix once, with its roles. What cannot be
had, such as a mix with an input that exceeds a capacity alone, is a sentence. Fails with UsageError if no mix
fits at all.

`assess` takes vectors and sensitivities with their samples, and the chosen mix; gives how often the programme
chooses it from resampled figures, and how good it is where it does not. Each draw takes, for every share and
every sensitivity, one of its samples (a seed's figure), independently, and solves the programme with them.
The generator has a fixed seed, so the answer is always the same.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from benchgate.base.errors import UsageError
from benchgate.features.mix.measurement import Estimate, rounded
from benchgate.features.mix.programme import FULL, Applications, MixChoice, best, is_maximal, near_best
from benchgate.features.mix.sensitivity import Sigma
from benchgate.features.mix.study import Study
from benchgate.features.mix.study_orders import Counts, mix_name
from benchgate.features.mix.vectors import Vector

BEST = "best"
NEAR = "near"
NEAR_SHARE = Fraction("0.9")
"""A mix with at least this share of the best objective is near-optimal."""
MOST_LOOKED_AT = 30
"""Near-optimal maximal mixes are looked for among so many of the next best ones."""
DRAWS = 100
SEED = 16


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
    return {application_input.name: count for application_input, count in mix.counts}


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
    for study_input in study.inputs_of(study.scaling):
        _add(wanted, absent, scaling_role(study_input.name), applications, capacity, (study_input.name,))
    result: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for role, mix in wanted:
        result.setdefault(tuple(counts_of(mix).items()), []).append(role)
    plans = tuple(MixPlan(dict(counts), tuple(roles)) for counts, roles in result.items())
    return Selection(plans, tuple(absent))


def near(applications: Applications, capacity: Mapping[str, Fraction], most: int) -> Sequence[MixChoice]:
    """The best mixes that are near-optimal and maximal: smaller ones differ in how much they use."""
    if not most:
        return ()
    good = near_best(applications, capacity, NEAR_SHARE, MOST_LOOKED_AT)
    return [choice for choice in good if is_maximal(choice, applications, capacity)][:most]


def _add(  # noqa: PLR0913, PLR0917 - the programme's parameters
    wanted: list[tuple[str, MixChoice]],
    absent: list[str],
    role: str,
    applications: Applications,
    capacity: Mapping[str, Fraction],
    need: tuple[str, ...],
) -> None:
    if not {application_input.name for application_input in applications.inputs}.issuperset(need):
        absent.append(f"{role}: {need[0]} is not in the programme")
        return
    try:
        wanted.append((role, best(applications, capacity, need=need)[0]))
    except UsageError as error:
        absent.append(f"{role}: {error}")


@dataclass(frozen=True, slots=True)
class Robustness:
    draws: int
    chosen: tuple[tuple[str, int], ...]
    """How many draws chose each mix, the most frequent first."""
    same: float
    """The share of draws that chose the mix itself."""
    fits: float
    """The share of draws in which it fits into the capacities."""
    least: float
    """Its objective over that of the draw's best mix, in the worst draw in which it fits."""


def assess(
    applications: Applications,
    vectors: Sequence[Vector],
    sigmas: Sequence[Sigma],
    capacity: Mapping[str, Fraction],
    mix: Counts,
) -> Robustness:
    source = random.Random(SEED)  # noqa: S311 - no secret
    chosen: Counter[str] = Counter()
    ratios: list[Fraction] = []
    solved: dict[object, tuple[str, Fraction]] = {}
    for _ in range(DRAWS):
        one = _drawn(applications, vectors, sigmas, source)
        key = tuple(each.use for each in one.inputs), tuple(one.sensitivity.values())
        if key not in solved:  # without noise all draws are one
            solved[key] = _solved(one, capacity)
        name, objective = solved[key]
        chosen[name] += 1
        again = one.mix(mix)
        if objective and _fits(one, capacity, again):
            ratios.append(again.objective / objective)
    ordered = sorted(chosen.items(), key=lambda item: (-item[1], item[0]))
    return Robustness(
        draws=DRAWS,
        chosen=tuple(ordered),
        same=chosen[mix_name(mix)] / DRAWS,
        fits=len(ratios) / DRAWS,
        least=float(min(ratios, default=Fraction(0))),
    )


def _drawn(
    applications: Applications, vectors: Sequence[Vector], sigmas: Sequence[Sigma], source: random.Random
) -> Applications:
    by_input = {vector.input.name: vector for vector in vectors}
    by_sigma = {(sigma.application, sigma.resource): sigma for sigma in sigmas}
    names = applications.resources

    def drawn(figures: Iterable[Estimate | None]) -> tuple[Fraction, ...]:
        return tuple(_one_of(figure, source) for figure in figures)

    inputs = tuple(
        replace(one, use=drawn(by_input[one.name].use[name] for name in names)) for one in applications.inputs
    )
    sensitivity = {
        application: drawn(by_sigma[application, name].figure for name in names)
        for application in applications.sensitivity
    }
    return replace(applications, inputs=inputs, sensitivity=sensitivity)


def _one_of(figure: Estimate | None, source: random.Random) -> Fraction:
    """Rounded as the tables are. A resource of the programme has a figure everywhere."""
    if figure is None:
        raise ValueError("a resource of the programme has no figure")
    return rounded(source.choice(figure.samples))


def _solved(applications: Applications, capacity: Mapping[str, Fraction]) -> tuple[str, Fraction]:
    try:
        mix = best(applications, capacity)[0]
    except UsageError:
        return "none", Fraction(0)
    return mix_name(counts_of(mix)), mix.objective


def _fits(applications: Applications, capacity: Mapping[str, Fraction], mix: MixChoice) -> bool:
    used = zip(mix.totals, applications.resources, strict=True)
    return all(total <= capacity.get(name, FULL) for total, name in used)
