"""What will be measured, before anything is: cells, gates, their order, and every skip with its reason.

Takes what tests ask for (`Request`), the options and the host's CPUs; gives `SweepPlan`s. Pure: boots
nothing and reads nothing. Fails with UsageError where a mark or an option cannot be meant.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchgate import catalog
from benchgate.errors import UsageError
from benchgate.gates.base import Gate
from benchgate.model import Cell, Lane, Placement, Window, Workload
from benchgate.options import Options
from benchgate.systems import SELFTEST, Ask, System

DEFAULT_COUNTS = (1, 2, 4)


@dataclass(frozen=True, slots=True)
class Threshold:
    """One `speedup` mark."""

    cpus: int
    base: int
    window: Window
    at_least: float | None
    at_most: float | None
    insn: float | None


@dataclass(frozen=True, slots=True)
class Request:
    """What one test function asks for."""

    workload: str
    given: Mapping[str, object]
    thresholds: tuple[Threshold, ...]
    systems: tuple[str, ...] = ()
    """Systems that the test names itself; empty: those of --system."""


@dataclass(frozen=True, slots=True)
class Seats:
    """Where the vCPUs or workers of one cell sit; `skip` says why it cannot run."""

    lane: Lane
    placement: Placement
    pins: tuple[int, ...]
    skip: str = ""


@dataclass(frozen=True, slots=True)
class PlannedCell:
    cell: Cell
    system: System
    workload: Workload
    seats: Seats
    test_label: str = ""
    """What its tests call it, where that is not its label: --quick takes other parameters than the test
    names. Every row must show them, and yet the test can be picked by the id that it always has."""
    unasked: str = ""
    """Why --smp leaves it out; the base of a gate that was asked for is never left out."""

    @property
    def asked(self) -> Cell:
        """As its tests call it."""
        return replace(self.cell, label=self.test_label or self.cell.label)

    @property
    def skip(self) -> str:
        return self.unasked or self.seats.skip


@dataclass(frozen=True, slots=True)
class PlannedGate:
    """One gate; `id` is its test id, the gate's own is the verdict's."""

    id: str
    gate: Gate
    base: PlannedCell
    arm: PlannedCell

    @property
    def bounds(self) -> tuple[tuple[str, float | None], ...]:
        return ("least", self.gate.at_least), ("most", self.gate.at_most), ("insn", self.gate.insn)

    @property
    def asks(self) -> Gate:
        """The question alone, whatever it is called."""
        return replace(self.gate, id="")

    @property
    def skip(self) -> str:
        return self.arm.skip or self.base.skip


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """The arms of one row, all on one lane, and the gates over them."""

    row: str
    cells: tuple[PlannedCell, ...]
    gates: tuple[PlannedGate, ...]

    @property
    def runnable(self) -> tuple[PlannedCell, ...]:
        return tuple(cell for cell in self.cells if not cell.skip)

    @property
    def pairs(self) -> tuple[tuple[Cell, str], ...]:
        """Every cell, and why it is not run."""
        return tuple((planned.cell, planned.skip) for planned in self.cells)


@dataclass(frozen=True, slots=True)
class Ground:
    """What the planner must know of the host."""

    pins: tuple[int, ...]
    smt_pins: tuple[int, ...]
    lanes: Mapping[str, tuple[Lane, str]]
    """System kind (`qemu`, `native`) -> its lane, and why it has none."""
    physical: Placement = Placement.PHYSICAL
    """What vCPUs on these pins stand on: physical, smt or virtual."""


def seats(system: System, mode_workload: Workload, cpus: int, ground: Ground, options: Options) -> Seats:
    """Where a cell runs, or why not."""
    lane, no_lane = ground.lanes[system.kind]
    refused = no_lane or system.refuses(mode_workload.mode, mode_workload.name, cpus)
    if lane is Lane.INSN:
        return Seats(lane, Placement.VIRTUAL, (), refused)
    if cpus <= len(ground.pins):
        return Seats(lane, ground.physical, ground.pins[:cpus], refused)
    if not options.oversubscribe:
        named = ",".join(map(str, ground.pins))
        few = f"{cpus} CPUs need {cpus} host CPUs to pin to, there {_are(len(ground.pins))} ({named})"
        return Seats(lane, ground.physical, (), refused or few)
    return Seats(lane, Placement.OVERSUBSCRIBED, ground.pins, refused)


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"


def counts(request: Request, options: Options, ground: Ground, system: System) -> tuple[int, ...]:
    """The CPU counts at which a test over cells runs."""
    if options.smp is not None:
        return options.smp
    lane, _ = ground.lanes[system.kind]
    wanted = {n for n in DEFAULT_COUNTS if lane is Lane.INSN or n <= len(ground.pins)}
    return tuple(sorted(wanted | {n for mark in request.thresholds for n in (mark.cpus, mark.base)}))


def systems_of(request: Request, options: Options) -> tuple[System, ...]:
    found = [catalog.load_system(word) for word in request.systems or options.systems]
    names = [system.name for system in found]
    if len(set(names)) != len(names):
        raise UsageError(f"--system names the same system twice: {', '.join(names)}")
    wants_selftest = request.workload == SELFTEST
    return tuple(system for system in found if (system.ask is Ask.SELFTEST) == wants_selftest)


def check_words(options: Options) -> None:
    """Refuses systems, parameters and runs that cannot be meant, before anything is collected."""
    for word in options.systems:
        catalog.load_system(word)
    for target, key, value in options.sets:
        if target in catalog.names("workloads"):
            catalog.fill(catalog.load_workload(target), {key: value})
    catalog.load_policy("default").with_runs(options.runs, options.max_runs)


def check_sets(options: Options, collected: Collection[str]) -> None:
    """UsageError where --set names a workload that is not ours and that no collected test runs."""
    known = {*collected, *catalog.names("workloads")}
    for target, key, _ in options.sets:
        if collected and target not in known:
            raise UsageError(f"--set {target}.{key}: {catalog.unknown('workloads', target, known)}")


def parameters(request: Request, options: Options) -> dict[str, object]:
    """The mark's own parameters, --quick's below them and --set's above."""
    workload = catalog.load_workload(request.workload)
    given: dict[str, object] = dict(request.given)
    if options.quick:
        given.update(workload.quick)
    given.update({key: value for target, key, value in options.sets if target == workload.name})
    return given


