"""The figures of a drafted machine file: caches, and the times of memory, transfers, atomics and interrupts.
Pure.

Takes the evidence; gives each figure with how it is known. Where the curve contradicts what the host tells,
the curve counts, and a remark says so. Nothing fails: what was not seen is assumed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import median

from benchgate.base.text import counted
from benchgate.host.caches import CacheDescription
from benchgate.host.procfs import as_list
from contrib.calibration import curve
from contrib.calibration.curve import CapacityStep
from contrib.calibration.known import (
    Basis,
    DraftCache,
    DraftFigure,
    Evidence,
    Groups,
    distance,
    group_of,
    is_needed,
    measured,
    range_text,
    size_text,
)
from contrib.calibration.survey import PassSpread, SurveyResult

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
    fewer = range(min(told.ways, MOST_WAYS), 1, -1)
    fitting = (number for number in fewer if told.size % (number * line) == 0)
    why = f"the host tells {told.ways}, of which {size_text(told.size)} have no whole number of sets"
    return DraftFigure(next(fitting, 1), Basis.ASSUMED, why)


def _size(of: Evidence, number: int, whole: int) -> DraftFigure:
    told = of.told.cache(number + 1, "Data")
    if number >= len(of.steps):
        return _unseen_size(told, whole, number)
    step = of.steps[number]
    between = f"the curve's step is between {size_text(step.low)} and {size_text(step.high)}"
    inner = sum(description.size for n in range(number) if (description := of.told.cache(n + 1, "Data")))
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
    why = "the curve shows no step, and the host tells none"
    return DraftFigure(size // whole * whole, Basis.ASSUMED, why)


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
        size = DraftFigure(told.size, Basis.TOLD, "a chase of data cannot see it")
        return DraftCache("l1i", size, _ways(told, line), None)
    why = "as l1d: the host does not tell, and a chase of data cannot see it"
    return DraftCache("l1i", DraftFigure(data.size.value, Basis.ASSUMED, why), data.ways, None)


def say_levels(of: Evidence) -> None:
    told = [cache for cache in of.told.caches if cache.kind != "Instruction"]
    if not of.told.caches:
        of.say("the host tells nothing about its caches (/sys/devices/system/cpu/*/cache)")
    elif len(told) != len(of.steps):
        of.say(f"the host tells {len(told)} levels of data caches; the curve has {len(of.steps)} steps")


def _rounded(step: CapacityStep, whole: int) -> int:
    """The step's size in whole sets, and where the step allows it in eighths of a power of two: the curve
    shows no more digits."""
    unit = whole << max(0, math.floor(math.log2(step.size / 8 / whole)))
    result = round(step.size / unit) * unit
    return result if step.contains(result) else max(1, round(step.size / whole)) * whole


def _fastest(seen: SurveyResult) -> float:
    return min((point.ns for point in seen.points), default=1.0)


def local(of: Evidence, caches: Sequence[DraftCache]) -> DraftFigure:
    outer = caches[-1].latency
    floor = outer.value if outer else 1.0
    if len(of.levels) > len(caches) - 1:
        return measured(of.levels[-1])
    worst = max((point.ns for point in of.seen.points), default=floor)
    why = "the curve has no level beyond the last cache: its highest point"
    return DraftFigure(max(worst, floor), Basis.ASSUMED, why)


def remote(of: Evidence, local: DraftFigure, nodes: int) -> DraftFigure | None:
    if nodes < 2:
        of.say("memory of another node, transfers between sockets: unavailable: this host shows one node")
        return None
    if not of.seen.remote:
        return DraftFigure(local.value, Basis.ASSUMED, "as local_ns: it was not measured")
    values = [spread.value for spread in of.seen.remote.values()]
    value = max(median(values), local.value)
    why = f"{range_text(values)}, over {counted(len(values), 'pair')} of nodes"
    return DraftFigure(value, Basis.MEASURED, why)


def bandwidth(of: Evidence) -> DraftFigure | None:
    groups = [group for group in of.told.nodes or (of.told.cpus,) if group in of.seen.streams]
    if not groups:
        return None
    spread = of.seen.streams[groups[0]]
    why = (
        f"{spread.low / 1e9:.1f} to {spread.high / 1e9:.1f}, reading with {_cpus(groups[0])} together, the "
        "highest counts. The memory may feed more CPUs: a lower limit"
    )
    return DraftFigure(spread.high / 1e9, Basis.MEASURED, why)


def transfers(
    of: Evidence, clusters: Groups, sockets: Groups, cores: Groups, caches: Sequence[DraftCache]
) -> dict[str, DraftFigure]:
    by_key: dict[str, list[tuple[tuple[int, int], PassSpread]]] = {}
    for pair in itertools.combinations(of.told.cpus, 2):
        if group_of(cores, pair[0]) == group_of(cores, pair[1]) and len(cores) < len(of.told.cpus):
            continue
        key = distance(pair, clusters, sockets)
        by_key.setdefault(key, [])
        if pair in of.seen.transfers:
            by_key[key].append((pair, of.seen.transfers[pair]))
    if len(of.told.cpus) < 2:
        of.say("transfers of lines: unavailable: this process may use one CPU only")
    figures: dict[str, DraftFigure] = {}
    latencies = [float(cache.latency.ns) for cache in caches if cache.latency]
    floor = latencies[0]
    for key in ("cluster_ns", "across_ns", "socket_ns"):
        if key in by_key or is_needed(key, clusters, sockets):
            if key != "cluster_ns":  # another cluster is no nearer than the last cache
                floor = max(floor, latencies[-1])
            figures[key] = _transfer(of, key, by_key.get(key, []), floor)
            floor = max(floor, figures[key].value)
    return figures


def _transfer(
    of: Evidence, key: str, pairs: Sequence[tuple[tuple[int, int], PassSpread]], floor: float
) -> DraftFigure:
    if not pairs:
        return DraftFigure(floor, Basis.ASSUMED, "no pair of CPUs could be measured: the next nearer latency")
    values = [spread.value for _, spread in pairs]
    ends = [end for _, spread in pairs for end in (spread.low, spread.high)]
    handovers = [of.seen.handovers[pair].value for pair, _ in pairs if pair in of.seen.handovers]
    why = f"{range_text(ends)}, over {counted(len(pairs), 'pair')} of CPUs"
    if handovers:
        why += f"; a handover of one line takes {range_text(handovers)}"
    value = median(values)
    if value < floor:
        instead = f"less than from a nearer place, {floor:.1f} ns, which the file has in its place"
        of.say(f"transfer.{key}: {value:.1f} ns were measured, {instead}")
    return DraftFigure(max(value, floor), Basis.MEASURED, why)


def atomic(of: Evidence) -> DraftFigure:
    spread = of.seen.single.get("atomic")
    if spread is None:
        return DraftFigure(1, Basis.ASSUMED, "it was not measured")
    why = f"{spread.low:.2f} to {spread.high:.2f} ns in all; the instruction's own ns is not part of it"
    return DraftFigure(max(spread.value - 1, 0), Basis.MEASURED, why)


def interrupt(of: Evidence) -> DraftFigure:
    spreads = list(of.seen.interrupts.values())
    if not spreads:
        why = "no interrupt between CPUs could be measured" if len(of.told.cpus) > 1 else "there is one CPU"
        return DraftFigure(500, Basis.ASSUMED, why)
    both_ways = range_text([end for spread in spreads for end in (spread.low, spread.high)])
    why = f"measured: {both_ways} there and back with membarrier(); half of it is the receiver's"
    why += "; the hypervisor's part is in it" if of.told.is_virtual else ""
    return DraftFigure(median(spread.value for spread in spreads) / 2, Basis.ASSUMED, why)


def _cpus(cpus: Sequence[int]) -> str:
    return f"CPU {cpus[0]}" if len(cpus) == 1 else f"CPUs {as_list(cpus)}"
