"""Reads a machine's YAML file.

Takes a path, or text and the path to name in messages; gives a Machine, a BareMachine (`memory: none` with
`cores`), or None for the ideal machine (`memory: none`). Fails with CatalogError, which names file, line and
key of every problem: an unknown, missing or duplicate key, a wrong type, values that contradict each other.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import re
from pathlib import Path

from benchgate.base.system.guest_topology import FARTHEST, NEAR
from benchgate.base.system.machines import (
    FULL_CAPACITY,
    IDEAL,
    SLOWEST_GB_S,
    AnyMachine,
    BareMachine,
    Cache,
    Machine,
    Node,
    Tlb,
)
from benchgate.base.system.systems import MAX_CPUS
from benchgate.base.yaml import yamlfile
from benchgate.base.yaml.yaml_nodes import text_of
from benchgate.base.yaml.yamlfile import Section
from benchgate.host.procfs import cpu_list
from benchgate.plan.machine_keys import HIT_NS, MACHINE, NO_MEMORY, ORDERS

LARGEST_CACHE = 1 << 32
MOST_SETS = 1 << 22
MOST_NODES = 16
_SIZE = re.compile(r"([0-9]{1,9})([KM]?)\Z")
_ROW = re.compile(r"[0-9]{1,3}( [0-9]{1,3})*\Z")
_RESERVED = re.compile(rf"{IDEAL}|insn|wall|smp[0-9]+")
"""Names that other parts of a cell's name use."""
_SHIFT = {"": 0, "K": 10, "M": 20}
Groups = tuple[tuple[int, ...], ...]


def load(path: Path) -> AnyMachine | None:
    return read(text_of(path), path)


def read(text: str, path: Path) -> AnyMachine | None:
    with yamlfile.collecting(yamlfile.parse(text, path, MACHINE)) as top:
        name, source = top.text("name"), top.text("source")
        if not top.is_text("memory"):
            return _read(top, name, source, text)
        if top.text("memory") != NO_MEMORY:
            top.refuse(
                f"expected a mapping, or `{NO_MEMORY}` for a machine without a memory system", "memory"
            )
        return _bare(top, name, source, text) if top.has("cores") else None


def _bare(top: Section, name: str, source: str, text: str) -> BareMachine:
    _check_name(top, name)
    capacities = _capacities(top)
    digest = hashlib.sha256(json.dumps({"capacities": capacities}).encode()).hexdigest()
    return BareMachine(name, source, capacities, file=top.path, text=text, digest=digest)


def _capacities(top: Section, stated: int | None = None) -> tuple[int, ...]:
    """Reads the capacity of each CPU, of which there are as many as `stated`, or as are named."""
    groups: list[tuple[int, ...]] = []
    found = {0: FULL_CAPACITY}
    for section in top.sections("cores"):
        groups.append(_cpus(section, "cpus", section.text("cpus")))
        found |= dict.fromkeys(groups[-1], section.integer("capacity"))
        if section.refused("cpus") or section.refused("capacity"):
            top.problems.guessed.append("cores.")
        section.close()
    if "cores." in top.problems.guessed:
        return (FULL_CAPACITY,)
    cpus = stated or max(found) + 1
    if cpus > MAX_CPUS:
        top.refuse(f"CPU {cpus - 1} is named; at most {MAX_CPUS} CPUs are supported", "cores")
    _check_partition(top, "cores", tuple(groups), cpus, successive=False)
    if found[0] != FULL_CAPACITY:
        why = f"CPU 0 has capacity {found[0]}, not {FULL_CAPACITY}: it is the base of speedups"
        top.refuse(f"{why}, so it must be one of the fastest", "cores")
    return tuple(found.get(cpu, FULL_CAPACITY) for cpu in range(cpus))


def _check_name(top: Section, name: str) -> None:
    if _RESERVED.fullmatch(name):
        top.refuse(f"`{name}` has another meaning in the name of a cell", "name")


