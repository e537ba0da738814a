"""verified: every run of a cell must be verified. It does not check speed.

Takes a gate with a cell and no base; gives a Ruling. PASS if the required number of runs is verified; INVALID
if a run is not verified, or if an invalid run of another arm ended the sweep too early; INCONCLUSIVE if the
host disturbed too many runs; SKIP if the cell was skipped or has too few runs. Fails with DecideError if the
gate is invalid.
"""

from __future__ import annotations

from benchgate.base.cells import Placement
from benchgate.base.errors import DecideError
from benchgate.base.gates import VERIFIED, Arm, Gate, GateInput, Policy, Ruling, Word
from benchgate.base.metrics import Metric
from benchgate.base.text import counted
from benchgate.base.workloads import UNVERIFIED
from benchgate.judge.gates.arm_checks import (
    QUIETER,
    broken_beside,
    known_arm,
    see_runs,
    too_few,
    unrepeated,
    unverified,
    void_runs,
)
from benchgate.judge.gates.wording import first_of, not_run, reason, verdict

KIND = VERIFIED


def check(gate: Gate, _metric: Metric | None = None, _policy: Policy | None = None) -> None:
    if gate.base is not None or gate.at_least is not None or gate.at_most is not None:
        raise DecideError(f"{gate.id}: a verified gate takes only a cell, and neither a base nor a threshold")


def judge(gate: Gate, measured: GateInput) -> Ruling:
    check(gate)
    arm, wanted = known_arm(gate.cell, measured), measured.policy.first
    facts: dict[str, object] = {"lane": arm.lane, "runs": arm.runs}
    if broken := unverified(arm) or unrepeated(arm):
        text = reason(Word.INVALID, f"{gate.cell.id}: {broken}", see_runs(arm))
        return Ruling(verdict(gate, Word.INVALID, text, facts))
    if arm.skipped:
        return Ruling(verdict(gate, Word.SKIP, not_run(arm), facts))
    if arm.runs < wanted and (beside := broken_beside(measured)):
        text = reason(Word.INVALID, f"{gate.cell.id}: {too_few(beside)}", see_runs(beside))
        return Ruling(verdict(gate, Word.INVALID, text, facts), {gate.cell.id: wanted})
    if arm.runs < wanted and measured.too_many_void:
        word = Word.SKIP if measured.policy.shows else Word.INCONCLUSIVE
        text = reason(word, f"{gate.cell.id}: {void_runs(measured)}", QUIETER)
        return Ruling(verdict(gate, word, text, facts))
    if arm.runs < wanted:
        text = reason(Word.SKIP, f"{gate.cell.id}: {_too_few(arm, wanted, measured)}")
        return Ruling(verdict(gate, Word.SKIP, text, facts), {gate.cell.id: wanted})
    how = f"all worked ({UNVERIFIED}: for information only)" if arm.informs else "all verified"
    text = f"{gate.cell.id}: {counted(arm.runs, 'run')}, {how}"
    if arm.placement is Placement.OVERSUBSCRIBED:
        text += " (oversubscribed: functional only)"
    return Ruling(verdict(gate, Word.PASS, reason(Word.PASS, text), facts))


def _too_few(arm: Arm, wanted: int, measured: GateInput) -> str:
    """An informing sweep ends at a run that came to no result, which is void there."""
    made = f"only {arm.runs} of {counted(wanted, 'run')} made"
    void = [why for one in measured.arms.values() for why in one.void] if measured.policy.shows else ()
    return f"{made}; void: {first_of(void)}" if void else made