def plan_cell(request: Request, system: System, cpus: int, ground: Ground, options: Options) -> PlannedCell:
    workload = catalog.load_workload(request.workload)
    values, label = catalog.fill(workload, parameters(request, options))
    called = catalog.fill(workload, request.given)[1] if options.quick else label
    cell = Cell(system.name, workload.name, workload.mode, values, cpus, label)
    return PlannedCell(cell, system, workload, seats(system, workload, cpus, ground, options), called)


def plan_cells(request: Request, options: Options, ground: Ground) -> tuple[PlannedCell, ...]:
    return tuple(
        plan_cell(request, system, cpus, ground, options)
        for system in systems_of(request, options)
        for cpus in counts(request, options, ground, system)
    )


def plan_gates(request: Request, options: Options, ground: Ground) -> tuple[PlannedGate, ...]:
    return tuple(
        _plan_gate(request, mark, system, ground, options)
        for system in systems_of(request, options)
        for mark in request.thresholds
    )


def _plan_gate(
    request: Request, mark: Threshold, system: System, ground: Ground, options: Options
) -> PlannedGate:
    unasked = ""
    if options.smp is not None and mark.cpus not in options.smp:
        unasked = f"{mark.cpus} CPUs are not among --smp {','.join(map(str, options.smp))}"
    base = replace(plan_cell(request, system, mark.base, ground, options), unasked=unasked)
    arm = replace(plan_cell(request, system, mark.cpus, ground, options), unasked=unasked)
    suffix = "" if mark.window is Window.WORK else f"-{mark.window}"
    suffix += "" if mark.base == 1 else f"-from{mark.base}"
    kind = "control" if mark.at_most is not None else "speedup"
    gate = Gate(
        id=f"{arm.cell.id}{suffix}",
        kind=kind,
        base=base.cell,
        cell=arm.cell,
        window=mark.window,
        at_least=mark.at_least,
        at_most=mark.at_most,
        insn=mark.insn,
    )
    return PlannedGate(f"{arm.asked.id}{suffix}", gate, base, arm)


