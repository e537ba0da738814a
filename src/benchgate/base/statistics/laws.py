"""Amdahl's law and the universal scalability law (USL): the one of either that is nearest to given times, and
how well it fits the runs of several CPU counts.

Takes CPU counts and times above zero, gives plain numbers. Times that no law can be fitted to, too few CPU
counts, and samples that are not above zero fail with ValueError.

Both laws are   time(n) = (a + b (n - 1) + c n (n - 1)) / n   with sigma = b / a, kappa = c / a, and kappa = 0
for Amdahl. That is linear in a, b and c, so the fit is a least-squares problem with bounds: 0 <= b <= a and
0 <= c. The residuals are relative to the measured times. The problem is convex, so the best fit is the best
of those on the faces of the bounds, and there are at most six faces. All sums are made in a fixed order, and
the resamples for the intervals come from a fixed seed, so the result has the same bits on every machine.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchgate.base.statistics.stats import Interval, median, medians

DRAWS = 4000
"""The number of resamples of the runs for an interval."""
CHANCE = 0.05
"""Noise does not explain residuals that it exceeds in a smaller share of resamples than this."""
TOLERANCE = 0.005
"""Smaller residuals do not speak against a law, because no real times follow one exactly. They make the
intervals longer."""
PARAMETERS = ("sigma", "kappa", "droop")


class Model(StrEnum):
    AMDAHL = "amdahl"
    USL = "usl"

    @property
    def fewest(self) -> int:
        """The fewest CPU counts with which the fit can be judged."""
        return 3 if self is Model.AMDAHL else 5


@dataclass(frozen=True, slots=True)
class Law:
    one: float
    """The time on one CPU."""
    sigma: float
    """The share of the work that is serial, or waits for others."""
    kappa: float
    """The cost of keeping each pair of CPUs coherent, as a share of the time on one CPU."""

    @classmethod
    def of(cls, model: Model, counts: Sequence[int], times: Sequence[float]) -> Law:
        """The law that is nearest to these times."""
        return Solver(model, counts, times).fit(times)[0]

    def speedup(self, cpus: float) -> float:
        return cpus / (1 + self.sigma * (cpus - 1) + self.kappa * cpus * (cpus - 1))

    def time(self, cpus: float) -> float:
        return self.one / self.speedup(cpus)

    @property
    def droop(self) -> float:
        """1 / peak**2: a finite number even if more CPUs always help."""
        return min(self.kappa / (1 - self.sigma), 1.0) if self.sigma < 1 else 1.0

    @property
    def peak(self) -> float:
        """The number of CPUs with the largest speedup; infinite if more CPUs always help."""
        return peak_of(self.droop)


def peak_of(droop: float) -> float:
    return 1 / math.sqrt(droop) if droop > 0 else math.inf


class Solver:
    """Fits times at these CPU counts; residuals are weighted by `middles`."""

    def __init__(self, model: Model, counts: Sequence[int], middles: Sequence[float]) -> None:
        self.middles = middles
        self.faces = []
        for with_c in (True, False) if model is Model.USL else (False,):
            for law, columns in _SIDES:
                every = [column for column in columns if with_c or column is not _c]
                design = [
                    [column(n) / middle for n, middle in zip(counts, middles, strict=True)]
                    for column in every
                ]
                self.faces.append((law, design, _pseudo_inverse(design)))

    def fit(self, times: Sequence[float]) -> tuple[Law, float]:
        """The law, and the sum of the squared residuals."""
        scaled = [time / middle for time, middle in zip(times, self.middles, strict=True)]
        best: tuple[Law, float] | None = None
        for place, (law, design, inverse) in enumerate(self.faces):
            found = [_dot(row, scaled) for row in inverse]
            if min(found) < 0 or (made := law(found)) is None:
                continue
            rest = 0.0
            for i, seen in enumerate(scaled):
                due = 0.0
                for by, column in zip(found, design, strict=True):
                    due += by * column[i]
                rest += (seen - due) ** 2
            if best is None or rest < best[1]:
                best = made, rest
            if place == 0:
                break  # inside all bounds: no face can be better
        if best is None:
            raise ValueError("no law fits these times")
        return best

    def shift(self, times: Sequence[float], off: Sequence[float], name: str) -> float:
        """The largest change of a parameter if each arm's times are wrong by `off`."""
        middle, total = getattr(self.fit(times)[0], name), 0.0
        for place, share in enumerate(off):
            changes = [0.0]
            for by in (1 + share, 1 - share):
                moved = [time * by if i == place else time for i, time in enumerate(times)]
                changes.append(abs(getattr(self.fit(moved)[0], name) - middle))
            total += max(changes)
        return total


def _a(n: int) -> float:
    return 1 / n


def _b(n: int) -> float:
    return (n - 1) / n


def _c(n: int) -> float:
    return float(n - 1)


def _both(_: int) -> float:
    """The design for a = b, which means that sigma is 1."""
    return 1.0


def _inside(found: Sequence[float]) -> Law | None:
    number, b, *c = found
    return Law(number, b / number, math.fsum(c) / number) if number > 0 and b <= number else None


def _parallel(found: Sequence[float]) -> Law | None:
    number, *c = found
    return Law(number, 0.0, math.fsum(c) / number) if number > 0 else None


def _serial(found: Sequence[float]) -> Law | None:
    number, *c = found
    return Law(number, 1.0, math.fsum(c) / number) if number > 0 else None


_SIDES = ((_inside, (_a, _b, _c)), (_parallel, (_a, _c)), (_serial, (_both, _c)))


def _dot(one: Sequence[float], two: Sequence[float]) -> float:
    total = 0.0
    for x, y in zip(one, two, strict=True):
        total += x * y
    return total


def _pseudo_inverse(columns: Sequence[Sequence[float]]) -> list[list[float]]:
    """The rows that give the coefficients of the best fit, by Gram and Schmidt."""
    basis: list[list[float]] = []
    rows: list[list[float]] = []
    factors: list[list[float]] = []
    for column in columns:
        rest = list(column)
        factor = []
        for unit in basis:
            by = _dot(unit, rest)
            factor.append(by)
            rest = [x - by * y for x, y in zip(rest, unit, strict=True)]
        length = math.sqrt(_dot(rest, rest))
        basis.append([x / length for x in rest])
        factors.append([*factor, length])
    for k in range(len(columns) - 1, -1, -1):
        row = list(basis[k])
        for j in range(k + 1, len(columns)):
            later = rows[len(columns) - 1 - j]
            row = [x - factors[j][k] * y for x, y in zip(row, later, strict=True)]
        rows.append([x / factors[k][k] for x in row])
    return rows[::-1]


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
        laws.append(solver.fit([number * by for number, by in zip(middles, draw, strict=True)])[0])
        worse += solver.fit([number * by for number, by in zip(curve, draw, strict=True)])[1] >= rest
    chance = worse / len(laws)
    if chance < CHANCE and max(map(abs, residuals)) <= TOLERANCE:
        off = tuple(
            abs(number) + more for number, more in itertools.zip_longest(residuals, off, fillvalue=0.0)
        )
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
