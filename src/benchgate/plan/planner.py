"""Plans the measurement: cells, gates, sweeps, and every skip with its reason.

Takes the requests of tests, the options and the host's CPUs; gives `SweepPlan`s. Boots nothing and reads only
the catalog's files. Fails with UsageError for an invalid mark or option.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from benchgate.base.cells import Cell, Lane, Window
from benchgate.base.clocks import Clock
from benchgate.base.errors import UsageError
from benchgate.base.gates import VERIFIED, Gate
from benchgate.base.snapshots import StartKind
from benchgate.base.system.comparable import incomparable
from benchgate.base.system.machines import AnyMachine
from benchgate.base.system.systems import SELFTEST, Settings, System, plain_name
from benchgate.base.workload.workloads import Workload
from benchgate.plan import catalog, choice
from benchgate.plan.mark_table import GROWS, OF_KIND
from benchgate.plan.options import Options
from benchgate.plan.planned import GateRequest, Ground, MarkRequest, PlannedCell, PlannedGate, SweepPlan
from benchgate.plan.seats import seat, seat_smt
from benchgate.plan.workloadfile import fill

DEFAULT_COUNTS = (1, 2, 4)


def counts(request: MarkRequest, options: Options, ground: Ground, system: System) -> tuple[int, ...]:
    """The CPU counts at which a test with the `cell` fixture runs."""
    if options.smp is not None:
        return options.smp
    if threads := catalog.load_workload(request.workload).threads:
        return (threads.cpus,)
    lane, _ = ground.lane(system, ground.clock)
    wanted = {n for n in DEFAULT_COUNTS if lane is Lane.INSN or n <= len(ground.pins)}
    gated = {n for gate in request.gates for n in (gate.cpus, gate.base, *gate.more) if n}
    return tuple(sorted(wanted | gated))


def check_words(options: Options) -> None:
    """Refuses invalid systems and parameters before tests are collected."""
    choice.of_session(options)
    for target, key, value in options.sets:
        if target in catalog.names("workload"):
            fill(catalog.load_workload(target), {key: value})


def check_sets(options: Options, collected: Collection[str]) -> None:
    """Raises UsageError if --set names a workload that is neither built in nor used by a collected test."""
    known = {*collected, *catalog.names("workload")}
    for target, key, _ in options.sets:
        if collected and target not in known:
            raise UsageError(f"--set {target}.{key}: {catalog.unknown('workload', target, known)}")


def parameters(request: MarkRequest, options: Options) -> dict[str, object]:
    """The mark's parameters, overridden by those of --quick, and both by --set."""
    workload = catalog.load_workload(request.workload)
    given: dict[str, object] = dict(request.given)
    if options.quick:
        given.update(workload.quick)
    given.update({key: value for target, key, value in options.sets if target == workload.name})
    return given


def plan_cell(  # noqa: PLR0913 - keyword arguments
    request: MarkRequest,
    system: System,
    cpus: int,
    ground: Ground,
    options: Options,
    *,
    growth: Mapping[str, int] = MappingProxyType({}),
) -> PlannedCell:
    """`growth` says how many times larger a parameter is than the test and the options say."""
    machine = None if ground.clock == Clock.WALL else choice.machine_of(request, options)
    system = system if machine is None else system.on(machine)
    workload = catalog.load_workload(request.workload, system)
    values, label = fill(workload, _grown(workload, parameters(request, options), growth))
    usual = _grown(workload, request.given, growth)
    test_label = fill(workload, usual)[1] if options.quick else label
    cell = Cell(system.name, workload.name, workload.mode, values, cpus, label, clock=ground.clock)
    seats = seat(system, workload, cell, ground, options)
    if system.boot.start is StartKind.WARM and seats.lane is not Lane.INSN:
        raise UsageError(
            f"{cell.id} is on lane {seats.lane}, and only the instruction clock starts warm: "
            "use --clock insn, or leave out start=warm"
        )
    return PlannedCell(cell, system, workload, seats, test_label)


