"""What this host is good for: facts as rows, and the screen that shows them.

Takes what the other modules found out; gives rows and text. Pure, and never fails: a fact that could not be
had comes in as its reason. `fitness` holds the rules by which a lane qualifies for gating.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchgate.host.accel import AccelProbe
from benchgate.host.capacity import Capacity
from benchgate.host.facts import UNAVAILABLE, as_list
from benchgate.host.topology import Topology, isolated_by, placement
from benchgate.model import Accel, Lane, Placement

LINES = 24
COLUMNS = 100
_LABEL = 12

MARGIN = 1.05
"""How far above its threshold the capacity's lower bound must be: a guest never reaches all of it."""

THRESHOLDS: Mapping[int, float] = {2: 1.6, 4: 3.0}
"""What the shipped gates ask of each CPU count on a wall lane."""


@dataclass(frozen=True, slots=True)
class Row:
    label: str
    text: str
    good: bool | None = None
    """Whether this is good news; None for what is neither."""


@dataclass(frozen=True, slots=True)
class Host:
    """What was found out about this host's CPUs."""

    topology: Topology
    pins: tuple[int, ...]
    probes: Mapping[Accel, AccelProbe]
    capacities: Mapping[tuple[Accel, int], Capacity]
    """By accelerator and CPU count; what was not measured is not there."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the stages that own these things say about them, a short sentence each."""

    qemu: str
    linux: str
    compiler: str
    insn: tuple[bool, str]
    """Whether the instruction clock can decide gates here, and why (not)."""
    detectors: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class Fitness:
    """Whether a lane can decide a gate at this CPU count on this host."""

    lane: Lane
    cpus: int
    qualifies: bool
    reason: str


def fitness(host: Host, lane: Lane, cpus: int, threshold: float) -> Fitness:
    """The rule for wall lanes: a good probe, distinct physical cores, and a host that can show the threshold.
    A host that cannot is not wrong to measure on, but its verdicts would be its own, not the kernel's."""
    reason = _unprobed(host, lane) or _misplaced(host, cpus) or _too_small(host, lane, cpus, threshold)
    if reason:
        return Fitness(lane, cpus, False, reason)
    accel = accelerator(lane)
    shown = f", capacity {host.capacities[accel, cpus].ratio:.2f}" if accel else ""
    return Fitness(lane, cpus, True, f"distinct physical cores{shown}")


def doctor_facts(host: Host, said: Said, thresholds: Mapping[int, float] = THRESHOLDS) -> tuple[Row, ...]:
    """The screen's rows, in order."""
    rows = [*_topology_rows(host.topology, host.pins)]
    probes = host.probes.values()
    rows += [Row(found.accel.value, found.reason.partition(": ")[2], found.usable) for found in probes]
    rows.append(_capacity_row(host.capacities.values()))
    rows += [Row("qemu", said.qemu), Row("linux", said.linux)]
    rows.append(Row("compiler", said.compiler, False if said.compiler == UNAVAILABLE else None))
    for lane in (Lane.KVM, Lane.TCG, Lane.NATIVE):
        rows.append(_lane_row(lane, [fitness(host, lane, n, at) for n, at in thresholds.items()]))
    rows.append(Row("lane insn", f"{'yes' if said.insn[0] else 'no'}: {said.insn[1]}", said.insn[0]))
    present = ", ".join(name for name, there in said.detectors.items() if there) or "none"
    absent = ", ".join(name for name, there in said.detectors.items() if not there)
    rows.append(Row("noise seen", f"{present}; {UNAVAILABLE}: {absent}" if absent else present))
    return tuple(rows)


def doctor_text(rows: Sequence[Row]) -> str:
    """One screen: no more than 24 lines of 100 columns. Long rows wrap while there is room, then are cut."""
    spare = LINES - 1 - len(rows)
    lines = ["benchgate doctor: what this host is good for"]
    for row in rows[: LINES - 1]:
        parts = textwrap.wrap(row.text, COLUMNS - _LABEL, break_long_words=True) or [UNAVAILABLE]
        room = 1 + max(0, min(2, spare))
        if len(parts) > room:
            parts = parts[:room]
            parts[-1] = f"{parts[-1][: COLUMNS - _LABEL - 3]}..."
        spare -= len(parts) - 1
        labels = [row.label, *[""] * (len(parts) - 1)]
        lines += [f"{label:<{_LABEL}}{part}" for label, part in zip(labels, parts, strict=True)]
    return "\n".join(lines) + "\n"


