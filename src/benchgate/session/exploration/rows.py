"""Which cells are explored: those of tests, as pytest itself collects them, or the smokes of systems.

Takes an `ExplorationRequest`; gives the options and the planned cells. The tests are imported, not run. Fails
with UsageError if pytest cannot collect them, or if nothing remains to explore.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pytest

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.errors import BenchgateError, UsageError
from benchgate.base.system.systems import System, SystemKind
from benchgate.base.text import gathered, one_line
from benchgate.plan import choice
from benchgate.plan.option_words import cpu_list
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.run import smoke
from benchgate.session.exploration.request import ExplorationRequest
from benchgate.session.pytest_hooks import pytest_items, pytest_options

SMOKE_CPUS = (2, 4)
QUIET = ("--collect-only", "-q", "-p", "no:cacheprovider", "--clock=insn")


@dataclass(frozen=True, slots=True)
class RowSelection:
    options: Options
    cells: tuple[PlannedCell, ...]
    notes: tuple[str, ...]
    """What was left out, and why."""


def select(asked: ExplorationRequest) -> RowSelection:
    return _smokes(asked) if asked.smoke else _of_tests(asked)


# ---- tests


class _RowCollector:
    """Sees what pytest selected, after -k and -m."""

    def __init__(self) -> None:
        self.cells: dict[str, PlannedCell] = {}
        self.options = Options()
        self.wrong = ""

    def pytest_configure(self, config: pytest.Config) -> None:
        with contextlib.suppress(BenchgateError):  # the plugin's own hook reports it
            self.options = pytest_options.read(config)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        gates = pytest_items.gates(session.items)
        found = [*pytest_items.cells(session.items), *(arm for gate in gates for arm in gate.arms)]
        self.cells = {one.cell.id: one for one in found}


def _of_tests(asked: ExplorationRequest) -> RowSelection:
    if not asked.paths:
        raise UsageError(
            "benchgate explore: name tests, such as tests/smp, or a system whose smokes are explored: "
            "--system kernel --smoke"
        )
    collector, said = _RowCollector(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = pytest.main(_words(asked), plugins=[collector])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise UsageError(
            f"pytest cannot collect {' '.join(asked.paths)} (status {int(status)}): "
            f"{one_line(said.getvalue()[-600:], 600)}; next: pytest --collect-only {' '.join(asked.paths)}"
        )
    cells, notes = _explorable(
        asked, collector.cells.values(), one_cpu=1 in (cpu_list("smp", asked.smp) or ())
    )
    if not cells:
        why = "; ".join(notes) or "pytest collected no test with the fixture `cell` or `verdict`"
        raise UsageError(f"nothing to explore below {' '.join(asked.paths)}: {why}")
    return RowSelection(collector.options, cells, notes)


def _words(asked: ExplorationRequest) -> list[str]:
    given = [f"--system={one}" for one in asked.systems]
    given += [f"--smp={asked.smp}"] if asked.smp else []
    return [*QUIET, *given, *(["--quick"] if asked.quick else []), *asked.words, *asked.paths]


def has_window(system: System) -> bool:
    """True if --window knows where the window of its rows begins."""
    return system.result.is_marked or system.script is not None


def _explorable(
    asked: ExplorationRequest, cells: Iterable[PlannedCell], *, one_cpu: bool
) -> tuple[tuple[PlannedCell, ...], tuple[str, ...]]:
    """Guests that can run and have several CPUs: one alone meets only its own interrupts."""
    kept: list[PlannedCell] = []
    notes: list[tuple[str, str]] = []
    for one in cells:
        if one.system.kind is not SystemKind.QEMU or one.seats.lane is not Lane.INSN:
            notes.append((one.cell.id, "only guests on the instruction clock are explored"))
        elif one.skip:
            notes.append((one.cell.id, one.skip))
        elif asked.window and not has_window(one.system):
            notes.append((one.cell.id, "it has neither marks nor a prompt, so --window knows no window"))
        elif one.cell.cpus == 1 and not one_cpu:
            notes.append((one.cell.id, "it has one CPU; --smp 1 explores it, too"))
        else:
            kept.append(one)
    return tuple(kept), tuple(gathered(notes, "cell"))


# ---- smokes


def _smokes(asked: ExplorationRequest) -> RowSelection:
    if asked.paths:
        raise UsageError(f"--smoke explores no tests; leave out {' '.join(asked.paths)}, or --smoke")
    if asked.window:
        raise UsageError("a smoke has no timed window; leave out --window, or --smoke")
    if asked.words:
        raise UsageError("--smoke runs no pytest; leave out the words behind `--`")
    given = cpu_list("smp", asked.smp)
    options = replace(Options(), systems=asked.systems or Options().systems, smp=given, clock="insn", keep=0)
    cells = [one for system in choice.of_session(options) for one in _of_system(system, given)]
    return RowSelection(options, tuple(cells), ())


def _of_system(system: System, given: Sequence[int] | None) -> Iterable[PlannedCell]:
    if system.smoke is None:
        raise UsageError(f"{system.file}: `smoke` is missing, so --smoke has nothing to boot; name tests")
    low, high = system.cpus
    counts = [one for one in given or SMOKE_CPUS if low <= one <= high]
    if not counts:
        raise UsageError(f"--smp: {system.name} runs on {low} to {high} CPUs")
    workload = smoke.stand_in(system)
    seats = Seats(Lane.INSN, Placement.VIRTUAL, ())
    for cpus in counts:
        of = Cell(system.name, workload.name, workload.mode, (), cpus)
        yield PlannedCell(smoke.cell_of(of), system, workload, seats)
