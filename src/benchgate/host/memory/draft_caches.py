"""The caches of a drafted machine file, from what the host tells and what its curve shows. Pure.

Where both contradict each other the curve counts, and a remark says so. Nothing fails.
"""

from __future__ import annotations

import math

from benchgate.host.memory import curve
from benchgate.host.memory.curve import CapacityStep
from benchgate.host.memory.known import Basis, DraftCache, DraftFigure, Evidence, measured, size_text
from benchgate.host.memory.survey import SurveyResult
from benchgate.host.memory.told import CacheDescription

LINE, WAYS = 64, 8
"""Assumed where the host does not tell."""
MOST_WAYS = 128
"""A machine file allows at most so many ways; a host may call a cache fully associative."""
FIRST_LEVEL_SIZE = 32 << 10
OUTER_FACTOR = 16
"""An assumed cache is so much larger than the one inside it."""


def line(of: Evidence) -> DraftFigure:
    first = of.told.cache(1, "Data")
    if first and first.line:
        return DraftFigure(first.line, Basis.TOLD, "")
    return DraftFigure(LINE, Basis.ASSUMED, "the host does not tell; most processors have 64")


def caches(of: Evidence, line: int) -> tuple[DraftCache, ...]:
    data = [_data_cache(of, n, line) for n in range(max(2, len(of.steps)))][:3]
    if len(of.steps) > 3:
        of.say(f"the curve has {len(of.steps)} steps; a machine has at most three levels")
    return (data[0], _instructions(of, data[0], line), *data[1:])


def _data_cache(of: Evidence, number: int, line: int) -> DraftCache:
    ways = _ways(of.told.cache(number + 1, "Data"), line)
    size = _size(of, number, round(ways.value) * line)
    latency = _latency(of, number) if number else None
    return DraftCache(_name(number), size, ways, latency)


def _name(number: int) -> str:
    return ("l1d", "l2", "l3", "beyond")[min(number, 3)]


def _ways(told: CacheDescription | None, line: int) -> DraftFigure:
    if told is None or not told.ways:
        return DraftFigure(WAYS, Basis.ASSUMED, "the host does not tell")
    if told.ways <= MOST_WAYS and told.size % (told.ways * line) == 0:
        return DraftFigure(told.ways, Basis.TOLD, "")
    fitting = (one for one in range(min(told.ways, MOST_WAYS), 1, -1) if told.size % (one * line) == 0)
    why = f"the host tells {told.ways}, of which {size_text(told.size)} have no whole number of sets"
    return DraftFigure(next(fitting, 1), Basis.ASSUMED, why)


def _size(of: Evidence, number: int, whole: int) -> DraftFigure:
    told = of.told.cache(number + 1, "Data")
    if number >= len(of.steps):
        return _unseen_size(told, whole, number)
    step = of.steps[number]
    between = f"the curve's step is between {size_text(step.low)} and {size_text(step.high)}"
    inner = sum(one.size for n in range(number) if (one := of.told.cache(n + 1, "Data")))
    if told and curve.fitting(step, told.size, inner):
        return DraftFigure(told.size, Basis.TOLD, between)
    if told:
        shared = "; a virtual machine may be given a part of a cache only, or share it with others"
        of.say(
            f"{_name(number)}: the host tells {size_text(told.size)}, but {between}: the file has what the "
            "curve shows" + (shared if of.told.is_virtual else "")
        )
    return DraftFigure(_rounded(step, whole), Basis.MEASURED, between)


def _unseen_size(told: CacheDescription | None, whole: int, number: int) -> DraftFigure:
    if told:
        return DraftFigure(told.size, Basis.TOLD, "the curve shows no step there")
    size = FIRST_LEVEL_SIZE * OUTER_FACTOR**number
    return DraftFigure(
        size // whole * whole, Basis.ASSUMED, "the curve shows no step, and the host tells none"
    )


def _latency(of: Evidence, number: int) -> DraftFigure:
    if number < len(of.levels) and number <= len(of.steps):
        return measured(of.levels[number])
    if of.levels:
        last = of.levels[-1]
        return DraftFigure(last.ns, Basis.ASSUMED, "the curve has no such level: as its last one")
    return DraftFigure(_fastest(of.seen), Basis.ASSUMED, "the curve has no level: its lowest point")


def _instructions(of: Evidence, data: DraftCache, line: int) -> DraftCache:
    told = of.told.cache(1, "Instruction")
    if told and told.kind == "Instruction":
        return DraftCache(
            "l1i",
            DraftFigure(told.size, Basis.TOLD, "a chase of data cannot see it"),
            _ways(told, line),
            None,
        )
    why = "as l1d: the host does not tell, and a chase of data cannot see it"
    return DraftCache("l1i", DraftFigure(data.size.value, Basis.ASSUMED, why), data.ways, None)


def say_levels(of: Evidence) -> None:
    told = [one for one in of.told.caches if one.kind != "Instruction"]
    if not of.told.caches:
        of.say("the host tells nothing about its caches (/sys/devices/system/cpu/*/cache)")
    elif len(told) != len(of.steps):
        of.say(f"the host tells {len(told)} levels of data caches; the curve has {len(of.steps)} steps")


def _rounded(step: CapacityStep, whole: int) -> int:
    """The step's size in whole sets, and where the step allows it in eighths of a power of two: the curve
    shows no more digits."""
    unit = whole << max(0, math.floor(math.log2(step.size / 8 / whole)))
    found = round(step.size / unit) * unit
    return found if step.contains(found) else max(1, round(step.size / whole)) * whole


def _fastest(seen: SurveyResult) -> float:
    return min((one.ns for one in seen.points), default=1.0)