def accelerator(lane: Lane) -> Accel | None:
    """The accelerator that a wall lane runs on; None for the lane without a guest."""
    if lane is Lane.INSN:
        raise ValueError("the instruction clock does not depend on the host's cores: ask its own support")
    return {Lane.KVM: Accel.KVM, Lane.TCG: Accel.TCG}.get(lane)


def _unprobed(host: Host, lane: Lane) -> str | None:
    accel = accelerator(lane)
    found = host.probes.get(accel) if accel else None
    if accel is None or (found is not None and found.usable):
        return None
    return "not probed" if found is None else found.reason.partition(": ")[2].partition(": ")[0]


def _misplaced(host: Host, cpus: int) -> str | None:
    return {
        Placement.OVERSUBSCRIBED: f"only {len(host.pins)} CPUs to pin to",
        Placement.SMT: "the pins are hyperthreads of one core",
        Placement.VIRTUAL: "a hypervisor may hide that these cores are hyperthreads",
    }.get(placement(host.topology, host.pins, cpus))


def _too_small(host: Host, lane: Lane, cpus: int, threshold: float) -> str | None:
    accel = accelerator(lane)
    if accel is None:
        return None  # the capacity is that of guests
    found = host.capacities.get((accel, cpus))
    if found is None:
        return "capacity not measured"
    if found.low >= MARGIN * threshold:
        return None
    return f"capacity {_span(found)} leaves no margin above {threshold:g}"


def _topology_rows(topology: Topology, pins: Sequence[int]) -> list[Row]:
    counts = f"{_count(topology.sockets, 'socket')}, {_count(topology.cores, 'core')}"
    cpus = f"{as_list(topology.online)} online, {as_list(topology.usable)} usable by this process; {counts}, "
    cpus += f"{_count(len(topology.online), 'thread')} (source: {topology.source})"
    smt = "several hyperthreads a core" if topology.smt else "one thread a core"
    if topology.hidden:
        smt += ", as a hypervisor says" if topology.hypervisor else ", as far as is known"
        if topology.cores is None:
            smt = "the host does not say which CPUs share a core"
        smt += ", which may hide hyperthreads: placement is `virtual`"
    covered = isolated_by(topology, pins)
    isolation = f"pins covered by {', '.join(covered)}" if covered else "none of the pins is isolated"
    if topology.isolation.cpuset not in ("none", UNAVAILABLE):
        isolation += f"; cpuset {topology.isolation.cpuset}"
    if topology.isolation.service_manager not in ("none", UNAVAILABLE):
        isolation += f"; services confined to {topology.isolation.service_manager}"
    listed = ",".join(map(str, pins))
    return [
        Row("cpus", cpus),
        Row("threads", smt, not topology.hidden),
        Row("pins", f"{listed} (default: one logical CPU per physical core); {isolation}"),
    ]


def _capacity_row(capacities: Iterable[Capacity]) -> Row:
    several = [found for found in capacities if found.cpus > 1]
    shown = [f"{found.cpus} CPUs {_span(found)} ({found.accel.value})" for found in several]
    return Row("capacity", "; ".join(["1 CPU 1 (the unit)", *shown]))


def _span(found: Capacity) -> str:
    return f"{found.ratio:.2f} [{found.low:.2f}, {found.high:.2f}]"


def _lane_row(lane: Lane, found: Sequence[Fitness]) -> Row:
    """A reason that holds for every CPU count is said once."""
    words = [f"{'yes' if one.qualifies else 'no'}: {one.reason}" for one in found]
    if len(set(words)) > 1:
        words = [f"{one.cpus} CPUs {word}" for one, word in zip(found, words, strict=True)]
    good = bool(found) and all(one.qualifies for one in found)
    return Row(f"lane {lane.value}", "; ".join(dict.fromkeys(words)) or "no gate asked", good)


def _count(number: int | None, noun: str) -> str:
    if number is None:
        return f"{noun}s {UNAVAILABLE}"
    return f"{number} {noun}{'' if number == 1 else 's'}"
