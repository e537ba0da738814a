"""A machine file from what a host tells and what was seen of it, with the reason for every figure.

Takes `Told` and `Seen`; gives a `Draft`: every key of the file with its basis, and remarks. Pure. A figure is
measured, told by the host, or assumed; the basis says which, and from what. Where the curve contradicts what
the host tells, the curve counts, and a remark says so. Nothing fails: a curve without levels gives a draft
whose figures are assumed.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchgate.host.memory import curve, draft_caches, draft_cpus, draft_times
from benchgate.host.memory.cpu_groups import Groups, renamed
from benchgate.host.memory.known import DraftCache, Evidence, Known
from benchgate.host.memory.survey import HUGE, Seen
from benchgate.host.memory.told import Told


@dataclass(frozen=True, slots=True)
class Draft:
    hosts: tuple[int, ...]
    """The host's CPU that stands for each CPU of the file."""
    line: Known
    caches: tuple[DraftCache, ...]
    """l1d, l1i, l2 and, if there is one, l3."""
    clusters: Groups
    clusters_why: str
    sockets: Groups
    sockets_why: str
    nodes: Groups
    nodes_why: str
    local: Known
    remote: Known | None
    bandwidth: Known | None
    transfers: dict[str, Known]
    """The cluster_ns, across_ns and socket_ns that the file needs, by key."""
    atomic: Known
    interrupt: Known
    remarks: tuple[str, ...]
    """What the host hides, contradicts, or cannot show."""


def draft(told: Told, seen: Seen) -> Draft:
    remarks = list(seen.missing)
    of = Evidence(told, seen, curve.levels(seen.points), curve.steps(seen.points), remarks.append)
    _say_kind(of)
    line = draft_caches.line(of)
    caches = draft_caches.caches(of, round(line.value))
    draft_caches.say_levels(of)
    cores = draft_cpus.hyperthreads(of)
    clusters, clusters_why = draft_cpus.clusters(of, cores)
    sockets = draft_cpus.nested(of, told.sockets, clusters)
    nodes = draft_cpus.nested(of, told.nodes, clusters)
    order = _order(sockets, nodes, clusters)
    local = draft_times.local(of, caches)
    return Draft(
        hosts=order,
        line=line,
        caches=caches,
        clusters=renamed(clusters, order),
        clusters_why=clusters_why,
        sockets=renamed(sockets, order),
        sockets_why=draft_cpus.sockets_why(of),
        nodes=renamed(nodes, order),
        nodes_why=draft_cpus.nodes_why(of),
        local=local,
        remote=draft_times.remote(of, local, len(nodes)),
        bandwidth=draft_times.bandwidth(of),
        transfers=draft_times.transfers(of, clusters, sockets, cores, caches),
        atomic=draft_times.atomic(of),
        interrupt=draft_times.interrupt(of),
        remarks=tuple(remarks),
    )


def _order(sockets: Groups, nodes: Groups, clusters: Groups) -> tuple[int, ...]:
    """The host's CPUs, neighbours together."""
    return tuple(
        cpu
        for socket in sockets
        for node in nodes
        for group in clusters
        for cpu in group
        if cpu in socket and cpu in node
    )


def _say_kind(of: Evidence) -> None:
    if of.seen.kind != HUGE:
        share = f"{100 * of.seen.huge_share:.0f}%"
        of.say(
            f"the host gave huge pages for {share} of the memory only, so the latencies beyond l1d "
            "contain the misses of the TLB (pages of 4 KiB)"
        )
