"""On what a session's guests run: accelerator, CPU model, lane, and the instruction clock where it decides.

Takes a QEMU, the options and the host's CPUs; gives a `Choice`. Probes are kept for this boot of the host, so
that choosing again costs nothing. Fails with HostError where what was asked for cannot be had.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchgate import insn, lanes
from benchgate.boot import Clock, Machine
from benchgate.errors import HostError
from benchgate.fetch import Qemu
from benchgate.host import accel
from benchgate.host.accel import AccelProbe
from benchgate.host.doctor import Fitness
from benchgate.host.topology import Topology
from benchgate.insn import ClockMode, Level, Support
from benchgate.model import Accel, Lane
from benchgate.options import Options

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Choice:
    machine: Machine
    lane: Lane
    probes: Mapping[Accel, AccelProbe]


def choose(qemu: Qemu, options: Options, topology: Topology, pins: tuple[int, ...], note: Note) -> Choice:
    probes = {
        one: accel.probe(qemu, one) for one in Accel if one is Accel.TCG or options.accel is not Accel.TCG
    }
    chosen = accel.choose(options.accel or "auto", probes)
    wall = Choice(Machine(qemu, chosen.accel, chosen.cpu_model or ""), lanes.wall_lane(chosen.accel), probes)
    if options.clock == "wall":
        return wall
    if options.clock == "insn":
        found = insn.support(qemu)
        if found.level is Level.NONE:
            raise HostError(f"--clock insn: this QEMU cannot carry the instruction clock: {found.reason}")
        return _exact(qemu, options, probes, found)
    return _auto(wall, options, lanes.wall_fitness(topology, pins, wall.probes, wall.lane), note)


def _auto(wall: Choice, options: Options, fitness: Fitness, note: Note) -> Choice:
    """Wall time where this host qualifies for it, else the instruction clock (design, section 5)."""
    qemu = wall.machine.qemu
    if fitness.qualifies:
        return wall
    found = insn.support(qemu)
    if not lanes.can_decide(found):
        note(f"wall time, though it does not qualify ({fitness.reason}): {found.reason}")
        return wall
    note(f"the instruction clock decides, since wall time does not: {fitness.reason}")
    return _exact(qemu, options, wall.probes, found)


def _exact(qemu: Qemu, options: Options, probes: Mapping[Accel, AccelProbe], found: Support) -> Choice:
    clock = Clock(insn.prepare(qemu, found.level), found.level, ClockMode(options.clock_mode))
    machine = Machine(qemu, Accel.TCG, probes[Accel.TCG].cpu_model or "", clock)
    return Choice(machine, Lane.INSN, probes)
