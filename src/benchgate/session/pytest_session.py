"""One pytest session seen by benchgate: what was picked, what was measured, what it says in the end.

Takes options and the picked cells and gates; gives results per row, measured the first time that an item
needs them. Opening can fail with any BenchgateError (host, lock, fetch, build); closing with EvidenceError
or RenderError, after everything that was measured is already on disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property

import pytest

from benchgate.base.errors import BenchgateError
from benchgate.base.gates import Verdict, Word
from benchgate.base.runs import Image
from benchgate.base.systems import MAX_CPUS
from benchgate.base.text import one_line
from benchgate.host import topology
from benchgate.host.topology import Topology
from benchgate.plan import catalog, planner, preview
from benchgate.plan.options import Options
from benchgate.plan.planned import Ground, PlannedCell, PlannedGate, SweepPlan
from benchgate.plan.seats import reseat
from benchgate.render.tables import attribution, terminal
from benchgate.render.view import SessionView
from benchgate.run.guest import RunningGuest
from benchgate.session.exit_codes import UNDECIDED, exit_code
from benchgate.session.measuring import MeasuringSession, ground_of
from benchgate.session.progress import Progress
from benchgate.session.results import RowResult
from benchgate.session.signals import Interruptions
from benchgate.session.sweep import SweepResult, run_sweep

Boots = Callable[..., RunningGuest]


@dataclass(frozen=True, slots=True)
class ReportLine:
    """One pytest report, as much of it as the outcome needs."""

    nodeid: str
    outcome: str
    duration_s: float
    message: str


@dataclass
class PytestSession:
    """Opened by the first item that needs a figure; closed once, at the session's end."""

    options: Options
    progress: Progress
    spent_s: float = 0.0
    complaint: str = ""
    _sweeps: dict[str, SweepPlan] = field(default_factory=dict)
    _images: tuple[PlannedCell, ...] = ()
    _results: dict[str, SweepResult] = field(default_factory=dict)
    _broken_off: dict[str, str] = field(default_factory=dict)
    """Rows that something ended before their time, such as another plugin's limit for one test, and what. A
    second attempt at such a row would be mixed with the runs of the first."""
    _measuring: MeasuringSession | None = None
    _reports: list[ReportLine] = field(default_factory=list)
    collected: set[str] = field(default_factory=set)
    """The workloads of all tests, picked or not."""
    picked: bool = False
    """Whether this session has a test that wants a figure."""

    @cached_property
    def ground(self) -> Ground:
        """The host's CPUs, and its lanes as last known."""
        return ground_of(self.topology, self.options)

    @cached_property
    def topology(self) -> Topology:
        """Read once for the whole session."""
        return topology.read()

    def check_cpus(self) -> None:
        """UsageError where --cpus names a CPU that cannot be pinned to."""
        if self.options.cpus is not None:
            topology.check_pins(self.topology, self.options.cpus)

    def pick(
        self, cells: Sequence[PlannedCell], gates: Sequence[PlannedGate], images: Sequence[PlannedCell] = ()
    ) -> None:
        arms = [arm for gate in gates for arm in gate.arms]
        planner.check_sets(self.options, self.collected)
        planner.check_names((*cells, *arms, *images))
        planner.check_kinds(gates)
        self._sweeps = {sweep.row: sweep for sweep in planner.sweeps(cells, gates)}
        self._images = tuple(images)
        self.picked = bool(cells or gates)

    def describe(self) -> str:
        policy = catalog.load_policy(self.options.policy)
        return preview.describe(tuple(self._sweeps.values()), self.options, policy, self.options.order_seed)

    # ---- measuring

    def row(self, row: str) -> RowResult:
        """The row's results; measured now if they are not there yet."""
        if row in self._broken_off:
            pytest.fail(
                f"INVALID: {row}: its measuring was broken off ({self._broken_off[row]}) and is not begun "
                "again in this session; next: give tests that measure more time, as the first of a row waits "
                "for all of it",
                pytrace=False,
            )
        if row not in self._results:
            began = time.monotonic()
            try:
                self._measure(row)
            except BaseException as stop:
                self._broken_off[row] = one_line(f"{type(stop).__name__}: {stop}")
                raise
            finally:
                self.spent_s += time.monotonic() - began
        policy = self._open().policy
        return RowResult(self._results[row], policy, self.options.inconclusive_fails)

    def _measure(self, row: str) -> None:
        measuring = self._open()
        sweep = self._sweeps[row]
        result = run_sweep(sweep, self.options, measuring.policy, measuring, self.options.order_seed)
        self._results[row] = result
        if self.options.profile_host:
            measuring.profile(sweep)

    def _open(self) -> MeasuringSession:
        if self._measuring is None:
            measuring = MeasuringSession(self.options, self.progress, self.topology)
            with ExitStack() as undo:
                undo.callback(measuring.close, missing="it could not be begun")
                measuring.open(tuple(self._sweeps.values()), self._images)
                self._sweeps = {
                    row: reseat(s, measuring.ground, self.options) for row, s in self._sweeps.items()
                }
                measuring.begin(tuple(self._sweeps.values()))
                undo.pop_all()
            self._measuring = measuring
        return self._measuring

    def image(self, planned: PlannedCell) -> Image:
        return self._open().image(planned)

    @contextmanager
    def boots(self, planned: PlannedCell) -> Iterator[Boots]:
        """`start(cpus=2)` boots the image on as many pinned CPUs; all are ended with the block."""
        measuring = self._open()
        with ExitStack() as stack:

            def start(cpus: int = 1) -> RunningGuest:
                if type(cpus) is not int or not 1 <= cpus <= MAX_CPUS:
                    pytest.fail(f"boot(cpus={cpus!r}): not a CPU count from 1 to {MAX_CPUS}", pytrace=False)
                seated = measuring.seated(planned, cpus)
                if seated.skip:
                    pytest.skip(seated.skip)
                try:
                    return stack.enter_context(measuring.interactive(seated))
                except BenchgateError as error:
                    pytest.fail(str(error), pytrace=False)

            yield start

    # ---- the end

    def note_report(self, line: ReportLine) -> None:
        self._reports.append(line)

    def asked_verdicts(self) -> tuple[Verdict, ...]:
        return tuple(verdict for result in self._results.values() for verdict in result.verdicts)

    def any_verified(self) -> bool:
        """Whether any attempt of this session is a result at all."""
        return any(judged.verified for result in self._results.values() for judged in result.runs)

    def exit_code(self, pytests: int) -> int:
        """0 every gate PASS; 1 a FAIL or INVALID; 5 nothing was decided; 75 only INCONCLUSIVE.

        Verdicts speak first: a FAIL that no test required is still one, and nothing verified is no success.
        """
        passed = pytests == pytest.ExitCode.OK
        if not self.picked or not (passed or pytests == pytest.ExitCode.TESTS_FAILED):
            return pytests
        words = [verdict.outcome for verdict in self.asked_verdicts()]
        if any(word in (Word.FAIL, Word.INVALID) for word in words):
            return int(pytest.ExitCode.TESTS_FAILED)
        if not passed:
            return 75 if self.only_inconclusive_failed() else pytests
        if not self.options.inconclusive_fails:
            words = [word for word in words if word is not Word.INCONCLUSIVE] or [Word.SKIP]
        if words:
            return exit_code(words)
        return 0 if self.any_verified() else UNDECIDED

    def only_inconclusive_failed(self) -> bool:
        failed = [line for line in self._reports if line.outcome == "failed"]
        return bool(failed) and all(line.message.startswith(Word.INCONCLUSIVE) for line in failed)

    def close(self, *, interrupted: bool) -> None:
        self.progress.close()
        measuring, self._measuring = self._measuring, None
        if measuring is not None:
            missing = [row for row in self._sweeps if row not in self._results]
            reason = f"interrupted before {', '.join(missing) or 'its end'}" if interrupted or missing else ""
            self._view = measuring.close(missing=reason)

    _view: SessionView | None = None

    @cached_property
    def interruptions(self) -> Interruptions:
        """What ends the session before its time."""
        return Interruptions(self.progress.note)

    def summary(self, width: int) -> str:
        """What the terminal shows: the verdicts, the figures, and where the rest is."""
        if self._view is None:
            return self.complaint
        lines = [
            terminal.render(self._view, width),
            *([attribution.terminal(tables, width)] if (tables := self._view.attributions) else []),
            f"report: {self.options.reports / 'latest' / 'summary.md'}",
        ]
        return "\n".join([*lines, self.complaint] if self.complaint else lines)
