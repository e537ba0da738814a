"""verified: every run of a cell must be verified. It does not check speed.

Takes a gate with a cell and no base; gives a Ruling. PASS if the required number of runs is verified; INVALID
if a run is not verified, or if an invalid run of another arm ended the sweep too early; INCONCLUSIVE if the
host disturbed too many runs; SKIP if the cell was skipped or has too few runs. Fails with DecideError if the
gate is invalid.
"""

from __future__ import annotations

from functools import partial

from benchgate.base.cells import Placement
from benchgate.base.errors import DecideError
from benchgate.base.gates import VERIFIED, Arm, Gate, GateInput, Policy, Ruling, Word
from benchgate.base.text import counted
from benchgate.base.workload.metrics import Metric
from benchgate.base.workload.workloads import UNVERIFIED
from benchgate.judge.gates.arm_checks import ended, known_arm, see_runs, unrepeated, unverified
from benchgate.judge.gates.wording import first_of, not_run, ruling

KIND = VERIFIED


def check(gate: Gate, _metric: Metric | None = None, _policy: Policy | None = None) -> None:
    if gate.base is not None or gate.at_least is not None or gate.at_most is not None:
        raise DecideError(f"{gate.id}: a verified gate takes only a cell, and neither a base nor a threshold")


def judge(gate: Gate, measured: GateInput) -> Ruling:
    check(gate)
    arm, wanted = known_arm(gate.cell, measured), measured.policy.first
    say = partial(ruling, gate, lane=arm.lane, runs=arm.runs)
    if broken := unverified(arm) or unrepeated(arm):
        return say(Word.INVALID, f"{gate.cell.id}: {broken}", see_runs(arm))
    if arm.skipped:
        return say(Word.SKIP, not_run(arm))
    if arm.runs < wanted:
        word, why, advice = ended(measured) or (Word.SKIP, _too_few(arm, wanted, measured), "")
        needs = {} if measured.too_many_void and word is not Word.INVALID else {gate.cell.id: wanted}
        return say(word, f"{gate.cell.id}: {why}", advice, needs)
    how = f"all worked ({UNVERIFIED}: for information only)" if arm.informs else "all verified"
    how += arm.witness
    text = f"{gate.cell.id}: {counted(arm.runs, 'run')}, {how}"
    if arm.placement is Placement.OVERSUBSCRIBED:
        text += " (oversubscribed: functional only)"
    return say(Word.PASS, text)


def _too_few(arm: Arm, wanted: int, measured: GateInput) -> str:
    """An informing sweep ends at a run that came to no result, which is void there."""
    made = f"only {arm.runs} of {counted(wanted, 'run')} made"
    void = [why for value in measured.arms.values() for why in value.void] if measured.policy.shows else ()
    return f"{made}; void: {first_of(void)}" if void else made
