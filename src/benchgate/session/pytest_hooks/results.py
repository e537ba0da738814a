"""The values of the fixtures `cell` and `verdict`, and the measured row from which both come.

Takes one sweep's result; gives CellResult and VerdictResult by id. Their `require_...` methods end the test
with pytest's failure or skip, in one sentence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchgate.base.cells import Window
from benchgate.base.gates import Verdict, Word
from benchgate.base.runs import Outcome
from benchgate.base.text import located
from benchgate.judge.judged_run import JudgedRun
from benchgate.plan.planned import PlannedCell, PlannedGate
from benchgate.plan.planner import verified_gate
from benchgate.session.sweep import SweepResult

Properties = list[tuple[str, object]]
PACKAGE = Path(__file__).parents[2]


class NotPassed(pytest.fail.Exception):  # type: ignore[misc, name-defined]
    """A test that required a verdict which is not PASS; the message is the verdict's reason."""


def is_ours(path: str) -> bool:
    """True if it is a file of benchgate's own code."""
    return Path(path).is_relative_to(PACKAGE)


def require(outcome: Word, reason: str, *, inconclusive_fails: bool) -> None:
    """Passes only on PASS; SKIP skips the test with its reason."""
    if outcome is Word.SKIP or (outcome is Word.INCONCLUSIVE and not inconclusive_fails):
        pytest.skip(reason)
    if outcome is not Word.PASS:
        raise NotPassed(reason, pytrace=False)


@dataclass(frozen=True, slots=True)
class CellResult:
    """The value of the fixture `cell`."""

    id: str
    """The cell's name, such as `primes-linux-smp2`."""
    runs: tuple[JudgedRun, ...]
    """All attempts, also those that are no result."""
    verified: Verdict
    """The verdict of this cell's gate `verified`."""
    properties: Properties
    """What pytest's own reports get of it, such as junit.xml."""

    def require_verified(self) -> None:
        """Passes only if every requested run was made and verified; SKIP skips the test with its reason."""
        require(self.verified.outcome, self.verified.reason, inconclusive_fails=True)

    @property
    def work(self) -> tuple[int, ...]:
        """The work windows of the verified runs, in order."""
        return tuple(int(length) for length in self.metric(Window.WORK))

    def metric(self, name: str) -> tuple[float, ...]:
        """A metric of the verified runs, in order: `work`, `total`, one that the workload declares or
        one of its threads. A run without a value is left out."""
        counted = (run.verified for run in self.runs if run.verified and run.outcome is Outcome.OK)
        return tuple(run.metrics[name] for run in counted if name not in {**run.absent, **run.skipped})


@dataclass(frozen=True, slots=True)
class VerdictResult:
    """The value of the fixture `verdict`."""

    verdict: Verdict
    """The verdict itself: its outcome, figure, interval and reason."""
    inconclusive_fails: bool
    """Whether `require_pass` fails on INCONCLUSIVE; else it skips (`--inconclusive`)."""
    properties: Properties
    """What pytest's own reports get of it, such as junit.xml."""

    def require_pass(self) -> None:
        """Passes only on PASS; SKIP skips the test with its reason."""
        require(self.verdict.outcome, self.verdict.sentence, inconclusive_fails=self.inconclusive_fails)


@dataclass(frozen=True, slots=True)
class RowResult:
    """One sweep's results, looked up by id."""

    result: SweepResult
    inconclusive_fails: bool

    def skip(self, planned: PlannedCell) -> str:
        """Why the cell was not run; empty if it was."""
        return self.result.arms[planned.cell.id].skipped

    def cell(self, planned: PlannedCell) -> CellResult:
        cell_id, verdict = planned.cell.id, self._found(verified_gate(planned))
        runs = tuple(judged for judged in self.result.runs if judged.run.cell.id == cell_id)
        arm = self.result.arms[cell_id]
        properties: Properties = [("benchgate.cell", cell_id), ("benchgate.verdict", str(verdict.outcome))]
        if arm.work is not None:
            properties += [("benchgate.lane", str(arm.lane)), ("benchgate.work", str(arm.work.samples))]
        return CellResult(cell_id, runs, verdict, properties)

    def verdict(self, planned: PlannedGate) -> VerdictResult:
        result = self._found(planned)
        name = "ratio" if result.value is None else "value"
        names = (name, "low", "high", "threshold", "lane", "metric")
        properties: Properties = [("benchgate.verdict", str(result.outcome))]
        properties += [(f"benchgate.{name}", str(getattr(result, name))) for name in names]
        return VerdictResult(result, self.inconclusive_fails, properties)

    def _found(self, planned: PlannedGate) -> Verdict:
        """Found by what the gate asks, because planning may have changed the id to make it unique."""
        name = next(gate.gate.id for gate in self.result.plan.gates if gate.without_id == planned.without_id)
        result = next(verdict for verdict in self.result.verdicts if verdict.id == name)
        folders = [judged.run.folder.parent.parent for judged in self.result.runs[:1]]
        return replace(result, reason=located(result.reason, folders[0])) if folders else result
