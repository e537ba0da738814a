"""Which cells are explored: those of tests, as pytest itself collects them, or the smokes of systems.

Takes an `ExplorationRequest`; gives the options and the planned cells. The tests are imported, not run: this
module is also the plugin of a pytest that only collects, and hands over the cells of the items that pytest
selected, after -k and -m. Fails with UsageError if pytest cannot collect them, or if nothing remains to
explore.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.errors import UsageError
from benchgate.base.snapshots import ALWAYS_WARM
from benchgate.base.system.systems import System, SystemKind
from benchgate.base.text import gathered
from benchgate.features.explore.session.request import ExplorationRequest
from benchgate.plan import choice
from benchgate.plan.options import Options, cpu_list
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.run import smoke
from benchgate.session import inner_pytest
from benchgate.session.pytest_hooks import pytest_items, pytest_run

SMOKE_CPUS = (2, 4)
PLUGIN = "benchgate.features.explore.session.rows"


@dataclass(frozen=True, slots=True)
class RowSelection:
    options: Options
    cells: tuple[PlannedCell, ...]
    notes: tuple[str, ...]
    """What was left out, and why."""


def select(asked: ExplorationRequest) -> RowSelection:
    return _smokes(asked) if asked.smoke else _of_tests(asked)


# ---- tests


def _of_tests(asked: ExplorationRequest) -> RowSelection:
    if not asked.paths:
        example = "tests/smp, or a system whose smokes are explored: --system kernel --smoke"
        raise UsageError(f"name tests, such as {example}")
    answer = inner_pytest.collected(PLUGIN, asked.paths, _words(asked))
    picked: PickedRows = pickle.loads(answer)  # noqa: S301 - written by the process that was just started
    cells, notes = _explorable(asked, picked.cells.values(), one_cpu=1 in (cpu_list("smp", asked.smp) or ()))
    if not cells:
        why = "; ".join(notes) or "pytest collected no test with the fixture `cell` or `verdict`"
        raise UsageError(f"nothing to explore below {' '.join(asked.paths)}: {why}")
    return RowSelection(picked.options, cells, notes)


def _words(asked: ExplorationRequest) -> list[str]:
    given = ["--clock=insn", f"--start={asked.start}", *(f"--system={one}" for one in asked.systems)]
    given += [f"--smp={asked.smp}"] if asked.smp else []
    given += ["--quick"] if asked.quick else []
    return [*given, *asked.words]


def has_window(system: System) -> bool:
    """True if --window knows where the window of its rows begins."""
    return system.result.is_marked or system.script is not None


def _explorable(
    asked: ExplorationRequest, cells: Iterable[PlannedCell], *, one_cpu: bool
) -> tuple[tuple[PlannedCell, ...], tuple[str, ...]]:
    """Guests that can run and have several CPUs: one alone meets only its own interrupts."""
    kept: list[PlannedCell] = []
    notes: list[tuple[str, str]] = []
    for cell in cells:
        if cell.system.kind is not SystemKind.QEMU or cell.seats.lane is not Lane.INSN:
            notes.append((cell.cell.id, "only guests on the instruction clock are explored"))
        elif cell.skip:
            notes.append((cell.cell.id, cell.skip))
        elif asked.window and not has_window(cell.system):
            notes.append((cell.cell.id, "it has neither marks nor a prompt, so --window knows no window"))
        elif cell.cell.cpus == 1 and not one_cpu:
            notes.append((cell.cell.id, "it has one CPU; --smp 1 explores it, too"))
        else:
            kept.append(cell)
    return tuple(kept), tuple(gathered(notes, "cell"))


# ---- smokes


def _smokes(asked: ExplorationRequest) -> RowSelection:
    if asked.paths:
        raise UsageError(f"--smoke explores no tests; leave out {' '.join(asked.paths)}, or --smoke")
    if asked.window:
        raise UsageError("a smoke has no timed window; leave out --window, or --smoke")
    if asked.words:
        raise UsageError("--smoke runs no pytest; leave out the words behind `--`")
    if asked.start in ALWAYS_WARM:
        raise UsageError(f"a smoke is a boot, so it starts cold; leave out --start {asked.start}, or --smoke")
    given = cpu_list("smp", asked.smp)
    options = replace(Options(), systems=asked.systems or Options().systems, smp=given, clock="insn", keep=0)
    cells = [cell for system in choice.of_session(options) for cell in _of_system(system, given)]
    return RowSelection(options, tuple(cells), ())


def _of_system(system: System, given: Sequence[int] | None) -> Iterable[PlannedCell]:
    if system.smoke is None:
        raise UsageError(f"{system.file}: `smoke` is missing, so --smoke has nothing to boot; name tests")
    low, high = system.cpus
    counts = [count for count in given or SMOKE_CPUS if low <= count <= high]
    if not counts:
        raise UsageError(f"--smp: {system.name} runs on {low} to {high} CPUs")
    workload = smoke.stand_in(system)
    seats = Seats(Lane.INSN, Placement.VIRTUAL, ())
    for cpus in counts:
        of = Cell(system.name, workload.name, workload.mode, (), cpus)
        yield PlannedCell(smoke.cell_of(of), system, workload, seats)


# ---- in the pytest that collects


@dataclass(frozen=True, slots=True)
class PickedRows:
    options: Options
    cells: Mapping[str, PlannedCell]


def pytest_addoption(parser: pytest.Parser) -> None:
    inner_pytest.declare(parser)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    inner_pytest.leave_the_cache(config)


def pytest_collection_finish(session: pytest.Session) -> None:
    gates = pytest_items.gates(session.items)
    planned = [*pytest_items.cells(session.items), *(arm for gate in gates for arm in gate.arms)]
    options = pytest_run.state_of(session.config).options
    rows = PickedRows(options, {cell.cell.id: cell for cell in planned})
    inner_pytest.answer(session.config, pickle.dumps(rows))
