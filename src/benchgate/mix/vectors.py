"""What each input uses alone: its share of each resource's capacity, and its score. Pure.

Takes a Study and its runs; gives a Vector for each input. What could not be measured is None, with the
reason. Does not fail.

The capacity of a resource is the guest's own: CPUs times the window, its memory, the shared cache, what its
nodes' memory may move. Of `disk` and `network`, on wall time also of `bandwidth`, it is the rate of the input
that the study names under `calibrate`, alone: the median of its seeds. For antagonists it is what the study
says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import median

from benchgate.mix import antagonists
from benchgate.mix.estimates import Figure, figure
from benchgate.mix.measured import Measured
from benchgate.mix.orders import alone_key, seeds
from benchgate.mix.runs import Runs, alone, why_none
from benchgate.mix.study import BANDWIDTH, CALIBRATED, Study, StudyInput


@dataclass(frozen=True, slots=True)
class Vector:
    input: StudyInput
    score: Figure | None
    """None if no run alone is valid."""
    use: Mapping[str, Figure | None]
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why a resource has no figure; of `score`, why the input has none."""


Rates = Mapping[str, Fraction | None]
"""The capacity of each calibrated resource, in bytes per ns."""


def of(study: Study, runs: Runs) -> tuple[Vector, ...]:
    known = rates(study, runs)
    return tuple(_vector(one, study, runs, known) for one in study.inputs)


def rates(study: Study, runs: Runs) -> Rates:
    names = dict.fromkeys((*CALIBRATED, *study.calibrate))
    return {name: _rate(study, runs, name) for name in names if name in study.resources}


def share(measured: Measured, resource: str, known: Rates) -> Fraction | None:
    """The share of the resource's capacity that all parts use together."""
    used = measured.used(resource)
    if resource in known:
        rate = known[resource]
        capacity = None if rate is None else rate * measured.window_ns
    else:
        stated = measured.capacity.get(resource)
        capacity = None if stated is None else Fraction(stated)
    return None if used is None or not capacity else Fraction(used) / capacity


def _rate(study: Study, runs: Runs, resource: str) -> Fraction | None:
    by = study.calibrate.get(resource)
    if by is None:
        return None
    rates = [one.rate(resource) for one in alone(study, runs, by).values()]
    found = [rate for rate in rates if rate is not None]
    return Fraction(median(found)) if found and median(found) > 0 else None


def _vector(one: StudyInput, study: Study, runs: Runs, known: Rates) -> Vector:
    found = alone(study, runs, one.name)
    if not found:
        made = {seed: runs.get(alone_key(one.name, seed)) for seed in seeds(study)}
        return Vector(one, None, dict.fromkeys(study.resources), {"score": why_none(made)})
    use: dict[str, Figure | None] = {}
    missing: dict[str, str] = {}
    for resource in study.resources:
        shares = _shares(study, runs, one.name, resource, known)
        use[resource] = figure(shares) if shares else None
        if not shares:
            missing[resource] = _why(study, runs, one.name, resource, known)
    return Vector(one, figure([run.parts[0].score for run in found.values()]), use, missing)


def _shares(study: Study, runs: Runs, name: str, resource: str, known: Rates) -> list[Fraction]:
    """The shares by seed: as counted, else as measured beside antagonists. Empty if a count is missing and no
    run beside antagonists is valid."""
    found = [share(run, resource, known) for run in alone(study, runs, name).values()]
    kept = [part for part in found if part is not None]
    if len(kept) == len(found):
        return kept
    if resource not in study.antagonists:
        return []
    return [antagonists.needed(each) for each in antagonists.beside(study, runs, name, resource).values()]


def _why(study: Study, runs: Runs, name: str, resource: str, known: Rates) -> str:
    if resource in study.antagonists:
        return antagonists.why_none(study, runs, name, resource)
    run = next(iter(alone(study, runs, name).values()))
    if run.used(resource) is None:
        return run.missing.get(resource, "the guest does not report it")
    if resource in known and resource not in study.calibrate:
        return (
            f"no input calibrates it: name one that does nothing else under `calibrate: {{{resource}: ...}}`"
        )
    if resource in known:
        return f"{study.calibrate[resource]}, which calibrates it, has no valid run that uses it"
    unknown = "its capacity is not known"
    if resource == BANDWIDTH:
        unknown += ": on wall time name an input that does nothing else, under `calibrate`"
    return run.missing.get(resource, unknown)
