"""The times of a drafted machine file: memory, transfers, atomics, interrupts. Pure.

Takes the evidence; gives each time with how it is known. Nothing fails: what was not seen is assumed.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from statistics import median

from benchgate.base.text import counted
from benchgate.host.memory.known import (
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
)
from benchgate.host.memory.survey import PassSpread
from benchgate.host.procfs import as_list


def local(of: Evidence, caches: Sequence[DraftCache]) -> DraftFigure:
    outer = caches[-1].latency
    floor = outer.value if outer else 1.0
    if len(of.levels) > len(caches) - 1:
        return measured(of.levels[-1])
    worst = max((one.ns for one in of.seen.points), default=floor)
    why = "the curve has no level beyond the last cache: its highest point"
    return DraftFigure(max(worst, floor), Basis.ASSUMED, why)


def remote(of: Evidence, local: DraftFigure, nodes: int) -> DraftFigure | None:
    if nodes < 2:
        of.say("memory of another node, transfers between sockets: unavailable: this host shows one node")
        return None
    if not of.seen.remote:
        return DraftFigure(local.value, Basis.ASSUMED, "as local_ns: it was not measured")
    values = [one.value for one in of.seen.remote.values()]
    value = max(median(values), local.value)
    return DraftFigure(
        value, Basis.MEASURED, f"{range_text(values)}, over {counted(len(values), 'pair')} of nodes"
    )


def bandwidth(of: Evidence) -> DraftFigure | None:
    groups = [group for group in of.told.nodes or (of.told.cpus,) if group in of.seen.streams]
    if not groups:
        return None
    found = of.seen.streams[groups[0]]
    why = (
        f"{found.low / 1e9:.1f} to {found.high / 1e9:.1f}, reading with {_cpus(groups[0])} together, "
        "the highest counts. The memory may feed more CPUs: a lower limit"
    )
    return DraftFigure(found.high / 1e9, Basis.MEASURED, why)


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
    found: dict[str, DraftFigure] = {}
    floor = float(next(one.latency.ns for one in caches if one.latency))
    for key in ("cluster_ns", "across_ns", "socket_ns"):
        if key in by_key or is_needed(key, clusters, sockets):
            if key != "cluster_ns":  # another cluster is no nearer than the last cache
                floor = max(floor, float(next(one.latency.ns for one in reversed(caches) if one.latency)))
            found[key] = _transfer(of, key, by_key.get(key, []), floor)
            floor = max(floor, found[key].value)
    return found


def _transfer(
    of: Evidence, key: str, pairs: Sequence[tuple[tuple[int, int], PassSpread]], floor: float
) -> DraftFigure:
    if not pairs:
        return DraftFigure(floor, Basis.ASSUMED, "no pair of CPUs could be measured: the next nearer latency")
    values = [found.value for _, found in pairs]
    ends = [end for _, found in pairs for end in (found.low, found.high)]
    handovers = [of.seen.handovers[pair].value for pair, _ in pairs if pair in of.seen.handovers]
    why = f"{range_text(ends)}, over {counted(len(pairs), 'pair')} of CPUs"
    if handovers:
        why += f"; a handover of one line takes {range_text(handovers)}"
    value = median(values)
    if value < floor:
        of.say(
            f"transfer.{key}: {value:.1f} ns were measured, less than from a nearer place, "
            f"{floor:.1f} ns, which the file has in its place"
        )
    return DraftFigure(max(value, floor), Basis.MEASURED, why)


def atomic(of: Evidence) -> DraftFigure:
    found = of.seen.single.get("atomic")
    if found is None:
        return DraftFigure(1, Basis.ASSUMED, "it was not measured")
    why = f"{found.low:.2f} to {found.high:.2f} ns in all; the instruction's own ns is not part of it"
    return DraftFigure(max(found.value - 1, 0), Basis.MEASURED, why)


def interrupt(of: Evidence) -> DraftFigure:
    found = list(of.seen.interrupts.values())
    if not found:
        why = "no interrupt between CPUs could be measured" if len(of.told.cpus) > 1 else "there is one CPU"
        return DraftFigure(500, Basis.ASSUMED, why)
    values = [one.value for one in found]
    why = (
        f"measured: {range_text([end for one in found for end in (one.low, one.high)])} there and back with "
        "membarrier(); half of it is the receiver's"
    )
    why += "; the hypervisor's part is in it" if of.told.is_virtual else ""
    return DraftFigure(median(values) / 2, Basis.ASSUMED, why)


def _cpus(cpus: Sequence[int]) -> str:
    return f"CPU {cpus[0]}" if len(cpus) == 1 else f"CPUs {as_list(cpus)}"
