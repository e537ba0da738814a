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

from benchgate import outline, plan, report
from benchgate.errors import BenchgateError
from benchgate.gates.ratio import broken_arm
from benchgate.host.facts import printable
from benchgate.interruptions import Interruptions
from benchgate.machine.guest import Machine
from benchgate.model import Image, Outcome, Verdict, Word
from benchgate.options import MAX_CPUS, Options
from benchgate.plan import Ground, PlannedCell, PlannedGate, SweepPlan
from benchgate.progress import Progress
from benchgate.render import attribution, terminal
from benchgate.render.model import SessionView
from benchgate.report import ReportLine
from benchgate.sweep import JudgedRun, SweepResult, reseat, run_sweep
from benchgate.workshop import Workshop, ground_of

Properties = list[tuple[str, object]]
Boots = Callable[..., Machine]


@dataclass(frozen=True, slots=True)
class CellResult:
    """What a test of a cell may ask."""

    id: str
    runs: tuple[JudgedRun, ...]
    skipped: str
    properties: Properties
    ended_by: str = ""
    """Which arm's bad run ended the sweep, and why."""
    broken: str = ""
    """Why the arm is no result, though each of its runs may be one by itself."""

    def require_verified(self) -> None:
        """Fails unless every attempt of this cell was verified, and there was one."""
        bad = [run for run in self.runs if run.outcome in (Outcome.INVALID, Outcome.CRASHED)]
        if bad:
            where = bad[0].run.folder
            more = f" ({len(bad)} of {len(self.runs)} runs)" if len(bad) > 1 else ""
            pytest.fail(f"INVALID: {self.id}: {bad[0].reason}{more}; see {where}/serial.log", pytrace=False)
        if not any(run.outcome is Outcome.OK for run in self.runs):
            why = f": the sweep ended at {self.ended_by}" if self.ended_by else ""
            pytest.fail(f"INVALID: {self.id}: no verified run{why}", pytrace=False)
        if self.broken:
            pytest.fail(f"INVALID: {self.broken}", pytrace=False)

    @property
    def work(self) -> tuple[int, ...]:
        """The work windows of the verified runs, in order."""
        return tuple(run.verified.work for run in self.runs if run.verified and run.outcome is Outcome.OK)


@dataclass(frozen=True, slots=True)
class VerdictResult:
    """What a test of a gate may ask."""

    verdict: Verdict
    inconclusive_fails: bool
    properties: Properties

    def require_pass(self) -> None:
        """Passes on PASS only; SKIP skips with its reason."""
        word, reason = self.verdict.outcome, self.verdict.reason
        if word is Word.PASS:
            return
        if word is Word.SKIP or (word is Word.INCONCLUSIVE and not self.inconclusive_fails):
            pytest.skip(reason)
        pytest.fail(reason, pytrace=False)


