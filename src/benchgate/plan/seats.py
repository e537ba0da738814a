"""Decides where a cell's vCPUs or workers run (lane, pinned host CPUs, placement), or why they cannot.

`ground_of` takes the host's topology and the options; gives a `Ground`: the CPUs to pin to, and the lane of
each kind of system. A guest's lane is wall time where the host qualifies for it, else the instruction clock.
Fails with UsageError if --cpus names a CPU that cannot be used.

Seating takes a system, a workload, a cell and the `Ground`; gives `Seats`. Pure. Nothing fails: the seats of
a cell that cannot run have the reason, which becomes a SKIP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from benchgate.base.cells import Accel, Cell, Lane, Params, Placement
from benchgate.base.system.guest_topology import memory_of
from benchgate.base.system.qemu import SERIAL
from benchgate.base.system.systems import System, SystemKind
from benchgate.base.workload.workloads import Workload
from benchgate.host import topology
from benchgate.host.topology import HostTopology
from benchgate.plan.options import Options
from benchgate.plan.planned import Ground, PlannedCell, Seats, SweepPlan


def seat(system: System, workload: Workload, cell: Cell, ground: Ground, options: Options) -> Seats:
    """Decides where a cell runs, or why it cannot."""
    cpus = cell.cpus
    lane, no_lane = ground.lane(system, cell.clock)
    refused = no_lane or system.refuses(workload, cpus, cell.params) or _wrong_clock(system, lane)
    refused = refused or _wrong_machine(system, lane, cpus, ground)
    if lane is Lane.INSN:
        return Seats(lane, Placement.VIRTUAL, (), refused, options.cpus or ())
    if cpus <= len(ground.pins):
        return Seats(lane, ground.physical, ground.pins[:cpus], refused)
    if not options.oversubscribe:
        pins = ",".join(map(str, ground.pins))
        there = "there is 1" if len(ground.pins) == 1 else f"there are {len(ground.pins)}"
        too_few = f"{cpus} CPUs need {cpus} host CPUs to pin to, {there} ({pins})"
        return Seats(lane, ground.physical, (), refused or too_few)
    return Seats(lane, Placement.OVERSUBSCRIBED, ground.pins, refused)


def _wrong_clock(system: System, lane: Lane) -> str:
    if lane is Lane.INSN and system.ports:
        return (
            f"what reaches {system.name} through its network (`ports`) comes at the host's times: "
            "use --clock wall, or leave out `ports`"
        )
    if lane is Lane.INSN and system.qemu.console != SERIAL:
        return (
            f"{system.name} prints on `qemu.console: {system.qemu.console}`, which QEMU reads at the host's "
            "times: use --clock wall, or let the kernel print on the first serial port"
        )
    if lane is not Lane.INSN and system.console.by_clock:
        return (
            f"that the CPUs of {system.name} came up is read from the instruction clock (`console.online: "
            "clock`): use --clock insn, or give the pattern of a line that the kernel prints"
        )
    if lane is Lane.INSN or not system.result.needs_clock:
        return ""
    return (
        f"the window of {system.name} is between lines or marks (`result`), which only the instruction clock "
        "times: use --clock insn, or have the kernel print a figure"
    )


def _wrong_machine(system: System, lane: Lane, cpus: int, ground: Ground) -> str:
    """Why the system's machine cannot have these CPUs."""
    machine = system.machine
    if machine is None:
        return ""
    why = ground.no_machine or _memory_problem(system)
    if system.kind is SystemKind.NATIVE:
        why = "native Linux has the caches of this host"
    elif lane is not Lane.INSN:
        why = "it needs the instruction clock: use --clock insn"
    elif cpus > machine.cpus:
        why = f"it has {machine.cpus} CPUs, fewer than {cpus}"
    return why and f"machine {machine.name}: {why}"


def _memory_problem(system: System) -> str:
    try:
        memory_of(system)
    except ValueError as error:
        return str(error)
    return ""


def seat_smt(
    system: System, workload: Workload, ground: Ground, clock: str = "", params: Params = ()
) -> Seats:
    """The seats over all logical CPUs, on the lane of the row's other arms."""
    lane, no_lane = ground.lane(system, clock)
    refused = no_lane or system.refuses(workload, len(ground.smt_pins), params)
    if lane is Lane.INSN:
        refused = "the instruction clock's CPUs share no core, so it cannot show hyperthreads"
    return Seats(lane, Placement.SMT, ground.smt_pins, refused)


def reseated(planned: PlannedCell, cpus: int, ground: Ground, options: Options) -> PlannedCell:
    """The same cell at another CPU count."""
    cell = replace(planned.cell, cpus=cpus)
    seats = seat(planned.system, planned.workload, cell, ground, replace(options, smp=None))
    return replace(planned, cell=cell, seats=seats)


def reseat(sweep: SweepPlan, ground: Ground, options: Options) -> SweepPlan:
    """The same sweep with the host's real lanes and pins; the plan was made with expected ones."""

    def again(planned: PlannedCell) -> PlannedCell:
        cell = planned.cell
        if cell.variant:
            seats = seat_smt(planned.system, planned.workload, ground, cell.clock, cell.params)
            return replace(planned, seats=seats)
        return replace(planned, seats=seat(planned.system, planned.workload, cell, ground, options))

    cells = {planned.cell.id: again(planned) for planned in sweep.cells}
    gates = tuple(gate.with_arms(cells) for gate in sweep.gates)
    return replace(sweep, cells=tuple(cells.values()), gates=gates)


def wall_lane(accel: Accel) -> Lane:
    return Lane.KVM if accel is Accel.KVM else Lane.TCG


def expected_lanes(clock: str, placement: Placement) -> Mapping[str, tuple[Lane, str]]:
    """The likely lanes, before any boot. CPUs that may be hyperthreads of one core rule out wall time."""
    wall = clock in ("wall", "both") or (clock == "auto" and placement is Placement.PHYSICAL)
    return lanes_of_kinds(clock, Lane.TCG if wall else Lane.INSN)


def lanes_of_kinds(clock: str, guests: Lane) -> Mapping[str, tuple[Lane, str]]:
    """Maps a system kind to its lane (with --clock both, of wall time), and the reason if it cannot run."""
    native = "native Linux has no instruction clock" if clock == "insn" else ""
    return {"qemu": (guests, ""), "native": (Lane.NATIVE, native)}


def ground_of(
    seen: HostTopology,
    options: Options,
    lanes: Mapping[str, tuple[Lane, str]] | None = None,
    no_insn: str | None = None,
    no_machine: str = "",
) -> Ground:
    """The host's CPUs and the lanes; by default the lanes that are expected before a guest was booted.
    `no_insn` and `no_machine` are those of `Ground`."""
    if lanes is None and options.clock == "both":
        no_insn = ""
    pins = topology.choose_pins(seen, options.cpus)
    every = topology.choose_pins(seen, options.cpus, include_smt=True)
    placement = topology.placement(seen, pins, len(pins))
    usual = lanes or expected_lanes(options.clock, placement)
    return Ground(pins, every, usual, placement, no_insn, no_machine=no_machine)