def _grown(
    workload: Workload, given: Mapping[str, object], growth: Mapping[str, int]
) -> Mapping[str, object]:
    values = dict(fill(workload, given)[0])
    return {**given, **{name: int(values[name]) * times for name, times in growth.items()}}


def plan_cells(request: MarkRequest, options: Options, ground: Ground) -> tuple[PlannedCell, ...]:
    options = choice.for_request(request, options)
    return tuple(
        plan_cell(request, system, cpus, one, options)
        for system in choice.systems_of(request, options)
        for one in ground.by_clock(system.kind)
        for cpus in counts(request, options, one, system)
    )


def plan_gates(request: MarkRequest, options: Options, ground: Ground) -> tuple[PlannedGate, ...]:
    options = choice.for_request(request, options)
    systems = choice.systems_of(request, options)
    return tuple(
        _plan_gate(request, gate, system, one, options)
        for system in systems
        for one in ground.by_clock(system.kind)
        for gate in _each_count(request, options, one, system)
        if len(systems) == 1 or not choice.is_itself(gate.to, system, options)
    )


def _each_count(
    request: MarkRequest, options: Options, ground: Ground, system: System
) -> tuple[GateRequest, ...]:
    """The gates, where a gate without a CPU count is repeated for each one that the session measures."""
    every = counts(request, options, ground, system)
    return tuple(
        replace(gate, cpus=cpus) for gate in request.gates for cpus in ((gate.cpus,) if gate.cpus else every)
    )


def _plan_gate(
    request: MarkRequest, asked: GateRequest, system: System, ground: Ground, options: Options
) -> PlannedGate:
    excluded = ""
    if options.smp is not None and asked.cpus not in options.smp:
        excluded = f"--smp is {','.join(map(str, options.smp))}"
    planned = plan_cell(request, system, asked.cpus, ground, options, growth=_growth(request, asked))
    arm = replace(planned, excluded=excluded)
    base = None
    if asked.to:
        base = _compared(request, asked, arm, ground, options)
        if why := incomparable(base.cell.system, arm.cell.system):
            raise UsageError(f"{asked.kind}: {why}; their figures are not compared: let both start cold")
    elif asked.base is not None:
        base = replace(plan_cell(request, system, asked.base, ground, options), excluded=excluded)
    more = tuple(
        replace(plan_cell(request, system, cpus, ground, options), excluded=excluded) for cpus in asked.more
    )
    row = OF_KIND.get(asked.kind)
    suffix = "" if row and not row.is_in_id else f"-{asked.kind}"
    suffix += "" if asked.metric == (row.metric if row else Window.WORK) else f"-{asked.metric}"
    suffix += "" if asked.base in (None, 1) else f"-from{asked.base}"
    suffix += f"-to-{base.cell.system}" if asked.to and base else ""
    suffix += "".join(f"-{value}" for _, value in asked.settings)
    gate = Gate(
        id=f"{arm.cell.id}{suffix}",
        kind=asked.kind,
        base=base.cell if base else None,
        cell=arm.cell,
        metric=asked.metric,
        at_least=asked.at_least,
        at_most=asked.at_most,
        insn=asked.insn,
        file=asked.file,
        tests=(request.test,) if request.test else (),
        more=tuple(planned_cell.cell for planned_cell in more),
        settings=asked.settings,
        baseline=asked.against,
    )
    return PlannedGate(f"{arm.test_cell.id}{suffix}", gate, base, arm, more)