def _read(top: Section, name: str, source: str, text: str) -> Machine:
    _check_name(top, name)
    cpus = top.integer("cpus")
    line = _power_of_two(top, "line")
    l1d, l1i, l2, l3 = _caches(top, line)
    sockets, clusters = _groups(top, "sockets", cpus), _groups(top, "clusters", cpus)
    nodes = _nodes(top, cpus)
    _check_nesting(top, clusters, sockets, tuple(node.cpus for node in nodes))
    last = (l3 or l2).latency_ns
    local, remote, bandwidth = _memory(top, last, len(nodes))
    cluster, across, socket = _transfers(top, l2.latency_ns, last, clusters, sockets)
    machine = Machine(
        name=name,
        source=source,
        cpus=cpus,
        line=line,
        l1d=l1d,
        l1i=l1i,
        l2=l2,
        l3=l3,
        clusters=clusters,
        sockets=sockets,
        nodes=nodes,
        memory_local_ns=local,
        memory_remote_ns=remote,
        transfer_cluster_ns=cluster,
        transfer_across_ns=across,
        transfer_socket_ns=socket,
        atomic_ns=top.integer("atomic_ns"),
        interrupt_ns=top.integer("interrupt_ns"),
        bandwidth_gb_s=bandwidth,
        tlb=_tlb(top),
        distances=_distances(top, len(nodes)),
        strict=top.choice("order") == ORDERS[1],
        capacities=_capacities(top, cpus) if top.has("cores") else (),
        file=top.path,
        text=text,
        digest="",
    )
    return dataclasses.replace(machine, digest=_digest(machine))


def _digest(machine: Machine) -> str:
    """The digest of what the file means. Another comment or name makes no other machine."""
    fields = dataclasses.asdict(machine)
    of_file = ("name", "source", "file", "text", "digest")
    meaning = {key: value for key, value in fields.items() if key not in of_file}
    for key in ("distances", "capacities"):
        if not meaning[key]:
            del meaning[key]  # machines from before this key keep their digests
    return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()


def _power_of_two(section: Section, key: str) -> int:
    value = section.integer(key)
    if value & (value - 1):
        section.refuse(f"is {value}, not a power of two", key)
    return value


# ---- caches


def _caches(top: Section, line: int) -> tuple[Cache, Cache, Cache, Cache | None]:
    l1d, l1i = (_cache(top, key, line, HIT_NS, HIT_NS) for key in ("l1d", "l1i"))
    l2 = _cache(top, "l2", line, HIT_NS)
    inner = max(l1d.size, l1i.size)
    if l2.size < inner and not any(map(top.refused, ("l1d", "l1i", "l2"))):
        top.refuse(f"its size is {l2.size}, less than the {inner} of a level that it includes", "l2")
    l3 = _cache(top, "l3", line, l2.latency_ns) if top.has("l3") else None
    return l1d, l1i, l2, l3


def _cache(top: Section, level: str, line: int, inner_ns: int, usual_ns: int | None = None) -> Cache:
    """Reads a cache. `inner_ns` is the latency of the level inside it, `usual_ns` its only valid latency."""
    section = top.section(level)
    if section is None:
        top.refuse("is missing; expected {size: 32K, ways: 8, ...}", level)
        return Cache(line, 1, inner_ns)
    size, ways = _size(section), section.integer("ways")
    latency = section.integer("latency_ns")
    if usual_ns is not None and latency != usual_ns:
        why = f"is {latency}; a hit in the first level costs its instruction's own {usual_ns} ns, and no more"
        section.refuse(why, "latency_ns")
    elif latency < inner_ns:
        section.refuse(f"is {latency}, less than the {inner_ns} of the level inside it", "latency_ns")
    is_known = not any(map(section.refused, ("size", "ways"))) and not top.refused("line")
    if section.has("sets") and is_known:
        _check_sets(section, size, ways, line)
    elif is_known and size % (ways * line):
        section.refuse(f"is {size}, not a whole number of sets of {ways} ways of {line} bytes", "size")
    elif is_known and size // (ways * line) > MOST_SETS:
        section.refuse(
            f"is {size // (ways * line)} sets of {ways} ways; at most {MOST_SETS} are supported", "size"
        )
    section.close()
    return Cache(size, ways, latency)


