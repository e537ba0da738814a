"""What a limit in percent is in units, from what the input used alone. Pure.

Takes a Vector with its share and the machine's facts; gives an Amount, or the reason why there is no such
limit. Does not fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from benchgate.mix.measurement import MixMeasurement
from benchgate.mix.study import PRESSED
from benchgate.mix.study_orders import Limit
from benchgate.mix.vectors import Vector

MILLIONTHS = 1_000_000


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
    each = [Fraction(one.used(limit.resource) or 0) for one in alone]
    if limit.resource in ("disk", "network"):
        each = [bytes_ * 10**9 / one.window_ns for bytes_, one in zip(each, alone, strict=True)]
    whole = Fraction(median(each))
    return _whole(limit.resource, whole * limit.percent / 100, whole)


def _whole(resource: str, wanted: Fraction, used: Fraction) -> Amount | str:
    found = int(wanted)
    if found < 1:
        return f"it uses too little of {resource} to be limited"
    return Amount(resource, found, found / used)


def _ways(limit: Limit, used: Fraction, ways: int) -> Amount | str:
    """A cache can have whole ways only, so the limit is the nearest that there is below what was used."""
    if not ways:
        return "the machine has no shared cache"
    found = max(1, round(used * ways * limit.percent / 100))
    fraction = found / (used * ways)
    if fraction >= 1:
        return f"it uses {float(used * ways):.1f} of {ways} ways, and {limit.percent}% of them is no fewer"
    return Amount("cache", found, fraction)