@dataclass
class Bench:
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
    _workshop: Workshop | None = None
    _reports: list[ReportLine] = field(default_factory=list)
    collected: set[str] = field(default_factory=set)
    """The workloads of all tests, picked or not."""
    picked: bool = False
    """Whether this session has a test that wants a figure."""

    @cached_property
    def ground(self) -> Ground:
        """The host's CPUs, and its lanes as last known."""
        return ground_of(self.options)

    def check_cpus(self) -> None:
        """UsageError where --cpus names one that cannot be pinned to."""
        assert self.ground.pins

    def pick(
        self, cells: Sequence[PlannedCell], gates: Sequence[PlannedGate], images: Sequence[PlannedCell] = ()
    ) -> None:
        arms = [arm for gate in gates for arm in (gate.base, gate.arm)]
        plan.check_sets(self.options, self.collected)
        plan.check_names((*cells, *arms, *images))
        self._sweeps = {sweep.row: sweep for sweep in plan.sweeps(cells, gates)}
        self._images = tuple(images)
        self.picked = bool(cells or gates)

    def describe(self) -> str:
        return outline.describe(tuple(self._sweeps.values()), self.options, self.options.order_seed)

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
                self._broken_off[row] = printable(f"{type(stop).__name__}: {stop}")
                raise
            finally:
                self.spent_s += time.monotonic() - began
        return RowResult(self._results[row], self.options)

    def _measure(self, row: str) -> None:
        shop = self._open()
        sweep = self._sweeps[row]
        result = run_sweep(sweep, self.options, shop.policy, shop, self.options.order_seed)
        self._results[row] = result
        if self.options.profile_host:
            shop.profile(sweep)

    def _open(self) -> Workshop:
        if self._workshop is None:
            shop = Workshop(self.options, self.progress)
            with ExitStack() as undo:
                undo.callback(shop.close, missing="it could not be begun")
                shop.open(tuple(self._sweeps.values()), self._images)
                self._sweeps = {row: reseat(s, shop.ground, self.options) for row, s in self._sweeps.items()}
                shop.begin(tuple(self._sweeps.values()))
                undo.pop_all()
            self._workshop = shop
        return self._workshop

    def image(self, planned: PlannedCell) -> Image:
        return self._open().image(planned)

    @contextmanager
    def boots(self, planned: PlannedCell) -> Iterator[Boots]:
        """`start(cpus=2)` boots the image on as many pinned CPUs; all are ended with the block."""
        shop = self._open()
        with ExitStack() as stack:

            def start(cpus: int = 1) -> Machine:
                if type(cpus) is not int or not 1 <= cpus <= MAX_CPUS:
                    pytest.fail(f"boot(cpus={cpus!r}): not a CPU count from 1 to {MAX_CPUS}", pytrace=False)
                seated = shop.seated(planned, cpus)
                if seated.skip:
                    pytest.skip(seated.skip)
                try:
                    return stack.enter_context(shop.interactive(seated))
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
            return report.exit_code(words)
        return 0 if self.any_verified() else report.UNDECIDED

    def only_inconclusive_failed(self) -> bool:
        failed = [line for line in self._reports if line.outcome == "failed"]
        return bool(failed) and all(line.message.startswith(Word.INCONCLUSIVE) for line in failed)

    def close(self, *, interrupted: bool) -> None:
        self.progress.close()
        shop, self._workshop = self._workshop, None
        if shop is not None:
            missing = [row for row in self._sweeps if row not in self._results]
            reason = f"interrupted before {', '.join(missing) or 'its end'}" if interrupted or missing else ""
            self._view = shop.close(missing=reason)

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


@dataclass(frozen=True, slots=True)
class RowResult:
    """One sweep's results, looked up by id."""

    result: SweepResult
    options: Options

    def cell(self, cell_id: str) -> CellResult:
        runs = tuple(judged for judged in self.result.runs if judged.run.cell.id == cell_id)
        arm = self.result.arms[cell_id]
        properties: Properties = [("benchgate.cell", cell_id)]
        if arm.work is not None:
            properties += [("benchgate.lane", str(arm.lane)), ("benchgate.work", str(arm.work.samples))]
        ended_by = next(filter(None, map(broken_arm, self.result.arms.values())), "")
        return CellResult(cell_id, runs, arm.skipped, properties, ended_by, broken_arm(arm))

    def verdict(self, planned: PlannedGate) -> VerdictResult:
        """Its id may have been told apart from another gate's on the same arms; what it asks is its own."""
        name = next(one.gate.id for one in self.result.plan.gates if one.asks == planned.asks)
        found = next(verdict for verdict in self.result.verdicts if verdict.id == name)
        properties: Properties = [
            ("benchgate.verdict", str(found.outcome)),
            ("benchgate.ratio", str(found.ratio)),
            ("benchgate.low", str(found.low)),
            ("benchgate.high", str(found.high)),
            ("benchgate.threshold", str(found.threshold)),
            ("benchgate.lane", str(found.lane)),
        ]
        return VerdictResult(found, self.options.inconclusive_fails, properties)