def _size(section: Section) -> int:
    word = section.text("size")
    match = _SIZE.match(word)
    size = int(match[1]) << _SHIFT[match[2]] if match else 0
    if not 0 < size <= LARGEST_CACHE:
        section.refuse(f"is `{word}`, not a size such as 32K or 16M", "size")
    return size


def _check_sets(section: Section, size: int, ways: int, line: int) -> None:
    stated = section.integer("sets")
    if stated * ways * line != size:
        product = f"{stated} sets of {ways} ways of {line} bytes are {stated * ways * line} bytes"
        section.refuse(f"contradicts `size`: {product}, not {size}", "sets")


# ---- which CPUs belong together


def _groups(top: Section, key: str, cpus: int) -> Groups:
    """A list of CPU lists, which contains each CPU once."""
    words = top.texts(key)
    if not words:
        top.refuse('is missing; expected CPU lists such as ["0-3", "4-7"]', key)
        return (tuple(range(cpus)),)
    groups = tuple(_cpus(top, key, word) for word in words)
    _check_partition(top, key, groups, cpus)
    return groups


def _cpus(section: Section, key: str, word: str) -> tuple[int, ...]:
    try:
        result = cpu_list(word)
    except ValueError as wrong:
        section.refuse(str(wrong), key)
        return ()
    if not result:
        section.refuse("a list of no CPU", key)
    return result


def _check_partition(
    section: Section, key: str, groups: Groups, cpus: int, *, successive: bool = True
) -> None:
    """Requires each CPU once; if `successive`, in ascending order: QEMU numbers the CPUs of a socket so."""
    if section.refused(key) or section.refused("cpus"):
        return
    listed = [cpu for group in groups for cpu in group]
    missing = sorted(set(range(cpus)) - set(listed))
    strangers = sorted(set(listed) - set(range(cpus)))
    twice = sorted({cpu for cpu in listed if listed.count(cpu) > 1})
    if missing:
        section.refuse(f"CPU {missing[0]} is in none of them", key)
    elif strangers:
        section.refuse(f"CPU {strangers[0]} is named, but there are {cpus} CPUs, from 0", key)
    elif twice:
        section.refuse(f"CPU {twice[0]} is in two of them", key)
    elif successive and listed != sorted(listed):
        section.refuse(
            "the CPUs of each must be successive, and in ascending order: QEMU numbers them so", key
        )


def _nodes(top: Section, cpus: int) -> tuple[Node, ...]:
    sections = top.sections("nodes")
    if not sections:
        top.refuse('is missing; expected `- {cpus: "0-7", memory: 100}`', "nodes")
        return (Node(tuple(range(cpus)), 100),)
    if len(sections) > MOST_NODES:
        top.refuse(f"{len(sections)} nodes; at most {MOST_NODES} are supported", "nodes")
    nodes = []
    for section in sections:
        group = _cpus(section, "cpus", section.text("cpus"))
        nodes.append(Node(group, section.integer("memory")))
        if section.refused("cpus") or section.refused("memory"):
            top.problems.guessed.append("nodes.")
        section.close()
    _check_partition(top, "nodes", tuple(node.cpus for node in nodes), cpus)
    shares = sum(node.share for node in nodes)
    if shares != 100 and not any(section.refused("memory") for section in sections):
        top.refuse(f"the shares of memory add up to {shares}, not to 100 percent", "nodes")
    return tuple(nodes)


def _check_nesting(top: Section, clusters: Groups, sockets: Groups, nodes: Groups) -> None:
    if any(map(top.refused, ("clusters", "sockets", "nodes"))):
        return
    for cluster in clusters:
        for what, groups in (("sockets", sockets), ("nodes", nodes)):
            if sum(bool(set(cluster) & set(group)) for group in groups) > 1:
                share = f"CPUs {cluster[0]} to {cluster[-1]} share a cluster"
                top.refuse(f"{share}, but are in two {what}", "clusters")


