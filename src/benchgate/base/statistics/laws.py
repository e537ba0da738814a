"""Amdahl's law and the universal scalability law (USL), and the one of either that is nearest to given times.

Takes CPU counts and times above zero, gives plain numbers. Times that no law can be fitted to fail with
ValueError.

Both laws are   time(n) = (a + b (n - 1) + c n (n - 1)) / n   with sigma = b / a, kappa = c / a, and kappa = 0
for Amdahl. That is linear in a, b and c, so the fit is a least-squares problem with bounds: 0 <= b <= a and
0 <= c. The residuals are relative to the measured times. The problem is convex, so the best fit is the best
of those on the faces of the bounds, and there are at most six faces. All sums are made in a fixed order, so
the result has the same bits on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


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
    one, b, *c = found
    return Law(one, b / one, sum(c) / one) if one > 0 and b <= one else None


def _parallel(found: Sequence[float]) -> Law | None:
    one, *c = found
    return Law(one, 0.0, sum(c) / one) if one > 0 else None


def _serial(found: Sequence[float]) -> Law | None:
    one, *c = found
    return Law(one, 1.0, sum(c) / one) if one > 0 else None


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
