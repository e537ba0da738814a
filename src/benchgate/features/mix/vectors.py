"""What each input uses alone: its share of each resource's capacity, its score, and what a limit in
percent of that is in units. Pure.

Takes a Study and its runs; gives a Vector for each input. What could not be measured is None, with the
reason. Does not fail.

The capacity of a resource is the guest's own: CPUs times the window, its memory, the shared cache, what its
nodes' memory may move. Of `disk` and `network`, on wall time also of `bandwidth`, it is the rate of the input
that the study names under `calibrate`, alone: the median of its seeds. For antagonists it is what the study
says.

On wall time no counter says how much of a cache one part holds; what antagonists tell is a declared proxy.
The input runs beside a neighbour that takes a known share of it, once for each of several shares. All
neighbours of one resource keep a CPU as busy; the one that takes least is what the others are compared with.
An input needs what is left over by the largest neighbour beside which, and beside all smaller ones, it keeps
95% of its score: it is known in steps of the shares that were tried, and an input that keeps its score beside
all of them has the share 0.

`amount` takes a Vector with its share and the machine's facts; gives an Amount, or the reason why there is no
such limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from statistics import median

from benchgate.features.mix.measurement import Estimate, MixMeasurement, Runs, alone, figure, valid, why_none
from benchgate.features.mix.study import BANDWIDTH, CALIBRATED, PRESSED, Study, StudyInput
from benchgate.features.mix.study_orders import Limit, alone_key, pressed_key, seeds

KEPT = Fraction(95, 100)
"""Of the score beside the neighbour that takes least."""
Rates = Mapping[str, Fraction | None]
"""The capacity of each calibrated resource, in bytes per ns."""
MILLIONTHS = 1_000_000


@dataclass(frozen=True, slots=True)
class NeighbourEffect:
    """One neighbour: what it leaves of the resource, and what the input keeps of its score."""

    left: Fraction
    kept: Fraction


def beside(study: Study, runs: Runs, name: str, resource: str) -> Mapping[int, tuple[NeighbourEffect, ...]]:
    """By seed, beside each neighbour but the first; without the seeds of which a run has no result."""
    result = {seed: _of_seed(study, runs, name, resource, seed) for seed in seeds(study)}
    return {seed: each for seed, each in result.items() if each}


def needed(each: Sequence[NeighbourEffect]) -> Fraction:
    """The share that the input uses. `each`: the neighbour that leaves most first."""
    lost = next((n for n, effect in enumerate(each) if effect.kept < KEPT), None)
    if lost is None:
        return Fraction(0)
    return each[lost - 1].left if lost else Fraction(1)


def limits(each: Sequence[NeighbourEffect]) -> Iterator[NeighbourEffect]:
    """The neighbours that leave less than is needed; `left` in parts of what is needed."""
    used = needed(each)
    return (NeighbourEffect(effect.left / used, effect.kept) for effect in each if effect.left < used)


def why_none_beside(study: Study, runs: Runs, name: str, resource: str) -> str:
    made = {
        n: runs.get(pressed_key(name, resource, neighbour, seed))
        for n, (neighbour, seed) in enumerate(product(study.antagonists[resource].takes, seeds(study)))
    }
    without = {n: run for n, run in made.items() if run is None or run.measured is None}
    return why_none(without) if without else "it completed nothing beside the one that takes least"


def _of_seed(study: Study, runs: Runs, name: str, resource: str, seed: int) -> tuple[NeighbourEffect, ...]:
    of = study.antagonists[resource]
    done = {n: runs.get(pressed_key(name, resource, take, seed)) for n, take in enumerate(of.takes)}
    scores = [run.parts[0].score for run in valid(done).values()]
    if len(scores) < len(done) or not scores[0]:
        return ()
    left = [1 - takes / of.whole for takes in of.takes.values()]
    kept = [score / scores[0] for score in scores]
    return tuple(map(NeighbourEffect, left[1:], kept[1:]))


@dataclass(frozen=True, slots=True)
class Vector:
    input: StudyInput
    score: Estimate | None
    """None if no run alone is valid."""
    use: Mapping[str, Estimate | None]
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why a resource has no figure; of `score`, why the input has none."""


def compute(study: Study, runs: Runs) -> tuple[Vector, ...]:
    known = rates(study, runs)
    return tuple(_vector(study_input, study, runs, known) for study_input in study.inputs)


def rates(study: Study, runs: Runs) -> Rates:
    names = dict.fromkeys((*CALIBRATED, *study.calibrate))
    return {name: _rate(study, runs, name) for name in names if name in study.resources}


