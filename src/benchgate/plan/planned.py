"""The plan as types: requests of tests, cells with their seats, gates, and the sweep of one row.

Takes cells, gates and systems, gives frozen data; planner.py makes it and session/sweep.py carries it out. Of
planned cells and the options it gives how many runs each gets, and how the arms of a sweep alternate. Nothing
fails.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.clocks import Clock
from benchgate.base.gates import Gate, Policy, Settings
from benchgate.base.identity import guest_of
from benchgate.base.snapshots import StartKind
from benchgate.base.system.observe import ObserveDefinition
from benchgate.base.system.systems import System, SystemKind
from benchgate.base.workload.metrics import OF_THREADS, Metric
from benchgate.base.workload.operations import SpanRule
from benchgate.base.workload.witness import ACCESSES, Promise, needs_events, of_program
from benchgate.base.workload.workloads import Workload
from benchgate.plan.options import Options


@dataclass(frozen=True, slots=True)
class GateRequest:
    """One mark of a gate."""

    kind: str
    file: str
    """The Python file of a user's own kind; empty for a built-in kind."""
    cpus: int
    """The CPU count; 0 for each one that the session measures."""
    base: int | None
    """The CPU count of the arm to compare with; None if the kind uses one arm only."""
    metric: str
    at_least: float | None
    at_most: float | None
    insn: float | None
    to: str = ""
    """The name, path or letter (A is the first of --system) of the system to compare with at the same CPU
    count; empty if the gate compares with no other system."""
    more: tuple[int, ...] = ()
    """The CPU counts between `base` and `cpus`, for a gate over more than two arms."""
    settings: Settings = ()
    """The settings that only its kind knows (Gate.settings)."""
    against: str = ""
    """The file to compare with (hooks.GateFile); empty if there is none."""


@dataclass(frozen=True, slots=True)
class MarkRequest:
    """The request that one test function makes with its marks."""

    workload: str
    given: Mapping[str, object]
    gates: tuple[GateRequest, ...]
    systems: tuple[str, ...] = ()
    """The systems that the test names; empty for those of --system."""
    test: str = ""
    """The node id of the test function."""
    machine: str = ""
    """The machine that the test names; empty for that of --machine."""


@dataclass(frozen=True, slots=True)
class Seats:
    """The place where a cell's vCPUs or workers run; `skip` is the reason if the cell cannot run."""

    lane: Lane
    placement: Placement
    pins: tuple[int, ...]
    skip: str = ""
    host_cpus: tuple[int, ...] = ()
    """The host CPUs of --cpus to which a cell without pins is restricted; empty for no restriction."""


@dataclass(frozen=True, slots=True)
class PlannedCell:
    cell: Cell
    system: System
    workload: Workload
    seats: Seats
    test_label: str = ""
    """The label in its tests' ids, if it differs from the cell's: --quick changes the parameters. Rows must
    show the real parameters, but a test keeps its usual id, so that it can be selected by it."""
    excluded: str = ""
    """The reason if --smp excludes this cell, or if its system is on another lane than the one that a gate
    compares it with. The base of a requested gate is never excluded by --smp."""

    @property
    def test_cell(self) -> Cell:
        """The cell with the label in its tests' ids."""
        return replace(self.cell, label=self.test_label or self.cell.label)

    @property
    def skip(self) -> str:
        return self.excluded or self.seats.skip

    @property
    def booted(self) -> System:
        """The system with the files of this CPU count."""
        return self.system.at(self.cell.cpus)

    @property
    def observe(self) -> ObserveDefinition | None:
        """How its threads are seen."""
        definition, threads = self.booted.observe, self.workload.threads
        return definition.without_queues() if definition and threads and threads.stops_threads else definition

    @property
    def starts_warm(self) -> bool:
        return self.system.boot.start is StartKind.WARM

    @property
    def promises(self) -> tuple[Promise, ...]:
        """What its workload promises with its parameters."""
        params = dict(self.cell.params)
        return tuple(promise for promise in self.workload.promises if promise.is_made(params))

    @property
    def operations(self) -> Mapping[str, SpanRule]:
        """How the machine measures its histograms with its parameters."""
        params = dict(self.cell.params)
        return {name: rule for name, rule in self.workload.machine.items() if rule.is_made(params)}

    @property
    def functions(self) -> tuple[tuple[str, str], ...]:
        """What is counted at functions of its program, because a promise names them: the name of each event,
        and the function."""
        names = (name for promise in self.promises for name in promise.names)
        return tuple(dict.fromkeys(count for name in names for count in of_program(name)))

    @property
    def counts_accesses(self) -> bool:
        """Whether a promise is of how often its program reads or writes memory."""
        return any(name in ACCESSES for promise in self.promises for name in promise.names)

    @property
    def guest(self) -> str:
        """The name of its guest in session.json."""
        return guest_of(self.cell, per_count=self.system.has_guest_per_count)


