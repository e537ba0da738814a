"""Whether the choice of a mix survives the noise of what it was chosen by. Pure.

Takes vectors and sensitivities with their samples, and the chosen mix; gives how often the programme chooses
it from resampled figures, and how good it is where it does not. Does not fail.

Each draw takes, for every share and every sensitivity, one of its samples (a seed's figure), independently,
and solves the programme with them. The generator has a fixed seed, so the answer is always the same.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from benchgate.base.errors import UsageError
from benchgate.mix.applications import Applications, MixChoice
from benchgate.mix.estimates import Estimate, rounded
from benchgate.mix.programme import FULL, best
from benchgate.mix.selection import counts_of
from benchgate.mix.sensitivity import Sigma
from benchgate.mix.study_orders import Counts, mix_name
from benchgate.mix.vectors import Vector

DRAWS = 100
SEED = 16


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


def assess(  # noqa: PLR0913, PLR0917 - what was chosen, and from what
    applications: Applications,
    vectors: Sequence[Vector],
    sigmas: Sequence[Sigma],
    capacity: Mapping[str, Fraction],
    mix: Counts,
    draws: int = DRAWS,
) -> Robustness:
    source = random.Random(SEED)  # noqa: S311 - no secret
    chosen: dict[str, int] = {}
    ratios: list[Fraction] = []
    solved: dict[object, tuple[str, Fraction]] = {}
    for _ in range(draws):
        one = _drawn(applications, vectors, sigmas, source)
        key = tuple(each.use for each in one.inputs), tuple(one.sensitivity.values())
        if key not in solved:  # without noise all draws are one
            solved[key] = _solved(one, capacity)
        name, objective = solved[key]
        chosen[name] = chosen.get(name, 0) + 1
        again = one.mix(mix)
        if objective and _fits(one, capacity, again):
            ratios.append(again.objective / objective)
    ordered = sorted(chosen.items(), key=lambda item: (-item[1], item[0]))
    return Robustness(
        draws=draws,
        chosen=tuple(ordered),
        same=chosen.get(mix_name(mix), 0) / draws,
        fits=len(ratios) / draws,
        least=float(min(ratios, default=Fraction(0))),
    )


def _drawn(
    applications: Applications, vectors: Sequence[Vector], sigmas: Sequence[Sigma], source: random.Random
) -> Applications:
    by_input = {one.input.name: one for one in vectors}
    by_sigma = {(one.application, one.resource): one for one in sigmas}
    inputs = tuple(
        replace(
            one, use=tuple(_one_of(by_input[one.name].use[name], source) for name in applications.resources)
        )
        for one in applications.inputs
    )
    sensitivity = {
        name: tuple(_one_of(by_sigma[name, resource].figure, source) for resource in applications.resources)
        for name in applications.sensitivity
    }
    return replace(applications, inputs=inputs, sensitivity=sensitivity)


def _one_of(figure: Estimate | None, source: random.Random) -> Fraction:
    """Rounded as the tables are. A resource of the programme has a figure everywhere."""
    if figure is None:
        raise ValueError("a resource of the programme has no figure")
    return rounded(source.choice(figure.samples))


def _solved(one: Applications, capacity: Mapping[str, Fraction]) -> tuple[str, Fraction]:
    try:
        mix = best(one, capacity)[0]
    except UsageError:
        return "none", Fraction(0)
    return mix_name(counts_of(mix)), mix.objective


def _fits(one: Applications, capacity: Mapping[str, Fraction], mix: MixChoice) -> bool:
    used = zip(mix.totals, one.resources, strict=True)
    return all(total <= capacity.get(name, FULL) for total, name in used)
