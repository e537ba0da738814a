"""The plan as types: requests of tests, cells with their seats, gates, and the sweep of one row.

Takes cells, gates and systems, gives frozen data; planner.py makes it and session/sweep.py carries it out.
Nothing fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.clocks import Clock
from benchgate.base.gates import Gate, Settings
from benchgate.base.identity import guest_of
from benchgate.base.system.systems import System, SystemKind
from benchgate.base.workload.metrics import Metric
from benchgate.base.workload.workloads import Workload


@dataclass(frozen=True, slots=True)
class GateRequest:
    """One mark of a gate."""

    kind: str
    file: str
    """The Python file of a user's own kind; empty for a built-in kind."""
    cpus: int
    """0: each CPU count that the session measures."""
    base: int | None
    """The CPU count of the arm to compare with; None: the kind uses one arm only."""
    metric: str
    at_least: float | None
    at_most: float | None
    insn: float | None
    to: str = ""
    """The system to compare with, at the same CPU count: its name or path, or the letter of one of --system
    (A is the first); empty: not another system."""
    more: tuple[int, ...] = ()
    """The CPU counts between `base` and `cpus`, of a gate over more than two arms."""
    settings: Settings = ()
    """What only its kind knows (Gate.settings)."""
    baseline: str = ""
    """The file of the baseline to compare with; empty: none."""


@dataclass(frozen=True, slots=True)
class MarkRequest:
    """What one test function requests with its marks."""

    workload: str
    given: Mapping[str, object]
    gates: tuple[GateRequest, ...]
    systems: tuple[str, ...] = ()
    """The systems that the test names; empty: those of --system."""
    test: str = ""
    """The node id of the test function."""
    machine: str = ""
    """The machine that the test names; empty: that of --machine."""


@dataclass(frozen=True, slots=True)
class Seats:
    """Where the vCPUs or workers of one cell run; `skip` is the reason if the cell cannot run."""

    lane: Lane
    placement: Placement
    pins: tuple[int, ...]
    skip: str = ""
    host_cpus: tuple[int, ...] = ()
    """The host CPUs of --cpus to which a cell without pins is kept; empty: any."""


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
    """The cells between both."""

    @property
    def arms(self) -> tuple[PlannedCell, ...]:
        return (*((self.base,) if self.base else ()), *self.more, self.arm)

    def with_arms(self, cells: Mapping[str, PlannedCell]) -> PlannedGate:
        """The same gate over these cells, by id, in place of its own."""
        base = self.base and cells[self.base.cell.id]
        more = tuple(cells[one.cell.id] for one in self.more)
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
        return next((one.skip for one in reversed(self.arms) if one.skip), "")

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
    """On the instruction clock, whether one arm of each of its systems runs one seed twice: in the first
    sweep of a system and workload."""
    others: tuple[str, ...] = ()
    """Its other rows."""

    @property
    def rows(self) -> tuple[str, ...]:
        return (self.row, *self.others)

    @property
    def declared(self) -> Mapping[str, Metric]:
        """The metrics that its workload declares; all rows have the same one."""
        return self.cells[0].workload.metrics

    @property
    def repeated(self) -> tuple[PlannedCell, ...]:
        """The arms that run their first seed twice: of each system the second one, or the only one."""
        exact = [cell for cell in self.runnable if cell.seats.lane is Lane.INSN] if self.repeats else []
        systems = dict.fromkeys(one.system.name for one in exact)
        return tuple([one for one in exact if one.system.name == name][:2][-1] for name in systems)

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
    """What the planner needs to know about the host."""

    pins: tuple[int, ...]
    smt_pins: tuple[int, ...]
    lanes: Mapping[str, tuple[Lane, str]]
    """System kind (`qemu`, `native`) -> its lane, and the reason if it cannot run. Guests of an emulator
    whose name is a key (`System.emulator`) have a lane of their own."""
    physical: Placement = Placement.PHYSICAL
    """The placement of vCPUs on these pins: physical, smt or virtual."""
    no_insn: str | None = None
    """With --clock both, `lanes` are those of wall time, and guests are measured on the instruction clock,
    too: why they cannot be; empty if they can. None: there is only one clock."""

    clock: str = ""
    """The clock of the cells that are planned on this ground; empty if there is only one."""
    no_machine: str = ""
    """Why the instruction clock has no machine but the ideal one; empty: it has, or that is not known yet."""

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