@dataclass(frozen=True, slots=True)
class PlannedGate:
    """One gate. `id` is the test's id; `gate.id` is the verdict's."""

    id: str
    gate: Gate
    base: PlannedCell | None
    arm: PlannedCell
    more: tuple[PlannedCell, ...] = ()
    """The cells between base and cell."""

    @property
    def arms(self) -> tuple[PlannedCell, ...]:
        return (*((self.base,) if self.base else ()), *self.more, self.arm)

    def with_arms(self, cells: Mapping[str, PlannedCell]) -> PlannedGate:
        """The same gate over these cells instead of its own; `cells` maps ids to them."""
        base = self.base and cells[self.base.cell.id]
        more = tuple(cells[planned_cell.cell.id] for planned_cell in self.more)
        return replace(self, base=base, more=more, arm=cells[self.arm.cell.id])

    @property
    def bounds(self) -> tuple[tuple[str, float | None], ...]:
        return ("least", self.gate.at_least), ("most", self.gate.at_most), ("insn", self.gate.insn)

    @property
    def without_id(self) -> Gate:
        """The gate without its id, to recognize duplicates."""
        return replace(self.gate, id="")

    @property
    def skip(self) -> str:
        return next((arm.skip for arm in reversed(self.arms) if arm.skip), "")

    def also_asked_by(self, other: PlannedGate) -> PlannedGate:
        """The gate with the tests of both."""
        tests = dict.fromkeys((*self.gate.tests, *other.gate.tests))
        return replace(self, gate=replace(self.gate, tests=tuple(tests)))


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """The arms of one row, all on one lane, and the gates over them. A gate that compares systems puts the
    rows of both into one sweep, so that their runs are interleaved."""

    row: str
    """The first row, which names the sweep."""
    cells: tuple[PlannedCell, ...]
    gates: tuple[PlannedGate, ...]
    repeats: bool = True
    """Whether one arm of each of its systems runs one seed twice on the instruction clock, as in the first
    sweep of a system and workload."""
    others: tuple[str, ...] = ()
    """The other rows of the sweep."""
    records_threads: bool = False
    """Whether every run on the instruction clock records the guest's threads, even where no gate needs it."""

    @property
    def rows(self) -> tuple[str, ...]:
        return (self.row, *self.others)

    @property
    def declared(self) -> Mapping[str, Metric]:
        """The metrics that its workload declares, which is the same in all rows, and those of threads if any
        cell has them."""
        own = self.cells[0].workload.metrics
        return {**own, **OF_THREADS} if self.records_threads or self.needs_threads else own

    @property
    def needs_threads(self) -> frozenset[str]:
        """The ids of the cells whose threads a gate asks for, or whose runs are judged by them."""
        gates = (planned_gate.gate for planned_gate in self.gates if planned_gate.gate.metric in OF_THREADS)
        judged = (
            planned_cell.cell.id for planned_cell in self.cells if planned_cell.workload.threads is not None
        )
        return frozenset((*(cell.id for gate in gates for cell in gate.cells), *judged))

    @property
    def needs_events(self) -> frozenset[str]:
        """The ids of the cells whose workloads promise what only functions show, or say how the machine
        measures their histograms."""
        return frozenset(
            cell.cell.id
            for cell in self.cells
            if cell.workload.machine or any(needs_events(promise.names) for promise in cell.promises)
        )

    @property
    def needs_look(self) -> frozenset[str]:
        """The ids of the cells whose workloads promise what only a record of their threads shows: one run of
        has it."""
        return frozenset(
            cell.cell.id for cell in self.cells if any(promise.needs_threads for promise in cell.promises)
        )

    @property
    def repeated(self) -> tuple[PlannedCell, ...]:
        """The arms that run their first seed twice: the second or only one of each system."""
        exact = [cell for cell in self.runnable if cell.seats.lane is Lane.INSN] if self.repeats else []
        systems = dict.fromkeys(cell.system.name for cell in exact)
        return tuple([cell for cell in exact if cell.system.name == name][:2][-1] for name in systems)

    @property
    def runnable(self) -> tuple[PlannedCell, ...]:
        return tuple(cell for cell in self.cells if not cell.skip)

    @property
    def first(self) -> Cell:
        return self.cells[0].cell

    @property
    def pairs(self) -> tuple[tuple[Cell, str], ...]:
        """Every cell with the reason why it is not run, empty if it is."""
        return tuple((planned.cell, planned.skip) for planned in self.cells)