def _distances(top: Section, nodes: int) -> tuple[tuple[int, ...], ...]:
    """The rows of a matrix that is the same from both sides. QEMU and ACPI know no other than 10 for a node
    itself, and more for all others."""
    rows = top.texts("distances") if top.has("distances") else ()
    if not rows or top.refused("distances") or top.refused("nodes"):
        return ()
    sizes = {len(rows), *(len(row.split()) for row in rows)}
    if not all(map(_ROW.match, rows)) or sizes != {nodes}:
        top.refuse(f"expected {nodes} rows of {nodes} whole numbers, one for each node", "distances")
        return ()
    matrix = tuple(tuple(map(int, row.split())) for row in rows)
    for here, there in itertools.product(range(nodes), repeat=2):
        value, back = matrix[here][there], matrix[there][here]
        if here == there and value != NEAR:
            top.refuse(f"node {here} is {value} from itself, not {NEAR}", "distances")
        elif here < there and not NEAR < value <= FARTHEST:
            top.refuse(f"node {there} is {value} from node {here}, not {NEAR + 1} to {FARTHEST}", "distances")
        elif here < there and value != back:
            top.refuse(f"nodes {here} and {there} are {value} apart, and {back} the other way", "distances")
    return matrix


# ---- memory and transfers


def _memory(top: Section, last_ns: int, nodes: int) -> tuple[int, int, float]:
    """Reads the latency of a node's own memory, that of another's, and each node's bandwidth."""
    section = top.section("memory")
    if section is None:
        top.refuse("is missing; expected {local_ns: 80, ...}", "memory")
        return last_ns, last_ns, 0.0
    local = section.integer("local_ns")
    if local < last_ns:
        section.refuse(f"is {local}, less than the {last_ns} of the last cache", "local_ns")
    remote = section.integer("remote_ns", local if nodes == 1 else None)
    if remote < local and not any(map(section.refused, ("local_ns", "remote_ns"))):
        section.refuse(f"is {remote}, less than `local_ns`: {local}", "remote_ns")
    bandwidth = section.number("bandwidth_gb_s")
    if 0 < bandwidth < SLOWEST_GB_S:
        section.refuse(f"is {bandwidth:g}, not 0 (no limit) or at least {SLOWEST_GB_S:g}", "bandwidth_gb_s")
    section.close()
    return local, remote, bandwidth


def _transfers(
    top: Section, inner_ns: int, last_ns: int, clusters: Groups, sockets: Groups
) -> tuple[int, int, int]:
    """The times to get a line from another CPU. Where no pair of CPUs is that far apart, a time may be left
    out. `last_ns` is the latency of the last cache; another cluster is no nearer."""
    pairs = any(len(group) > 1 for group in clusters)
    several = any(
        len([cluster for cluster in clusters if set(cluster) <= set(socket)]) > 1 for socket in sockets
    )
    needed = {"cluster_ns": pairs, "across_ns": several, "socket_ns": len(sockets) > 1}
    if top.refused("clusters") or top.refused("sockets"):
        needed = dict.fromkeys(needed, False)  # the pairs are not known
    section = top.section("transfer")
    if section is None:
        if any(needed.values()):
            top.refuse("is missing; expected {cluster_ns: 30, ...}", "transfer")
        return inner_ns, inner_ns, inner_ns
    times = [inner_ns]
    for key, is_needed in needed.items():
        least = times[-1] if key == "cluster_ns" else max(times[-1], last_ns)
        times.append(section.integer(key, None if is_needed else least))
        if times[-1] < least:
            section.refuse(f"is {times[-1]}, less than the {least} from a nearer CPU or cache", key)
    section.close()
    return times[1], times[2], times[3]


def _tlb(top: Section) -> Tlb | None:
    section = top.section("tlb")
    if section is None:
        return None
    entries, ways = (section.integer(key) for key in ("entries", "ways"))
    if entries % ways:
        section.refuse(f"{entries} entries are not a whole number of sets of {ways} ways", "ways")
    walk = section.integer("walk_ns")
    section.close()
    return Tlb(entries, ways, walk)
