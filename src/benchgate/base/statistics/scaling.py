"""A scaling law fitted to the runs of several CPU counts: residuals, intervals, and whether it fits at all.

Takes a model and samples by CPU count, gives plain numbers. Too few CPU counts, and samples that are not
above zero, fail with ValueError. The resamples come from a fixed seed, so the result has the same bits on
every machine.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchgate.base.statistics.laws import Law, Model, Solver
from benchgate.base.statistics.stats import Interval, median, medians

DRAWS = 4000
"""The number of resamples of the runs for an interval."""
CHANCE = 0.05
"""Noise does not explain residuals that it exceeds in a smaller share of resamples than this."""
TOLERANCE = 0.005
"""Smaller residuals do not speak against a law, because no real times follow one exactly. They make the
intervals longer."""
PARAMETERS = ("sigma", "kappa", "droop")


@dataclass(frozen=True, slots=True)
class ScalingFit:
    model: Model
    law: Law
    counts: tuple[int, ...]
    medians: tuple[float, ...]
    residuals: tuple[float, ...]
    """Each value is the measured time divided by the fitted time, minus 1."""
    intervals: Mapping[str, Interval]
    """The intervals of `sigma`, `kappa` and `droop`."""
    middles: Mapping[str, Interval]
    """The range with the middle three fifths of the resamples, for the same names."""
    chance: float
    """The share of resamples in which noise alone has residuals of this size."""

    @property
    def is_shaped(self) -> bool:
        """Whether noise can explain that the times are not on the curve."""
        return self.chance >= CHANCE or max(map(abs, self.residuals)) <= TOLERANCE

    @property
    def worst(self) -> tuple[int, float]:
        """The CPU count that is farthest from the curve, and its residual."""
        pairs = zip(self.counts, self.residuals, strict=True)
        return max(pairs, key=lambda pair: abs(pair[1]))


@functools.lru_cache(maxsize=256)
def fitted(
    model: Model, arms: tuple[tuple[int, tuple[float, ...]], ...], alpha: float, off: tuple[float, ...] = ()
) -> ScalingFit:
    """Fits the model. `arms` has ascending CPU counts with the times of their runs. `off` is the share by
    which all times of an arm may be wrong because of its clock's resolution; it widens the intervals."""
    counts = tuple(count for count, _ in arms)
    if len(counts) < model.fewest:
        raise ValueError(f"{model} needs {model.fewest} CPU counts, not {len(counts)}")
    middles = tuple(median(samples) for _, samples in arms)
    if min(min(samples) for _, samples in arms) <= 0:
        raise ValueError("a time must be above zero")
    solver = Solver(model, counts, middles)
    law, rest = solver.fit(middles)
    curve = [law.time(count) for count in counts]
    residuals = tuple(seen / due - 1 for seen, due in zip(middles, curve, strict=True))
    laws, worse = [], 0
    for draw in _draws([samples for _, samples in arms], middles):
        laws.append(solver.fit([one * by for one, by in zip(middles, draw, strict=True)])[0])
        worse += solver.fit([one * by for one, by in zip(curve, draw, strict=True)])[1] >= rest
    chance = worse / len(laws)
    if chance < CHANCE and max(map(abs, residuals)) <= TOLERANCE:
        off = tuple(abs(one) + more for one, more in itertools.zip_longest(residuals, off, fillvalue=0.0))
    values = {name: sorted(float(getattr(one, name)) for one in laws) for name in PARAMETERS}
    intervals = {
        name: _interval(name, of, alpha, solver.shift(middles, off, name)) for name, of in values.items()
    }
    middle = {name: _interval(name, of, 0.2, 0.0) for name, of in values.items()}
    return ScalingFit(model, law, counts, middles, residuals, intervals, middle, chance)


def _interval(name: str, values: Sequence[float], beyond: float, shift: float) -> Interval:
    """The interval without this share of the values at each end, lengthened by `shift` at each end."""
    outside = int(beyond * len(values))
    most = math.inf if name == "kappa" else 1.0
    return Interval(max(values[outside] - shift, 0.0), min(values[-1 - outside] + shift, most))


def _draws(arms: Sequence[Sequence[float]], middles: Sequence[float]) -> list[list[float]]:
    """Each draw has the median of a resample of each arm, as a multiple of the arm's own median."""
    source = random.Random(1)  # noqa: S311 - resamples, not secrets
    columns = [_column(source, samples, middle) for samples, middle in zip(arms, middles, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def _column(source: random.Random, samples: Sequence[float], middle: float) -> list[float]:
    atoms = sorted(medians(samples))
    total, below, ends = len(samples) ** len(samples), 0, []
    for _, weight in atoms:
        below += weight
        ends.append(below / total)
    return [atoms[min(bisect_left(ends, source.random()), len(atoms) - 1)][0] / middle for _ in range(DRAWS)]