@dataclass(frozen=True, slots=True)
class Ground:
    """The facts about the host that the planner needs."""

    pins: tuple[int, ...]
    smt_pins: tuple[int, ...]
    lanes: Mapping[str, tuple[Lane, str]]
    """Maps a system kind (`qemu`, `native`) to its lane, and the reason if it cannot run. An emulator's name
    (`System.emulator`) as a key gives its guests a lane of their own."""
    physical: Placement = Placement.PHYSICAL
    """The placement of vCPUs on these pins: physical, smt or virtual."""
    no_insn: str | None = None
    """With --clock both, `lanes` are those of wall time. This is then the reason why guests cannot be
    measured on the instruction clock too, empty if they can. None if there is only one clock."""

    clock: str = ""
    """The clock of the cells that are planned on this ground; empty if there is only one."""
    no_machine: str = ""
    """Why the instruction clock has only the ideal machine; empty if it has others, or if that is unknown."""

    def by_clock(self, kind: str) -> tuple[Ground, ...]:
        """This ground, once for each clock on which cells of a system kind are measured."""
        if self.no_insn is None:
            return (self,)
        clocks = (Clock.WALL, Clock.INSN) if kind == "qemu" else (Clock.WALL,)
        return tuple(replace(self, clock=str(clock)) for clock in clocks)

    def lane(self, system: System, clock: str) -> tuple[Lane, str]:
        """The lane of these cells, and the reason if they cannot run."""
        if clock == Clock.INSN:
            return Lane.INSN, self.no_insn or ""
        own = self.lanes.get(system.emulator) if system.kind is SystemKind.QEMU else None
        return own or self.lanes[system.kind]


def run_order(arms: Sequence[str], rounds: int, seed: int) -> tuple[str, ...]:
    """A counterbalanced order: each round contains every arm once, and every second round is reversed.

    A linear drift of the host then affects all arms equally over two rounds.
    """
    start = list(arms)
    random.Random(seed).shuffle(start)  # noqa: S311
    return tuple(arm for k in range(rounds) for arm in (start if k % 2 == 0 else start[::-1]))


def runs_of(cell: PlannedCell, options: Options) -> int:
    return options.seeds if cell.seats.lane is Lane.INSN else options.runs


def warmups_of(cell: PlannedCell, policy: Policy) -> int:
    """The number of discarded runs before the first counted one. The instruction clock needs none."""
    return 0 if cell.seats.lane is Lane.INSN else policy.warmups


def expected_runs(sweep: SweepPlan, options: Options, policy: Policy) -> Counter[str]:
    """The runs of each cell up to the first look, with warm-ups and the instruction clock's repeated
    seeds."""
    runs = Counter(
        {cell.cell.id: runs_of(cell, options) + warmups_of(cell, policy) for cell in sweep.runnable}
    )
    return runs + Counter(cell.cell.id for cell in sweep.repeated)
