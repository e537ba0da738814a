"""Everything that a study found, from its runs alone. Pure.

Takes a Study, its runs, what the programme was given and the mixes that were chosen; gives a StudyOutcome,
from which every table and picture is made. Does not fail: what was not measured has a reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchgate.features.mix import findings, isolation, selection, sensitivity, vectors
from benchgate.features.mix.isolation import MixIsolation, Slowdown, Validity
from benchgate.features.mix.measurement import Runs, valid, why_none
from benchgate.features.mix.programme import Applications
from benchgate.features.mix.selection import BEST, NEAR, MixPlan, Robustness, overcommit_role, scaling_role
from benchgate.features.mix.sensitivity import Sigma
from benchgate.features.mix.study import DUMMY, Study
from benchgate.features.mix.study_orders import input_of, seeds, sweep_key
from benchgate.features.mix.vectors import Vector


@dataclass(frozen=True, slots=True)
class MixResult:
    planned: MixPlan
    objective: Fraction
    totals: Mapping[str, Fraction]
    """The sums of what the parts use alone, as the programme counts them."""
    isolation: MixIsolation


@dataclass(frozen=True, slots=True)
class SweepPoint:
    cpus: int
    slowdown: Slowdown | None
    missing: str = ""


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """One input of the application that is scaled, alone and in a mix."""

    input: str
    workers: int
    slowdown: Slowdown | None
    """The slowdown of its slowest instance."""
    missing: str = ""


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    study: Study
    vectors: tuple[Vector, ...]
    sigmas: tuple[Sigma, ...]
    findings: tuple[str, ...]
    mixes: tuple[MixResult, ...]
    sweep: tuple[SweepPoint, ...]
    validity: Validity | None
    robustness: Robustness | None
    invalid: tuple[str, ...]
    """Each run without a result, and why."""
    made: int

    def with_role(self, role: str) -> MixResult | None:
        return next((mix for mix in self.mixes if role in mix.planned.roles), None)

    @property
    def best(self) -> MixResult | None:
        return self.with_role(BEST)

    @property
    def overcommit(self) -> tuple[tuple[Fraction, MixResult], ...]:
        result = ((by, self.with_role(overcommit_role(by))) for by in self.study.overcommit)
        return tuple((by, result) for by, result in result if result is not None)

    @property
    def scaling(self) -> tuple[ScalingPoint, ...]:
        return tuple(
            _scaling_point(one.name, one.workers, self.with_role(scaling_role(one.name)))
            for one in self.study.inputs_of(self.study.scaling)
        )


@dataclass(frozen=True, slots=True)
class ApplicationFigures:
    """What the runs of single applications say."""

    vectors: tuple[Vector, ...]
    sigmas: tuple[Sigma, ...]
    refused: Mapping[str, str]
    """Why an application is in no mix, by its name."""


def known(study: Study, runs: Runs) -> ApplicationFigures:
    result = vectors.compute(study, runs)
    sigmas = sensitivity.compute(study, runs, result)
    return ApplicationFigures(result, sigmas, findings.of_study(study, sigmas))


def conclude(  # noqa: PLR0913, PLR0917 - what a study has
    study: Study,
    runs: Runs,
    single: ApplicationFigures,
    applications: Applications | None,
    chosen: Sequence[MixPlan],
    said: Sequence[str] = (),
) -> StudyOutcome:
    """`applications`: None if nothing could be solved, which `said` explains."""
    result, sigmas = single.vectors, single.sigmas
    mixes = tuple(_mix(study, runs, result, applications, plan) for plan in chosen)
    near = [mix.isolation for mix in mixes if NEAR in mix.planned.roles]
    best = next((mix for mix in mixes if BEST in mix.planned.roles), None)
    odd = [] if applications is None else [*findings.of_applications(applications, study.capacity)]
    odd += [*_unmeasured(result, sigmas), *single.refused.values(), *findings.falling(study, result)]
    return StudyOutcome(
        study=study,
        vectors=result,
        sigmas=sigmas,
        findings=(*said, *odd),
        mixes=mixes,
        sweep=_sweep(study, runs),
        validity=isolation.validity(near) if near else None,
        robustness=None
        if best is None or applications is None
        else selection.assess(applications, result, sigmas, study.capacity, best.planned.counts),
        invalid=tuple(
            f"{key}: {run.reason} ({run.folder})"
            for key, run in runs.items()
            if run.measured is None and not run.is_no_limit
        ),
        made=len(runs),
    )


def _mix(
    study: Study, runs: Runs, found: Sequence[Vector], applications: Applications | None, planned: MixPlan
) -> MixResult:
    isolated = isolation.compute(study, runs, found, planned.counts)
    if applications is None or not planned.counts.keys() <= {one.name for one in applications.inputs}:
        return MixResult(planned, Fraction(0), {}, isolated)
    mix = applications.mix(planned.counts)
    totals = dict(zip(applications.resources, mix.totals, strict=True))
    return MixResult(planned, mix.objective, totals, isolated)


def _sweep(study: Study, runs: Runs) -> tuple[SweepPoint, ...]:
    if study.sweep is None:
        return ()
    return tuple(_sweep_point(study, runs, cpus, study.sweep.beside) for cpus in study.sweep.cpus)


def _sweep_point(study: Study, runs: Runs, cpus: int, beside: str) -> SweepPoint:
    scores: dict[str, list[Fraction]] = {}
    for other in (DUMMY, beside):
        made = {seed: runs.get(sweep_key(cpus, other, seed)) for seed in seeds(study)}
        scores[other] = [run.parts[0].score for run in valid(made).values()]
        if not scores[other]:
            return SweepPoint(cpus, None, f"beside {other}: {why_none(made)}")
    if min(scores[DUMMY]) <= 0:
        return SweepPoint(cpus, None, "it completed nothing beside the dummy")
    return SweepPoint(cpus, isolation.slowdown(f"{cpus} CPUs", scores[DUMMY], scores[beside]))


def _scaling_point(name: str, workers: int, result: MixResult | None) -> ScalingPoint:
    if result is None:
        return ScalingPoint(name, workers, None, "no mix has it")
    mine = [part for part in result.isolation.parts if input_of(part.part) == name]
    slowest = max(mine, key=lambda slowdown: slowdown.value, default=None)
    return ScalingPoint(name, workers, slowest, "" if mine else result.isolation.missing)


def _unmeasured(found: Sequence[Vector], sigmas: Sequence[Sigma]) -> list[str]:
    """What left the programme, and why: once for each reason."""
    reasons: dict[str, list[str]] = {}
    for vector in found:
        texts = [f"{resource} is unavailable for {{}}: {why}" for resource, why in vector.missing.items()]
        if vector.score is None:
            texts = [f"{{}}: {vector.missing['score']}; not in the programme"]
        for text in texts:
            reasons.setdefault(text, []).append(vector.input.name)
    for sigma in sigmas:
        if sigma.figure is None:
            text = f"the dependence on {sigma.resource} is unavailable for {{}}: {sigma.missing}"
            reasons.setdefault(text, []).append(sigma.application)
    return [text.replace("{}", ", ".join(names)) for text, names in reasons.items()]