def sweeps(cells: Iterable[PlannedCell], gates: Iterable[PlannedGate]) -> tuple[SweepPlan, ...]:
    """Groups by row what the picked tests need; a gate brings both of its arms."""
    rows: dict[str, dict[str, PlannedCell]] = {}
    over: dict[str, list[PlannedGate]] = {}
    gates = tuple(gates)
    for cell in (*cells, *(arm for gate in gates for arm in (gate.base, gate.arm))):
        row = rows.setdefault(cell.cell.row, {})
        if cell.cell.id not in row or row[cell.cell.id].unasked:
            row[cell.cell.id] = cell
    for gate in gates:
        kept = over.setdefault(gate.arm.cell.row, [])
        if not any(one.asks == gate.asks for one in kept):
            kept.append(_told_apart(gate, kept))
    return tuple(
        SweepPlan(
            row=row,
            cells=tuple(sorted(found.values(), key=lambda cell: cell.cell.cpus)),
            gates=tuple(over.get(row, ())),
        )
        for row, found in rows.items()
    )


def _told_apart(gate: PlannedGate, others: Sequence[PlannedGate]) -> PlannedGate:
    """Two tests may ask the same arms for different thresholds: then the threshold becomes part of the id."""
    if all(one.gate.id != gate.gate.id for one in others):
        return gate
    words = [f"{name}-{value:g}" for name, value in gate.bounds if value is not None]
    return replace(gate, gate=replace(gate.gate, id="-".join([gate.gate.id, *words])))


def check_names(planned: Iterable[PlannedCell]) -> None:
    """UsageError where one name means two files: rows are called by names, so their runs would be mixed."""
    seen: dict[tuple[str, str], Path | str] = {}
    for one in planned:
        named: tuple[tuple[str, str, Path | str], ...] = (
            ("workload", one.workload.name, one.workload.file),
            ("system", one.system.name.partition(".")[0], one.system.file),
        )
        for what, name, file in named:
            other = seen.setdefault((what, name), file)
            if other != file:
                files = " and ".join(str(path or "our own") for path in (other, file))
                raise UsageError(
                    f"two {what}s are called `{name}`: {files}; rows are called by that name, so give one "
                    "of them another `name`, or run them in two sessions"
                )


def order(arms: Sequence[str], rounds: int, seed: int) -> tuple[str, ...]:
    """Counterbalanced blocks: each round holds every arm once, every second one backwards.

    A linear drift of the host then shifts all arms alike but for half a block (statistics.md).
    """
    start = list(arms)
    random.Random(seed).shuffle(start)  # noqa: S311
    return tuple(arm for k in range(rounds) for arm in (start if k % 2 == 0 else start[::-1]))


def runs_of(cell: PlannedCell, options: Options) -> int:
    return options.seeds if cell.seats.lane is Lane.INSN else options.runs


def with_smt_row(cells: tuple[PlannedCell, ...], ground: Ground, options: Options) -> tuple[PlannedCell, ...]:
    """Adds `smpN-smt`, over all logical CPUs, for --include-smt; it is never gated."""
    if not options.include_smt or len(ground.smt_pins) <= len(ground.pins):
        return cells
    count = len(ground.smt_pins)
    firsts = {planned.cell.row: planned for planned in reversed(cells)}
    added = [
        replace(
            first,
            cell=replace(first.cell, cpus=count, variant="smt"),
            seats=smt_seats(first.system, first.workload, ground),
        )
        for first in firsts.values()
    ]
    return (*cells, *added)


def smt_seats(system: System, workload: Workload, ground: Ground) -> Seats:
    """Over all logical CPUs, on the lane of the row's other arms."""
    lane, no_lane = ground.lanes[system.kind]
    refused = no_lane or system.refuses(workload.mode, workload.name, len(ground.smt_pins))
    if lane is Lane.INSN:
        refused = "the instruction clock's CPUs share no core, so hyperthreads cannot be seen on it"
    return Seats(lane, Placement.SMT, ground.smt_pins, refused)
