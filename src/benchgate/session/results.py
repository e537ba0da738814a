"""What a test may ask of its cell or its verdict, and the measured row from which both come.

Takes one sweep's result; gives CellResult and VerdictResult by id. Both end a test as pytest does: by a
failure or a skip in one sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from benchgate.base.gates import Gate, GateInput, Policy, Verdict, Word
from benchgate.base.runs import Outcome
from benchgate.judge.gates import verified
from benchgate.judge.judged_run import JudgedRun
from benchgate.plan.planned import PlannedGate
from benchgate.session.sweep import SweepResult

Properties = list[tuple[str, object]]


@dataclass(frozen=True, slots=True)
class CellResult:
    """What a test of a cell may ask."""

    id: str
    runs: tuple[JudgedRun, ...]
    verified: Verdict
    """Of the gate `verified`: whether every run of this cell was right."""
    properties: Properties

    def require_verified(self) -> None:
        """Fails unless every run that was asked for was made, and verified."""
        if self.verified.outcome is not Word.PASS:
            pytest.fail(f"{self.verified.reason}{self._where}", pytrace=False)

    @property
    def work(self) -> tuple[int, ...]:
        """The work windows of the verified runs, in order."""
        return tuple(run.verified.work for run in self.runs if run.verified and run.outcome is Outcome.OK)

    @property
    def _where(self) -> str:
        bad = next((run.run.folder for run in self.runs if run.verified is None), None)
        return f" ({bad})" if bad else ""


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


@dataclass(frozen=True, slots=True)
class RowResult:
    """One sweep's results, looked up by id."""

    result: SweepResult
    policy: Policy
    inconclusive_fails: bool

    def cell(self, cell_id: str) -> CellResult:
        runs = tuple(judged for judged in self.result.runs if judged.run.cell.id == cell_id)
        arm = self.result.arms[cell_id]
        properties: Properties = [("benchgate.cell", cell_id)]
        if arm.work is not None:
            properties += [("benchgate.lane", str(arm.lane)), ("benchgate.work", str(arm.work.samples))]
        gate = Gate(id=cell_id, kind=verified.KIND, base=None, cell=arm.cell)
        ruling = verified.judge(gate, GateInput(self.result.arms, self.policy, {}))
        return CellResult(cell_id, runs, ruling.verdict, properties)

    def verdict(self, planned: PlannedGate) -> VerdictResult:
        """Its id may have been told apart from another gate's on the same arms; what it asks is its own."""
        name = next(one.gate.id for one in self.result.plan.gates if one.without_id == planned.without_id)
        found = next(verdict for verdict in self.result.verdicts if verdict.id == name)
        properties: Properties = [
            ("benchgate.verdict", str(found.outcome)),
            ("benchgate.ratio", str(found.ratio)),
            ("benchgate.low", str(found.low)),
            ("benchgate.high", str(found.high)),
            ("benchgate.threshold", str(found.threshold)),
            ("benchgate.lane", str(found.lane)),
        ]
        return VerdictResult(found, self.inconclusive_fails, properties)
