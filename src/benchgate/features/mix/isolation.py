"""How much each part of a mix loses beside the others, what the mix uses, and whether that is well enough.
Pure.

Takes a Study, its runs and vectors, and a mix; gives the slowdown of each part, their worst and their sum,
and the use of each resource against the sum of what the parts use alone. A mix without a valid run has a
reason instead. Does not fail.

    slowdown of a part = (alone - mixed) / alone      of the medians of its scores over seeds
    isolation of a mix = 1 - the worst slowdown       sums alone would hide who loses
    sum                = (sum alone - sum mixed) / sum alone     the paper's figure, of raw scores

Its interval is the exact bootstrap of the ratio of both medians (base/statistics/stats.py). The floor is what
two sets of such runs of the same thing differ by: the larger of that of the part alone and in the mix.

`validity` is the paper's test of its own method: whether near-optimal mixes say the same of a system. The
paper asks for a small variance and does not say how small. Here the standard deviation of the isolation over
the mixes is compared with BOUND, or with the A/A noise floor of the mixes if that is higher, because no
spread below the noise can be seen. A floor above BOUND decides nothing.

`at_least` and `not_worse` are the rule behind the mark `isolation`. They take the isolation of a mix, and a
threshold or the isolation of the same mix on another system; they give a word and a sentence.

    effect    isolation - threshold; or the difference of both systems
    PASS      the whole interval of the effect is at or above 0
    FAIL      the whole interval is below 0
    else      INCONCLUSIVE; also if the A/A noise floor is higher than the effect
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from benchgate.base.gates import Word
from benchgate.base.statistics.stats import Interval, ratio_interval
from benchgate.base.text import percent
from benchgate.features.mix.measurement import (
    ALPHA,
    MixMeasurement,
    Runs,
    alone,
    floor,
    highest,
    valid,
    why_none,
)
from benchgate.features.mix.solver import weighted
from benchgate.features.mix.study import DUMMY, Study
from benchgate.features.mix.study_orders import Counts, input_of, mix_key, mix_name, seeds
from benchgate.features.mix.vectors import Rates, Vector, rates, share

BOUND = 0.05
"""Of isolation, as a share: five points."""


@dataclass(frozen=True, slots=True)
class Slowdown:
    part: str
    alone: tuple[Fraction, ...]
    mixed: tuple[Fraction, ...]
    """Scores, a seed each."""
    value: float
    low: float
    high: float
    floor: float | None
    """None: a single seed tells nothing of the noise."""


@dataclass(frozen=True, slots=True)
class ResourceUse:
    resource: str
    alone: float
    """The sum of what the parts use alone."""
    mixed: float


@dataclass(frozen=True, slots=True)
class MixIsolation:
    mix: str
    parts: tuple[Slowdown, ...]
    total: float
    """The paper's: the loss of the sum of scores."""
    use: tuple[ResourceUse, ...]
    missing: str = ""
    """Why there are no figures."""

    @property
    def worst(self) -> Slowdown:
        return max(self.parts, key=lambda one: one.value)

    @property
    def value(self) -> float:
        return 1 - self.worst.value

    @property
    def interval(self) -> Interval:
        """The interval of the least isolated part, whichever it is."""
        return Interval(min(1 - part.high for part in self.parts), min(1 - part.low for part in self.parts))

    @property
    def floor(self) -> float | None:
        return highest([part.floor for part in self.parts])


def compute(study: Study, runs: Runs, vectors: Sequence[Vector], counts: Counts) -> MixIsolation:
    made = {seed: runs.get(mix_key(counts, seed)) for seed in seeds(study)}
    measurements, name = valid(made), mix_name(counts)
    if not measurements:
        return MixIsolation(name, (), 0.0, (), why_none(made))
    scores = _scores(measurements.values())
    lone = {
        count: tuple(run.parts[0].score for run in alone(study, runs, count).values()) for count in counts
    }
    lost = [value for value, values in lone.items() if not values or min(values) <= 0]
    if lost:
        return MixIsolation(name, (), 0.0, (), f"{lost[0]} has no valid run alone to compare with")
    parts = tuple(slowdown(part, lone[input_of(part)], mixed) for part, mixed in scores.items())
    return MixIsolation(
        name,
        parts,
        _total(parts),
        _use(study, tuple(measurements.values()), rates(study, runs), vectors, counts),
    )


def slowdown(part: str, lone: Sequence[Fraction], mixed: Sequence[Fraction]) -> Slowdown:
    """`lone` is above 0. A part that completed nothing has lost everything, in which there is no noise."""
    kept = Fraction(median(mixed)) / Fraction(median(lone))
    if min(mixed) <= 0:
        between = Interval(float(min(mixed) / max(lone)), float(max(mixed) / min(lone)))
    else:
        between = ratio_interval([float(one) for one in mixed], [float(fraction) for fraction in lone], ALPHA)
    return Slowdown(
        part=part,
        alone=tuple(lone),
        mixed=tuple(mixed),
        value=float(1 - kept),
        low=1 - between.high,
        high=1 - between.low,
        floor=highest([floor(lone), floor(mixed) if min(mixed) > 0 else 0.0]),
    )


