"""One pytest session: the selected items, the measured rows, the summary and the exit code.

Takes options and the selected cells and gates; gives results per row, which is measured when an item first
needs it. Opening can fail with any BenchgateError (host, lock, fetch, build); closing with EvidenceError or
RenderError, when all results are already on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pytest

from benchgate.base.clocks import Clock
from benchgate.base.errors import BenchgateError
from benchgate.base.gates import Word
from benchgate.base.interrupts import Interruptions
from benchgate.base.runs import Image
from benchgate.base.snapshots import AUTO
from benchgate.base.system.systems import MAX_CPUS
from benchgate.base.text import one_line
from benchgate.host import topology
from benchgate.judge.oracles.oracle import ORACLES, require_loadable
from benchgate.plan import catalog, planner, preview
from benchgate.plan.options import Options
from benchgate.plan.planned import Ground, PlannedCell, PlannedGate, SweepPlan
from benchgate.plan.seats import ground_of, reseat
from benchgate.render.files import report_html
from benchgate.render.tables import terminal
from benchgate.render.view import SessionView
from benchgate.run.guest import RunningGuest
from benchgate.session import makers
from benchgate.session.emulators import given_qemu, is_alone, largest, qemu_of, require_machines
from benchgate.session.exit_codes import UNDECIDED, exit_code
from benchgate.session.measuring import MeasuringSession
from benchgate.session.measuring_host import MeasuringHost
from benchgate.session.progress import Progress
from benchgate.session.pytest_hooks import benchmark_partner
from benchgate.session.pytest_hooks.results import RowResult
from benchgate.session.remarks import count_notes, idle_cpus_notes
from benchgate.session.sweep import SweepResult, run_sweep
from benchgate.session.workbench import require_counts

Boots = Callable[..., RunningGuest]
INTERRUPTED = "interrupted before"
"""So begins the reason of a session that can be resumed."""


@dataclass(frozen=True, slots=True)
class ReportLine:
    """The part of a pytest report that the exit code needs."""

    outcome: str
    message: str


@dataclass
class PytestSession:
    """Measuring starts with the first item that needs a result; `close` is called once, at the end."""

    options: Options
    progress: Progress
    complaint: str = ""
    _sweeps: dict[str, SweepPlan] = field(default_factory=dict)
    _images: tuple[PlannedCell, ...] = ()
    _results: dict[str, SweepResult] = field(default_factory=dict)
    _interrupted: dict[str, str] = field(default_factory=dict)
    """Rows whose measuring was interrupted, for example by another plugin's time limit for a test, and why.
    They are not measured again, because the runs of both would be mixed."""
    _measuring: MeasuringSession | None = None
    _reports: list[ReportLine] = field(default_factory=list)
    collected: set[str] = field(default_factory=set)
    """The workloads of all tests, also of those that are not selected."""
    picked: bool = False
    """True if a selected test needs a cell or a verdict."""
    nowhere: Mapping[str, str] = field(default_factory=dict)
    """The selected tests that run on none of the systems, and why."""
    _view: SessionView | None = None
    _code: int = UNDECIDED
    """What the verdicts make of the status, here or in the worker of xdist that measured."""
    _told: str = ""
    """The summary of that worker."""
    beside: str = ""
    """What runs beside the timed tests; noted in the session."""
    _are_oracles_loadable: bool = False

    @cached_property
    def ground(self) -> Ground:
        """The host's CPUs and lanes, as known before measuring."""
        return ground_of(self.host.topology, self.options)

    @cached_property
    def host(self) -> MeasuringHost:
        """Chosen once for the whole session."""
        return makers.host_of(self.options, self.progress.note)

    def check_host(self) -> None:
        """Chooses the host. UsageError if --cpus names a CPU that cannot be used for pinning there."""
        host = self.host
        if self.options.cpus is not None:
            topology.check_pins(host.topology, self.options.cpus)

    def pick(
        self, cells: Sequence[PlannedCell], gates: Sequence[PlannedGate], images: Sequence[PlannedCell] = ()
    ) -> None:
        """A requested cell gets a gate, too: its verdict is in every report, and `rejudge` repeats it."""
        gates = (*gates, *map(planner.verified_gate, cells))
        arms = [arm for gate in gates for arm in gate.arms]
        planner.check_sets(self.options, self.collected)
        planner.check_names((*arms, *images))
        planner.check_kinds(gates)
        rows = planner.sweeps(cells, gates, threads=self.options.threads)
        self._sweeps = {sweep.row: sweep for sweep in rows}
        self._images = tuple(images)
        self.picked = bool(gates)

    def point_out(self) -> None:
        """A note, not a warning: with `-W error` advice would stop a session whose gates may be meant so."""
        sweeps = self._sweeps.values()
        for line in (*idle_cpus_notes(sweeps), *count_notes(sweeps, self.options.smp or ())):
            self.progress.note(line)
        if self.options.start == AUTO and self.options.clock != "insn":
            self.progress.note(
                "--start auto: all runs start cold, because the rows are planned before the clock is chosen; "
                "add --clock insn"
            )

    def describe(self) -> str:
        policy = catalog.load_policy(self.options.policy)
        return preview.describe(tuple(self._sweeps.values()), self.options, policy, self.options.order_seed)

    def require_oracles(self) -> None:
        """UsageError if the oracle of a workload that is to be measured cannot be loaded."""
        cells = [cell for sweep in self._sweeps.values() for cell in sweep.runnable]
        require_loadable(cell.workload for cell in reversed(cells))  # the first one's process is kept
        self._are_oracles_loadable = True

    def try_qemus(self) -> None:
        """Serves --plan: BuildError names the missing kernels of single CPU counts, UsageError all that the
        given QEMU refuses. A QEMU that would have to be fetched is not tried."""
        cells = [*(cell for sweep in self._sweeps.values() for cell in sweep.runnable), *self._images]
        require_counts(cells)
        alone, qemus = is_alone(cell.system for cell in cells), []
        for cell in largest(cells):
            if path := given_qemu(cell.system, self.options, alone=alone):
                qemus.append((cell, qemu_of(cell.system, path, locked=self.options.locked)))
        require_machines(qemus)

    # ---- measuring

    def row(self, row: str) -> RowResult:
        """The results of the row's sweep; it is measured now unless it was measured before."""
        row = next(sweep.row for sweep in self._sweeps.values() if row in sweep.rows)
        if row in self._interrupted:
            why = f"measuring it was interrupted ({self._interrupted[row]})"
            again = "it is not measured again in this session; next: allow these tests more time"
            cause = "the first test of a row waits until the whole row is measured"
            pytest.fail(f"INVALID: {row}: {why}, and {again}, because {cause}", pytrace=False)
        if row not in self._results:
            try:
                self._measure(row)
            except BaseException as stop:
                self._interrupted[row] = one_line(f"{type(stop).__name__}: {stop}")
                raise
        return RowResult(self._results[row], self.options.inconclusive_fails)

    def _measure(self, row: str) -> None:
        measuring = self._open()
        sweep = self._sweeps[row]
        policy = measuring.policy_of(sweep)
        result = run_sweep(sweep, self.options, policy, measuring, self.options.order_seed)
        self._results[row] = result
        measuring.settled(sweep)
        if self.options.profile_host:
            measuring.profile(sweep)

    def _open(self) -> MeasuringSession:
        if self._measuring is None:
            if not self._are_oracles_loadable:  # in a worker of xdist
                self.require_oracles()
            measuring = MeasuringSession(self.options, self.progress, self.host)
            with ExitStack() as undo:
                undo.callback(measuring.close, missing="it could not be started")
                measuring.open(tuple(self._sweeps.values()), self._images)
                ground = measuring.bench.ground
                self._sweeps = {row: reseat(s, ground, self.options) for row, s in self._sweeps.items()}
                measuring.begin(tuple(self._sweeps.values()))
                if self.beside:
                    measuring.keep(self.beside)
                undo.pop_all()
            self._measuring = measuring
        return self._measuring

    def image(self, planned: PlannedCell) -> Image:
        return self._open().bench.image(planned)

    @contextmanager
    def boots(self, planned: PlannedCell) -> Iterator[Boots]:
        """`start(cpus=2)` boots the image with 2 pinned vCPUs, `start(cpus=2, clock="insn")` on the
        instruction clock. All guests end with the block."""
        measuring = self._open()
        if self.host.runner is not None and (maker := self.options.maker):
            why = "talks with them on this machine, and wall time is measured on a worker"
            advice = f"leave out --{maker.option} for it"
            pytest.fail(f"a test that boots guests of its own {why}: {advice}", pytrace=False)
        with ExitStack() as stack:

            def start(cpus: int = 1, clock: str | None = None) -> RunningGuest:
                if type(cpus) is not int or not 1 <= cpus <= MAX_CPUS:
                    pytest.fail(f"boot(cpus={cpus!r}): give a CPU count from 1 to {MAX_CPUS}", pytrace=False)
                if clock not in (None, *Clock):
                    pytest.fail(f'boot(clock={clock!r}): give "wall" or "insn"', pytrace=False)
                try:
                    asked = Clock(clock or self._boot_clock)
                    seated = measuring.bench.seated(planned, cpus, asked)
                    if seated.skip:
                        pytest.skip(seated.skip)
                    return stack.enter_context(measuring.bench.interactive(seated))
                except BenchgateError as error:
                    pytest.fail(str(error), pytrace=False)

            yield start

    @property
    def _boot_clock(self) -> Clock:
        """The clock of boots that name none. A user's boots are not timed: only --clock insn changes it."""
        return Clock.INSN if self.options.clock == Clock.INSN else Clock.WALL

    # ---- the end

    def note_report(self, line: ReportLine) -> None:
        self._reports.append(line)

    def exit_code(self, pytests: int) -> int:
        """The code of exit_codes.py, or pytest's own if a test failed for another reason. A FAIL counts
        even if no test required its verdict. Called after `close`."""
        passed = pytests == pytest.ExitCode.OK
        if passed and not self.picked and self.nowhere:
            return UNDECIDED
        if not self.picked or not (passed or pytests == pytest.ExitCode.TESTS_FAILED):
            return pytests
        code = self._code
        if passed or code == pytest.ExitCode.TESTS_FAILED:
            return code
        failed = [line.message for line in self._reports if line.outcome == "failed"]
        inconclusive = failed and all(message.startswith(Word.INCONCLUSIVE) for message in failed)
        return code if inconclusive and code else pytests

    def end(self, status: int, config: pytest.Config) -> None:
        """Closes, and passes the result to the sessions of other plugins. An error becomes the complaint."""
        try:
            self.close(interrupted=status in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR))
        except BenchgateError as error:
            self.complaint = str(error)
        if self._view is None:
            return
        self._code = exit_code(self._view)
        if told := benchmark_partner.add(config, self._view):
            self.progress.note(told)

    def nothing(self) -> str:
        """Why nothing was measured, if no selected test runs on one of the systems."""
        whys = () if self.picked else dict.fromkeys(self.nowhere.values())
        return "\n".join(f"{Word.SKIP}: {why}" for why in whys)

    def ended(self, width: int) -> dict[str, Any]:
        """What a worker of xdist hands over; `take_over` reads it."""
        text = self.summary(width) if self._view is not None else self.nothing()
        return {"picked": self.picked or bool(self.nowhere), "code": self._code, "text": text}

    def take_over(self, *, picked: bool, code: int, text: str) -> None:
        """In the controller of xdist: the end of a worker's session, with a text if it has measured."""
        self.picked = self.picked or picked
        if text and text not in self._told:
            self._told, self._code = "\n".join(filter(None, (self._told, text))), code

    def close(self, *, interrupted: bool) -> None:
        self.progress.close()
        measuring, self._measuring = self._measuring, None
        with ExitStack() as stack:
            if "host" in vars(self):  # it was asked for
                stack.callback(self.host.close)
            stack.callback(ORACLES.close)
            if measuring is not None:
                self._view = measuring.close(missing=self._missing(interrupted))
                if self._view:
                    measuring.tell(self._view.id)

    def _missing(self, interrupted: bool) -> str:
        """Why the session is partial; empty if everything that was planned is measured."""
        missing = [row for row, sweep in self._sweeps.items() if sweep.runnable and row not in self._results]
        rows = ", ".join(missing)
        if interrupted or self._interrupted:
            return f"{INTERRUPTED} {rows or 'its end'}"
        return f"no test that ran asked for {rows}" if rows else ""

    @cached_property
    def interruptions(self) -> Interruptions:
        """The signals that interrupt the session."""
        return Interruptions(self.progress.note, int(pytest.ExitCode.INTERRUPTED), self._folder)

    def _folder(self) -> str:
        return str(self._measuring.folder or "") if self._measuring else ""

    def summary(self, width: int) -> str:
        """The terminal's summary: figures, verdicts, and the path of the report."""
        if self._view is None:
            return "\n".join(filter(None, (self._told, self.complaint)))
        folder = self.options.reports / "runs" / self._view.id
        lines = [
            terminal.render(self._view, width, folder),
            f"report: {self.options.reports / 'latest' / 'summary.md'}",
            f"page:   {self.options.reports / 'latest' / report_html.NAME}",
        ]
        if self._view.state_reason.startswith(INTERRUPTED):
            lines.append(f"next:   the same command with --resume={folder}")
        return "\n".join([*lines, self.complaint] if self.complaint else lines)