def share(measured: MixMeasurement, resource: str, known: Rates) -> Fraction | None:
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
    rates = [measurement.rate(resource) for measurement in alone(study, runs, by).values()]
    fractions = [rate for rate in rates if rate is not None]
    return Fraction(median(fractions)) if fractions and median(fractions) > 0 else None


def _vector(study_input: StudyInput, study: Study, runs: Runs, known: Rates) -> Vector:
    measurements = alone(study, runs, study_input.name)
    if not measurements:
        made = {seed: runs.get(alone_key(study_input.name, seed)) for seed in seeds(study)}
        return Vector(study_input, None, dict.fromkeys(study.resources), {"score": why_none(made)})
    use: dict[str, Estimate | None] = {}
    missing: dict[str, str] = {}
    for resource in study.resources:
        shares = _shares(study, runs, study_input.name, resource, known)
        use[resource] = figure(shares) if shares else None
        if not shares:
            missing[resource] = _why(study, runs, study_input.name, resource, known)
    return Vector(study_input, figure([run.parts[0].score for run in measurements.values()]), use, missing)


def _shares(study: Study, runs: Runs, name: str, resource: str, known: Rates) -> list[Fraction]:
    """The shares by seed: as counted, else as measured beside antagonists. Empty if a count is missing and no
    run beside antagonists is valid."""
    fractions = [share(run, resource, known) for run in alone(study, runs, name).values()]
    kept = [part for part in fractions if part is not None]
    if len(kept) == len(fractions):
        return kept
    if resource not in study.antagonists:
        return []
    return [needed(each) for each in beside(study, runs, name, resource).values()]


def _why(study: Study, runs: Runs, name: str, resource: str, known: Rates) -> str:
    if resource in study.antagonists:
        return why_none_beside(study, runs, name, resource)
    run = next(iter(alone(study, runs, name).values()))
    if run.used(resource) is None:
        return run.missing.get(resource, "the guest does not report it")
    if resource in known and resource not in study.calibrate:
        entry = f"`calibrate: {{{resource}: ...}}`"
        return f"no input calibrates it: name one that does nothing else under {entry}"
    if resource in known:
        return f"{study.calibrate[resource]}, which calibrates it, has no valid run that uses it"
    unknown = "its capacity is not known"
    if resource == BANDWIDTH:
        unknown += ": on wall time name an input that does nothing else, under `calibrate`"
    return run.missing.get(resource, unknown)


@dataclass(frozen=True, slots=True)
class Amount:
    """What one part may use: of `cpu` and `bandwidth` millionths of all, of `memory` bytes, of `disk` and
    `network` bytes per second of guest time, of `cache` ways of the shared cache."""

    resource: str
    amount: int
    fraction: Fraction
    """The limit as a share of what the part used alone."""


def amount(limit: Limit, vector: Vector, alone: Sequence[MixMeasurement], ways: int | None) -> Amount | str:
    """`alone`: the valid runs of the vector's input; `ways`: of the machine's shared cache, None without a
    machine that has a memory system."""
    used = vector.use.get(limit.resource)
    if used is None or used.value <= 0:
        return f"{vector.input.name} has no figure for {limit.resource}"
    wanted = used.value * limit.percent / 100
    if limit.resource in PRESSED and ways is None:
        return f"nobody can take {limit.resource} away from one guest on wall time: name `antagonists`"
    if limit.resource == "cache":
        return _ways(limit, used.value, ways or 0)
    if limit.resource in ("cpu", "bandwidth"):
        return _whole(limit.resource, wanted * MILLIONTHS, used.value * MILLIONTHS)
    is_rate = limit.resource in ("disk", "network")
    each = [
        Fraction(run.used(limit.resource) or 0) * (Fraction(10**9, run.window_ns) if is_rate else 1)
        for run in alone
    ]
    whole = Fraction(median(each))
    return _whole(limit.resource, whole * limit.percent / 100, whole)


def _whole(resource: str, wanted: Fraction, used: Fraction) -> Amount | str:
    result = int(wanted)
    if result < 1:
        return f"it uses too little of {resource} to be limited"
    return Amount(resource, result, result / used)


def _ways(limit: Limit, used: Fraction, ways: int) -> Amount | str:
    """A cache can have whole ways only, so the limit is the nearest that there is below what was used."""
    if not ways:
        return "the machine has no shared cache"
    result = max(1, round(used * ways * limit.percent / 100))
    fraction = result / (used * ways)
    if fraction >= 1:
        return f"it uses {float(used * ways):.1f} of {ways} ways, and {limit.percent}% of them is no fewer"
    return Amount("cache", result, fraction)
