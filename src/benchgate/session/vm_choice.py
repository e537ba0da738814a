"""Chooses how a session's guests run: accelerator, CPU model, lane, instruction clock.

Takes a QEMU, the options and the host; gives a `VmChoice`. Probes are kept for this boot of the host,
so the next session does not probe again. Fails with HostError if the host cannot provide what the options ask
for. With --clock both, the host's capacity is measured for the decision, so the caller must hold the lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchgate.base.cells import Accel, Lane
from benchgate.base.clocks import Clock, Clocks
from benchgate.base.errors import HostError
from benchgate.base.system.qemu import Qemu
from benchgate.build.cache_storage import Notice
from benchgate.host import accel
from benchgate.host.accel import AccelProbe
from benchgate.host.fitness import THRESHOLDS, Fitness, Host, accelerator, fitness, with_capacities
from benchgate.insn.plugin import prepare
from benchgate.insn.support import support
from benchgate.plan import seats
from benchgate.plan.options import Options
from benchgate.run.argv import VmConfig
from benchgate.session.measuring_host import MeasuringHost

SMALLEST_GATE = 2
"""Wall time qualifies if it can gate this CPU count."""


@dataclass(frozen=True, slots=True)
class VmChoice:
    configs: Mapping[Lane, VmConfig]
    """The guests' lanes: one, or with --clock both wall time and the instruction clock."""
    accel: Accel
    """The accelerator on wall time."""
    probes: Mapping[Accel, AccelProbe]
    clocks: Clocks | None = None
    """Which clock decides, with --clock both."""
    no_insn: str | None = None
    """Why guests cannot be measured on the instruction clock with --clock both; empty if they can."""

    @property
    def lane(self) -> Lane:
        """The lane of the guests; with --clock both the one of wall time."""
        return next(iter(self.configs))


def choose_vm(
    qemu: Qemu, options: Options, place: MeasuringHost, pins: tuple[int, ...], note: Notice
) -> VmChoice:
    kinds = [Accel.TCG] if options.accel is Accel.TCG else [*Accel]
    probes = {kind: place.probe(qemu, kind) for kind in kinds}
    chosen = accel.choose(options.accel or "auto", probes)
    config = VmConfig(qemu, chosen.accel, chosen.cpu_model or "")
    wall = VmChoice({seats.wall_lane(chosen.accel): config}, chosen.accel, probes)
    if options.clock == "wall":
        return wall
    if options.clock == "insn":
        found = support(qemu)
        if not found.works:
            raise HostError(f"--clock insn: this QEMU cannot carry the instruction clock: {found.reason}")
        return _exact(wall)
    host = Host(place.topology, pins, wall.probes, {})
    if options.clock == "both":
        return _both(wall, options, wall_fitness(qemu, host, wall.lane), note)
    # The host's capacity is not considered here: it is measured between the runs, and can turn a FAIL into
    # INCONCLUSIVE.
    return _auto(wall, fitness(host, wall.lane, SMALLEST_GATE), note)


def _auto(wall: VmChoice, seen: Fitness, note: Notice) -> VmChoice:
    """Wall time if this host qualifies for it, otherwise the instruction clock if that can decide."""
    qemu = wall.configs[wall.lane].qemu
    if seen.qualifies:
        note(f"wall time decides, because this host qualifies for it: {seen.reason}")
        return wall
    found = support(qemu)
    if not found.works:
        note(f"wall time, although it does not qualify ({seen.reason}): {found.reason}")
        return wall
    note(f"the instruction clock decides, because wall time does not qualify: {seen.reason}")
    return _exact(wall)


def _exact(wall: VmChoice) -> VmChoice:
    return replace(wall, configs={Lane.INSN: _exact_config(wall)})


def _exact_config(wall: VmChoice) -> VmConfig:
    qemu = wall.configs[wall.lane].qemu
    return VmConfig(qemu, Accel.TCG, wall.probes[Accel.TCG].cpu_model or "", prepare(qemu))


def _both(wall: VmChoice, options: Options, seen: Fitness, note: Notice) -> VmChoice:
    """Both clocks measure. Wall time decides if this host qualifies for it; otherwise, as with `auto`, the
    instruction clock if it can decide."""
    found = support(wall.configs[wall.lane].qemu)
    decides, because = Clock.WALL, f"this host qualifies for it ({seen.reason})"
    if not seen.qualifies and found.works:
        decides, because = Clock.INSN, f"wall time does not qualify: {seen.reason}"
    elif not seen.qualifies:
        although = f"although wall time does not qualify: {seen.reason}"
        because = f"the instruction clock cannot ({found.reason}), {although}"
    clocks = clocks_of(options, decides, because)
    note(clocks.sentence)
    if not found.works:
        no_insn = f"this QEMU cannot carry the instruction clock: {found.reason}"
        return replace(wall, clocks=clocks, no_insn=no_insn)
    configs = {**wall.configs, Lane.INSN: _exact_config(wall)}
    return replace(wall, configs=configs, clocks=clocks, no_insn="")


def clocks_of(options: Options, decides: Clock, because: str) -> Clocks:
    looks = {Clock.WALL: (options.runs, options.max_runs), Clock.INSN: (options.seeds, options.max_seeds)}
    return Clocks(decides, because, looks)


def wall_fitness(qemu: Qemu, host: Host, lane: Lane) -> Fitness:
    """Says if wall time can decide the shipped gates for which this host has enough CPUs. The capacity is
    measured only if nothing else speaks against it."""
    counts = sorted({SMALLEST_GATE, *(cpus for cpus in THRESHOLDS if cpus <= len(host.pins))})
    seen = [fitness(host, lane, cpus) for cpus in counts]
    if all(one.qualifies for one in seen):
        used = accelerator(lane)
        able = with_capacities(qemu, host, counts, () if used is None else (used,))
        seen = [fitness(able, lane, cpus, THRESHOLDS[cpus]) for cpus in counts]
    return next((one for one in seen if not one.qualifies), seen[0])