def _scores(measurements: Iterable[MixMeasurement]) -> Mapping[str, list[Fraction]]:
    scores: dict[str, list[Fraction]] = {}
    for run in measurements:
        for part in run.parts:
            if part.input != DUMMY:
                scores.setdefault(part.name, []).append(part.score)
    return scores


def _total(parts: Sequence[Slowdown]) -> float:
    lone = sum((Fraction(median(part.alone)) for part in parts), Fraction(0))
    mixed = sum((Fraction(median(part.mixed)) for part in parts), Fraction(0))
    return float((lone - mixed) / lone)


def _use(
    study: Study,
    measurements: Sequence[MixMeasurement],
    known: Rates,
    vectors: Sequence[Vector],
    counts: Counts,
) -> tuple[ResourceUse, ...]:
    by_name = {vector.input.name: vector.use for vector in vectors}
    uses = []
    for resource in study.resources:
        figures = [by_name[name].get(resource) for name in counts]
        lone = [estimate.value for estimate in figures if estimate is not None]
        shares = [share(run, resource, known) for run in measurements]
        together = [part for part in shares if part is not None]
        if len(lone) == len(figures) and len(together) == len(shares):
            summed = weighted(counts.values(), lone)
            uses.append(ResourceUse(resource, float(summed), float(median(together))))
    return tuple(uses)


@dataclass(frozen=True, slots=True)
class Validity:
    outcome: Word
    reason: str
    values: tuple[tuple[str, float], ...]
    """The isolation of each mix."""
    deviation: float | None = None
    floor: float | None = None


def validity(mixes: Sequence[MixIsolation]) -> Validity:
    measured = [mix for mix in mixes if not mix.missing]
    values = tuple((isolation.mix, isolation.value) for isolation in measured)
    if len(measured) < 2:
        return Validity(Word.SKIP, f"{len(measured)} near-optimal mixes were measured; it takes 2", values)
    deviation = statistics.stdev(value for _, value in values)
    floors = [isolation.floor for isolation in measured]
    spread = f"has a standard deviation of {percent(deviation)}"
    told = f"the isolation of {len(values)} near-optimal mixes {spread}"
    if None in floors:
        text = f"{told}; a single seed gives no noise floor: raise `seeds`"
        return Validity(Word.INCONCLUSIVE, text, values, deviation)
    floor = max(number for number in floors if number is not None)
    if deviation > max(BOUND, floor):
        outcome, so = Word.FAIL, "so it matters which of them is run"
    elif floor > BOUND:
        outcome, so = Word.INCONCLUSIVE, "so more than that cannot be seen: raise `seeds` or `least`"
    else:
        outcome, so = Word.PASS, "so it does not matter which of them is run"
    text = f"{told}; bound {percent(BOUND)}, A/A noise floor {percent(floor)}: {so}"
    return Validity(outcome, text, values, deviation, floor)


@dataclass(frozen=True, slots=True)
class IsolationVerdict:
    outcome: Word
    reason: str


def _said(outcome: Word, text: str) -> IsolationVerdict:
    return IsolationVerdict(outcome, f"{outcome}: {text}")


def at_least(isolation: MixIsolation, threshold: float) -> IsolationVerdict:
    if isolation.missing:
        return _said(Word.INVALID, f"isolation of {isolation.mix}: {isolation.missing}")
    told = f"{_told(isolation)}; required >= {threshold:g}"
    low, high = isolation.interval.low - threshold, isolation.interval.high - threshold
    return _ruled(Interval(low, high), isolation.value - threshold, isolation.floor, told)


def not_worse(mix_isolation: MixIsolation, other: MixIsolation, name: str) -> IsolationVerdict:
    """Than the other system, `name`, in the same session."""
    for isolation, where in ((mix_isolation, "this system"), (other, name)):
        if isolation.missing:
            return _said(Word.INVALID, f"isolation of {isolation.mix} on {where}: {isolation.missing}")
    told = f"{_told(mix_isolation)}; {name} has {other.value:.3f}, and no less is required"
    low = mix_isolation.interval.low - other.interval.high
    high = mix_isolation.interval.high - other.interval.low
    floor = highest([mix_isolation.floor, other.floor])
    return _ruled(Interval(low, high), mix_isolation.value - other.value, floor, told)


def _told(isolation: MixIsolation) -> str:
    interval = f"[{isolation.interval.low:.3f}, {isolation.interval.high:.3f}]"
    return f"isolation of {isolation.mix} is {isolation.value:.3f} {interval}, by {isolation.worst.part}"


def _ruled(effect: Interval, value: float, floor: float | None, told: str) -> IsolationVerdict:
    if floor is None:
        return _said(Word.INCONCLUSIVE, f"{told}; a single seed gives no noise floor; next: raise `seeds`")
    if floor > abs(value):
        noise = f"the A/A noise floor of {percent(floor)} is higher than the effect of {percent(abs(value))}"
        return _said(Word.INCONCLUSIVE, f"{told}; {noise}; next: raise `seeds` or `least`")
    if effect.low >= 0:
        return _said(Word.PASS, told)
    if effect.high < 0:
        return _said(Word.FAIL, f"{told}; next: the study's report shows the slowdown of each part")
    return _said(Word.INCONCLUSIVE, f"{told}; the interval has both; next: raise `seeds` or `least`")
