"""A machine file from what a host tells and what was seen of it, with the reason for every figure.

Takes `HostDescription` and `SurveyResult`; gives a `Draft`: every key of the file with its basis, and
remarks. Pure; the caches and the times come from draft_figures.py, the CPUs are grouped here. A figure is
measured, told by the host, or assumed; the basis says which, and from what. Where the curve contradicts what
the host tells, the curve counts, and a remark says so. Nothing fails: a curve without levels gives a draft
whose figures are assumed.

`usable` drops the measurements that no machine file can hold, which a busy host showed instead of its memory:
`missing` gets the reason for each, and the rest is drafted as on a host where they could not be measured.
survey.py leaves out the points of curves, because it needs good ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from benchgate.base.system.machines import FASTEST_GB_S, LONGEST_NS, SLOWEST_GB_S
from benchgate.host.procfs import as_list
from contrib.calibration import curve, draft_figures, known
from contrib.calibration.host_description import HostDescription
from contrib.calibration.survey import HUGE, PassSpread, SurveyResult

Key = TypeVar("Key", str, tuple[int, int], tuple[int, ...])


@dataclass(frozen=True, slots=True)
class Draft:
    hosts: tuple[int, ...]
    """The host's CPU that stands for each CPU of the file."""
    line: known.DraftFigure
    caches: tuple[known.DraftCache, ...]
    """l1d, l1i, l2 and, if there is one, l3."""
    clusters: known.Groups
    clusters_why: str
    sockets: known.Groups
    sockets_why: str
    nodes: known.Groups
    nodes_why: str
    local: known.DraftFigure
    remote: known.DraftFigure | None
    bandwidth: known.DraftFigure | None
    transfers: dict[str, known.DraftFigure]
    """The cluster_ns, across_ns and socket_ns that the file needs, by key."""
    atomic: known.DraftFigure
    interrupt: known.DraftFigure
    remarks: tuple[str, ...]
    """What the host hides, contradicts, or cannot show."""


def draft(told: HostDescription, seen: SurveyResult) -> Draft:
    remarks = list(seen.missing)
    of = known.Evidence(told, seen, curve.levels(seen.points), curve.steps(seen.points), remarks.append)
    _say_kind(of)
    line = draft_figures.line(of)
    caches = draft_figures.caches(of, round(line.value))
    draft_figures.say_levels(of)
    cores = cores_of(of)
    clusters, clusters_why = clusters_of(of, cores)
    sockets = nested(of, told.sockets, clusters)
    nodes = nested(of, told.nodes, clusters)
    order = _order(sockets, nodes, clusters)
    local = draft_figures.local(of, caches)
    return Draft(
        hosts=order,
        line=line,
        caches=caches,
        clusters=known.renamed(clusters, order),
        clusters_why=clusters_why,
        sockets=known.renamed(sockets, order),
        sockets_why=sockets_why(of),
        nodes=known.renamed(nodes, order),
        nodes_why=nodes_why(of),
        local=local,
        remote=draft_figures.remote(of, local, len(nodes)),
        bandwidth=draft_figures.bandwidth(of),
        transfers=draft_figures.transfers(of, clusters, sockets, cores, caches),
        atomic=draft_figures.atomic(of),
        interrupt=draft_figures.interrupt(of),
        remarks=tuple(remarks),
    )


def _order(sockets: known.Groups, nodes: known.Groups, clusters: known.Groups) -> tuple[int, ...]:
    """The host's CPUs, neighbours together."""
    places = itertools.product(sockets, nodes, clusters)
    return tuple(cpu for socket, node, group in places for cpu in group if cpu in socket and cpu in node)


def _say_kind(of: known.Evidence) -> None:
    if of.seen.kind != HUGE:
        share = f"{100 * of.seen.huge_share:.0f}%"
        so = "so the latencies beyond l1d contain the misses of the TLB (pages of 4 KiB)"
        of.say(f"the host gave huge pages for {share} of the memory only, {so}")


# ---- CPUs


def cores_of(of: known.Evidence) -> known.Groups:
    """The CPUs by core: as the host tells, and those whose lines move at the speed of the first level."""
    cores = list(of.told.cores) or [(cpu,) for cpu in of.told.cpus]
    if len(of.levels) > 1:
        limit = math.sqrt(of.levels[0].ns * of.levels[1].ns)
        same = [pair for pair, spread in of.seen.transfers.items() if spread.low < limit]
        hidden = [pair for pair in same if known.group_of(cores, pair[0]) != known.group_of(cores, pair[1])]
        if hidden:
            so = "their lines move at the speed of the first level"
            of.say(f"CPUs {_pairs(hidden)} are hyperthreads of one core, which the host does not tell: {so}")
        cores = known.joined(cores, hidden)
    together = [core for core in cores if len(core) > 1]
    if together:
        so = "a machine has no hyperthreads, so their transfers are left out and each is a CPU of its own"
        of.say(f"CPUs {', '.join(map(as_list, together))} share a core; {so}")
    if of.told.is_virtual:
        of.say(
            "this is a virtual machine: sockets and cores are as its host shows them, its CPUs may "
            "change their cores meanwhile, and time that other machines take may be in every figure"
        )
    return tuple(cores)