def _growth(request: MarkRequest, asked: GateRequest) -> Mapping[str, int]:
    """The parameter that grows with the CPUs, and how many times larger it is in the cell."""
    grows = str(dict(asked.settings).get(GROWS, ""))
    workload = catalog.load_workload(request.workload)
    numbers = [name for name, param in workload.params.items() if not param.choices]
    if grows and grows not in numbers:
        raise UsageError(
            f"mark {asked.kind}: grows={grows!r} is no parameter of workload {workload.name} that is a "
            f"number; it has {', '.join(numbers) or 'none'}"
        )
    return {grows: asked.cpus // (asked.base or 1)} if grows else {}


def _compared(
    request: MarkRequest, asked: GateRequest, arm: PlannedCell, ground: Ground, options: Options
) -> PlannedCell:
    """The cell of the system that `asked` compares with: the same row, CPU count and clock."""
    system = choice.other(asked.to, options)
    if system.runs_selftest != (request.workload == SELFTEST):
        raise UsageError(f"mark {asked.kind}: system {system.name} cannot run {request.workload}")
    grounds = ground.by_clock(system.kind)
    same = next((one for one in grounds if one.clock == ground.clock), grounds[0])
    excluded = arm.excluded
    if system.kind is not arm.system.kind:
        excluded = excluded or (
            f"{system.name} and {arm.system.name} are measured on different lanes, whose figures are never "
            "compared"
        )
    return replace(plan_cell(request, system, asked.cpus, same, options), excluded=excluded)


def verified_gate(planned: PlannedCell) -> PlannedGate:
    """The gate of a test that requests a cell: every run of the cell must be verified."""
    gate = Gate(id=f"{planned.cell.id}-{VERIFIED}", kind=VERIFIED, base=None, cell=planned.cell)
    return PlannedGate(f"{planned.test_cell.id}-{VERIFIED}", gate, None, planned)


def sweeps(
    cells: Iterable[PlannedCell], gates: Iterable[PlannedGate], *, threads: bool = False
) -> tuple[SweepPlan, ...]:
    """Groups the cells and gates of the selected tests by row. A gate adds both of its arms; one that
    compares two systems on one lane puts their rows into one sweep. `threads`: every run records them."""
    gates = tuple(gates)
    every = (*cells, *(arm for gate in gates for arm in gate.arms))
    sweep_of = _sweeps_of_rows(every, gates)
    found: dict[str, dict[str, PlannedCell]] = {sweep: {} for sweep in sweep_of.values()}
    kept: dict[str, list[PlannedGate]] = {sweep: [] for sweep in found}
    for cell in every:
        if cell.cell.row in sweep_of:
            _add(cell, found[sweep_of[cell.cell.row]])
    for gate in gates:
        sweep = sweep_of[gate.arm.cell.row]
        if gate.base is not None and sweep_of.get(gate.base.cell.row) != sweep:
            _add(gate.base, found[sweep])  # its lane differs, so it is excluded
        _add_gate(gate, kept[sweep])
    known: set[tuple[str, str, str]] = set()
    plans = []
    for sweep, cells_of in found.items():
        rows = tuple(row for row, value in sweep_of.items() if value == sweep)
        ordered = sorted(cells_of.values(), key=lambda of: (of.cell.row not in rows, of.cell.cpus))
        kinds = {_kind(planned_cell) for planned_cell in ordered if not planned_cell.skip}
        plans.append(
            SweepPlan(sweep, tuple(ordered), tuple(kept[sweep]), not kinds <= known, rows[1:], threads)
        )
        known |= kinds
    return tuple(plans)


def _sweeps_of_rows(cells: Sequence[PlannedCell], gates: Sequence[PlannedGate]) -> dict[str, str]:
    """The sweep of each row, named by its first row. The row of a cell that is only in a gate, and excluded
    there because of its lane, has no sweep of its own."""
    borrowed = {id(gate.base) for gate in gates if gate.base and _on_another_lane(gate)}
    sweep_of = {cell.cell.row: cell.cell.row for cell in cells if id(cell) not in borrowed}
    for gate in gates:
        if gate.base is None or _on_another_lane(gate):
            continue
        text, other = sweep_of[gate.base.cell.row], sweep_of[gate.arm.cell.row]
        first = min(text, other, key=list(sweep_of).index)
        sweep_of = {row: first if sweep in (text, other) else sweep for row, sweep in sweep_of.items()}
    return sweep_of


def _on_another_lane(gate: PlannedGate) -> bool:
    return gate.base is not None and gate.base.system.kind is not gate.arm.system.kind


def _add(cell: PlannedCell, cells: dict[str, PlannedCell]) -> None:
    if cell.cell.id not in cells or cells[cell.cell.id].excluded:
        cells[cell.cell.id] = cell


def _add_gate(gate: PlannedGate, kept: list[PlannedGate]) -> None:
    same = [number for number, planned_gate in enumerate(kept) if planned_gate.without_id == gate.without_id]
    if same:
        kept[same[0]] = kept[same[0]].also_asked_by(gate)
    else:
        kept.append(_with_unique_id(gate, kept))


def _kind(planned: PlannedCell) -> tuple[str, str, str]:
    return planned.cell.system, planned.cell.workload, planned.cell.clock


def _with_unique_id(gate: PlannedGate, others: Sequence[PlannedGate]) -> PlannedGate:
    """Adds threshold and file to the id if another test gates the same arms with different ones."""
    if all(other.gate.id != gate.gate.id for other in others):
        return gate
    words = [f"{name}-{value:g}" for name, value in gate.bounds if value is not None]
    words += [Path(gate.gate.against).stem] if gate.gate.against else []
    return replace(gate, gate=replace(gate.gate, id="-".join([gate.gate.id, *words])))


def check_names(planned: Iterable[PlannedCell]) -> None:
    """Raises UsageError if two files have one name, because rows named by it would mix their runs."""
    seen: dict[tuple[str, str], Path] = {}
    machines: dict[str, AnyMachine] = {}
    chosen: dict[str, Settings] = {}
    for cell in planned:
        if chosen.setdefault(cell.system.name, cell.system.settings) != cell.system.settings:
            raise UsageError(
                f"marks of two tests choose other files for {cell.system.name}, so their runs would be "
                "mixed: give one of the files another name, or run them in two sessions"
            )
        machine = cell.system.machine
        if machine and (same := machines.setdefault(machine.name, machine)).digest != machine.digest:
            raise _same_name("machine", machine.name, same.file, machine.file)
        names: tuple[tuple[str, str, Path], ...] = (
            ("workload", cell.workload.name, cell.workload.file),
            ("system", plain_name(cell.system.name), cell.system.file),
        )
        for what, name, file in names:
            other = seen.setdefault((what, name), file)
            if other != file:
                raise _same_name(what, name, other, file)


def _same_name(what: str, name: str, path: Path, other: Path) -> UsageError:
    return UsageError(
        f"two {what}s are called `{name}`: {path} and {other}; rows are named by it, so give one of them "
        "another `name`, or run them in two sessions"
    )


def check_kinds(gates: Iterable[PlannedGate]) -> None:
    """Raises UsageError if two files define one kind of gate, because a verdict names only the kind."""
    files: dict[str, str] = {}
    for gate in gates:
        other = files.setdefault(gate.gate.kind, gate.gate.file)
        if other != gate.gate.file:
            both = " and ".join(path or "benchgate's own" for path in (other, gate.gate.file))
            raise UsageError(
                f"two files define the gate kind `{gate.gate.kind}`: {both}; give one of them another KIND"
            )


def with_smt_row(cells: tuple[PlannedCell, ...], ground: Ground, options: Options) -> tuple[PlannedCell, ...]:
    """Adds the cells `smpN-smt` over all logical CPUs, for --include-smt. They are never gated."""
    if not options.include_smt or len(ground.smt_pins) <= len(ground.pins):
        return cells
    count = len(ground.smt_pins)
    firsts = {planned.cell.row: planned for planned in reversed(cells)}
    added = [
        replace(
            first,
            cell=replace(first.cell, cpus=count, variant="smt"),
            seats=seat_smt(first.system, first.workload, ground, first.cell.clock, first.cell.params),
        )
        for first in firsts.values()
    ]
    return (*cells, *added)
