"""Chooses how a session's guests run: accelerator, CPU model, lane, instruction clock.

Takes a QEMU, the options and the host's CPUs; gives a `VmChoice`. Probes are kept for this boot of the host,
so the next session does not probe again. Fails with HostError if the host cannot provide what the options ask
for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchgate.base.cells import Accel, Lane
from benchgate.base.errors import HostError
from benchgate.base.qemu import Qemu
from benchgate.build.cache_storage import Notice
from benchgate.host import accel
from benchgate.host.accel import AccelProbe
from benchgate.host.fitness import Fitness, Host, fitness
from benchgate.host.topology import Topology
from benchgate.insn.log import ClockMode, Level
from benchgate.insn.plugin import prepare
from benchgate.insn.support import Support, support
from benchgate.plan import lanes
from benchgate.plan.options import Options
from benchgate.run.argv import ClockConfig, VmConfig

SMALLEST_GATE = 2
"""Wall time qualifies if it can gate this CPU count."""


@dataclass(frozen=True, slots=True)
class VmChoice:
    config: VmConfig
    lane: Lane
    probes: Mapping[Accel, AccelProbe]


def choose_vm(
    qemu: Qemu, options: Options, topology: Topology, pins: tuple[int, ...], note: Notice
) -> VmChoice:
    probes = {
        one: accel.probe(qemu, one) for one in Accel if one is Accel.TCG or options.accel is not Accel.TCG
    }
    chosen = accel.choose(options.accel or "auto", probes)
    wall = VmChoice(
        VmConfig(qemu, chosen.accel, chosen.cpu_model or ""), lanes.wall_lane(chosen.accel), probes
    )
    if options.clock == "wall":
        return wall
    if options.clock == "insn":
        found = support(qemu)
        if found.level is Level.NONE:
            raise HostError(f"--clock insn: this QEMU cannot carry the instruction clock: {found.reason}")
        return _exact(qemu, options, probes, found)
    # The host's capacity is not considered here: it is measured between the runs, and can turn a FAIL into
    # INCONCLUSIVE.
    seen = fitness(Host(topology, pins, wall.probes, {}), wall.lane, SMALLEST_GATE)
    return _auto(wall, options, seen, note)


def _auto(wall: VmChoice, options: Options, seen: Fitness, note: Notice) -> VmChoice:
    """Wall time if this host qualifies for it, otherwise the instruction clock if that can decide."""
    qemu = wall.config.qemu
    if seen.qualifies:
        return wall
    found = support(qemu)
    if not found.can_decide:
        note(f"wall time, although it does not qualify ({seen.reason}): {found.reason}")
        return wall
    note(f"the instruction clock decides, because wall time does not qualify: {seen.reason}")
    return _exact(qemu, options, wall.probes, found)


def _exact(qemu: Qemu, options: Options, probes: Mapping[Accel, AccelProbe], found: Support) -> VmChoice:
    clock = ClockConfig(prepare(qemu, found.level), found.level, ClockMode(options.clock_mode))
    config = VmConfig(qemu, Accel.TCG, probes[Accel.TCG].cpu_model or "", clock)
    return VmChoice(config, Lane.INSN, probes)