def clusters_of(of: known.Evidence, cores: known.Groups) -> tuple[known.Groups, str]:
    told = of.told.l3_groups
    shares = of.seen.shares
    if not shares or len(of.levels) < 2:
        if told:
            return told, f"{known.Basis.TOLD}: they share an L3"
        alone = tuple((cpu,) for cpu in of.told.cpus)
        groups = of.told.sockets or (of.told.cpus,)
        if len(of.steps) < 3:
            return groups, f"{known.Basis.ASSUMED}: one for each socket; the curve shows no shared level"
        return alone if len(alone) == 1 else groups, f"{known.Basis.ASSUMED}: one for each socket"
    limit = math.sqrt(of.levels[-2].ns * of.levels[-1].ns)
    one_core = [pair for core in cores for pair in itertools.combinations(core, 2)]
    # Either is enough: other work evicts what was loaded, so a disturbance can only hide that they share.
    transfers = of.seen.transfers
    far = {pair for pair in shares if pair not in transfers or transfers[pair].low >= limit}
    near = [pair for pair, ns in shares.items() if ns < limit or pair not in far]
    clusters = tuple(known.joined([(cpu,) for cpu in of.told.cpus], [*near, *one_core]))
    seen = ", ".join(f"{one}-{two} {ns:.1f} ns" for (one, two), ns in list(shares.items())[:6])
    why = f"measured: what one CPU has loaded into the last cache costs the other {seen}"
    if moved := [pair for pair in near if shares[pair] >= limit]:
        why += f", but lines move between {_pairs(moved)} faster than from memory"
    if told and set(map(frozenset, told)) != set(map(frozenset, clusters)):
        of.say(
            f"the host tells that CPUs {' and '.join(map(as_list, told))} share the last cache, but what "
            f"one has loaded costs the other {seen}: the file has {_count(clusters)}"
        )
    return clusters, why


def nested(of: known.Evidence, groups: known.Groups, clusters: known.Groups) -> known.Groups:
    """The groups as told, or one; a cluster in two of them makes them one."""
    whole = groups or (of.told.cpus,)
    split = [cluster for cluster in clusters if len({known.group_of(whole, cpu) for cpu in cluster}) > 1]
    return tuple(known.joined(whole, [pair for one in split for pair in itertools.pairwise(one)]))


def sockets_why(of: known.Evidence) -> str:
    if of.told.sockets:
        return known.Basis.TOLD + (", which is virtual" if of.told.is_virtual else "")
    return f"{known.Basis.ASSUMED}: the host does not tell"


def nodes_why(of: known.Evidence) -> str:
    equal = "the shares of memory are assumed to be equal"
    untold = f"{known.Basis.ASSUMED}: the host does not tell"
    return f"{known.Basis.TOLD}; {equal}" if of.told.nodes else untold


def _pairs(pairs: Iterable[tuple[int, int]]) -> str:
    return ", ".join(f"{one} and {two}" for one, two in pairs)


def _count(groups: known.Groups) -> str:
    return "one cluster" if len(groups) == 1 else f"{len(groups)} clusters"


def usable(seen: SurveyResult) -> SurveyResult:
    missing = list(seen.missing)
    longest = float(LONGEST_NS)
    return replace(
        seen,
        # A cycle is only said; an atomic operation is longer by the instruction's own ns.
        single=_kept("of CPU 0, ns:", seen.single, 1, (0, longest + 1), missing),
        transfers=_kept("transfer, ns, CPUs", seen.transfers, 1, (0, longest), missing),
        handovers=_kept("handover, ns, CPUs", seen.handovers, 1, (0, longest), missing),
        # There and back, of which the file has one half.
        interrupts=_kept("interrupt_ns, CPUs", seen.interrupts, 2, (0, longest), missing),
        streams=_kept("bandwidth_gb_s, CPUs", seen.streams, 1e9, (SLOWEST_GB_S, FASTEST_GB_S), missing),
        remote=_kept("remote_ns, nodes", seen.remote, 1, (0, longest), missing),
        missing=tuple(missing),
    )


def _kept(
    what: str, spreads: Mapping[Key, PassSpread], unit: float, limits: tuple[float, float], missing: list[str]
) -> dict[Key, PassSpread]:
    """`unit`: so much of a measurement is one of the file's."""
    low, high = limits
    good = {}
    for key, one in spreads.items():
        if low <= one.value / unit <= high:
            good[key] = one
            continue
        place = key if isinstance(key, str) else as_list(key)
        takes = f"a machine file takes {low:,g} to {high:,g}"
        missing.append(f"{what} {place}: {one.value / unit:,.0f} was measured, which is not usable: {takes}")
    return good
