"""How much each application's score depends on each resource, from runs with limits. Pure.

Takes a Study, its runs and vectors; gives a Sigma for each application and resource. What could not be
measured is None, with the reason. Does not fail.

A run with a limit f (0.5: half of what it used alone) that loses the share L of the score has the loss L for
the limit 1 - f. Over all levels and inputs of one seed

    sigma = sum of L / sum of (1 - f), and never below 0 or above 1

so it is 0 if limits change nothing and 1 if the score falls as the limit does. It is a ratio of sums and not
a mean of ratios, in which the mildest limit, whose loss is nearest to the noise, would weigh most. Losses
below 0 stay in the sum, so that noise around no dependence is not taken for one. The figure is the median
over seeds; a limited run is compared with the run alone of its own seed, so the interval has the noise of
both. A run in which the part used far more than the limit is left out: the limit did not hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from statistics import median

from benchgate.base.text import percent
from benchgate.features.mix import vectors
from benchgate.features.mix.measurement import (
    Estimate,
    MixMeasurement,
    Runs,
    StudyRun,
    alone,
    figure,
    why_none,
)
from benchgate.features.mix.study import Study, StudyInput
from benchgate.features.mix.study_orders import limited_key, seeds
from benchgate.features.mix.vectors import Vector


@dataclass(frozen=True, slots=True)
class LimitEffect:
    """One limit, over seeds."""

    input: str
    percent: int
    fraction: Fraction
    """The limit as it was, which may differ from the percentage: caches have whole ways."""
    kept: Fraction
    """The share of the score alone that is left."""


@dataclass(frozen=True, slots=True)
class Sigma:
    application: str
    resource: str
    figure: Estimate | None
    levels: tuple[LimitEffect, ...] = ()
    missing: str = ""
    """Why there is no figure; or why it is 0 without a run."""


_NONE = Estimate(Fraction(0), 0.0, 0.0, (Fraction(0),))
"""The figure where an application uses too little of a resource to be limited."""


RATES = ("cpu", "disk", "network")
"""Resources of which a kernel grants a rate, over slices of up to 100 ms."""
NOT_HELD = Fraction(1, 2)
"""The part of what a limit takes away that was used all the same: above it, the limit did not hold."""


@dataclass(frozen=True, slots=True)
class _Loss:
    seed: int
    level: LimitEffect
    used: Fraction = Fraction(0)
    """The share of what was used alone, of a resource that is a rate."""

    @property
    def is_held(self) -> bool:
        limit = self.level.fraction
        return self.used <= limit + (1 - limit) * NOT_HELD


def compute(study: Study, runs: Runs, vectors: Sequence[Vector]) -> tuple[Sigma, ...]:
    by_name = {vector.input.name: vector for vector in vectors}
    return tuple(
        _sigma(study, runs, application, resource, by_name)
        for application in study.applications
        for resource in study.resources
    )


def uses_enough(study: Study, vector: Vector, resource: str) -> bool:
    """Whether the resource is limited for this input."""
    used = vector.use.get(resource)
    return used is not None and used.value >= study.least_use


def _sigma(study: Study, runs: Runs, application: str, resource: str, vectors: Mapping[str, Vector]) -> Sigma:
    mine = [study_input for study_input in study.limited if study_input.application == application]
    unknown = [one.name for one in mine if vectors[one.name].use.get(resource) is None]
    if unknown:
        reason = vectors[unknown[0]].missing.get(resource) or vectors[unknown[0]].missing.get("score", "")
        return Sigma(application, resource, None, missing=reason)
    limited = [study_input for study_input in mine if uses_enough(study, vectors[study_input.name], resource)]
    if not limited:
        why = f"it uses less than {float(study.least_use):.2%}, so it was not limited"
        return Sigma(application, resource, _NONE, (), why)
    made_losses = [loss for study_input in limited for loss in _losses(study, runs, study_input, resource)]
    losses = [loss for loss in made_losses if loss.is_held]
    by_seed = [[loss.level for loss in losses if loss.seed == seed] for seed in seeds(study)]
    samples = [_of_seed(levels) for levels in by_seed if levels]
    if not samples and made_losses:
        return Sigma(application, resource, None, missing=_not_held(made_losses[0]))
    if not samples:
        made = _made(study, runs, limited, resource)
        if made and all(run.is_no_limit for run in made.values()):
            return Sigma(application, resource, _NONE, (), f"it was not limited: {made[0].reason}")
        return Sigma(application, resource, None, (), why_none(made))
    return Sigma(application, resource, figure(samples), tuple(_over_seeds(losses)))


def _losses(study: Study, runs: Runs, study_input: StudyInput, resource: str) -> Iterator[_Loss]:
    if resource in study.antagonists:
        for seed, each in vectors.beside(study, runs, study_input.name, resource).items():
            for limit in vectors.limits(each):
                left = round(100 * limit.left)
                yield _Loss(seed, LimitEffect(study_input.name, left, limit.left, limit.kept))
        return
    for level in study.levels:
        for seed, whole in alone(study, runs, study_input.name).items():
            done, score = runs.get(limited_key(study_input.name, resource, level, seed)), whole.parts[0].score
            if done is None or done.measured is None or done.fraction is None or not score:
                continue
            if 0 < done.fraction < 1:
                kept = done.measured.parts[0].score / score
                used = _used(done.measured, whole, resource)
                yield _Loss(seed, LimitEffect(study_input.name, level, done.fraction, kept), used)


def _used(limited: MixMeasurement, whole: MixMeasurement, resource: str) -> Fraction:
    """The share of what was used alone, of a resource that is a rate; 0 where that is not known."""
    used, all_of_it = limited.rate(resource), whole.rate(resource)
    if resource not in RATES or used is None or not all_of_it:
        return Fraction(0)
    return used / all_of_it


def _not_held(loss: _Loss) -> str:
    return (
        f"the limit did not hold: at {loss.level.percent}% {loss.level.input} used "
        f"{percent(float(loss.used))} of what it uses alone; next: raise `least`, or give it longer runs"
    )


def _of_seed(levels: Sequence[LimitEffect]) -> Fraction:
    lost = sum((1 - level.kept for level in levels), Fraction(0))
    limit = sum((1 - level.fraction for level in levels), Fraction(0))
    return min(max(lost / limit, Fraction(0)), Fraction(1))


def _over_seeds(losses: Sequence[_Loss]) -> Iterator[LimitEffect]:
    for key in dict.fromkeys((loss.level.input, loss.level.percent) for loss in losses):
        same = [loss.level for loss in losses if (loss.level.input, loss.level.percent) == key]
        fraction, kept = median(level.fraction for level in same), median(level.kept for level in same)
        yield LimitEffect(*key, Fraction(fraction), Fraction(kept))


def _made(study: Study, runs: Runs, inputs: Sequence[StudyInput], resource: str) -> dict[int, StudyRun]:
    places = product([one.name for one in inputs], study.levels, seeds(study))
    keys = (limited_key(name, resource, level, seed) for name, level, seed in places)
    return dict(enumerate(runs[key] for key in keys if key in runs))
