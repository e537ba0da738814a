"""verified: was every run of a cell right? It says nothing of speed.

Takes a gate with a cell and no base, gives a Ruling. PASS when all runs wanted are there and verified;
INVALID when one of them is not, or another arm's ended the sweep before all were made; SKIP when none was
attempted or fewer than wanted are there.
"""

from __future__ import annotations

from benchgate.errors import DecideError
from benchgate.gates.base import Evidence, Gate, Ruling
from benchgate.gates.ratio import SEE_RUNS, broken_arm, broken_beside, known_arm
from benchgate.gates.wording import counted, reason, verdict
from benchgate.model import Placement, Word

KIND = "verified"


def judge(gate: Gate, evidence: Evidence) -> Ruling:
    if gate.base is not None or gate.at_least is not None or gate.at_most is not None:
        raise DecideError(f"{gate.id}: a verified gate takes a cell only, no base and no threshold")
    arm, wanted = known_arm(gate.cell, evidence), evidence.policy.first
    facts: dict[str, object] = {"lane": arm.lane, "runs": arm.runs}
    broken = broken_arm(arm)
    if broken:
        return Ruling(verdict(gate, Word.INVALID, reason(Word.INVALID, broken, SEE_RUNS), facts))
    if arm.skipped:
        text = reason(Word.SKIP, f"{gate.cell.id} is not run: {arm.skipped}")
        return Ruling(verdict(gate, Word.SKIP, text, facts))
    if arm.voided > evidence.policy.max_voided:
        what = f"{gate.cell.id}: {counted(arm.voided, 'run')} voided by host noise"
        text = reason(Word.INCONCLUSIVE, what, "repeat on a quieter host")
        return Ruling(verdict(gate, Word.INCONCLUSIVE, text, facts))
    if arm.runs < wanted and (beside := broken_beside(evidence)):
        text = reason(Word.INVALID, f"{gate.cell.id}: {beside}", SEE_RUNS)
        return Ruling(verdict(gate, Word.INVALID, text, facts), {gate.cell.id: wanted})
    if arm.runs < wanted:
        text = reason(Word.SKIP, f"{gate.cell.id}: {arm.runs} of {counted(wanted, 'run')} done")
        return Ruling(verdict(gate, Word.SKIP, text, facts), {gate.cell.id: wanted})
    text = f"{gate.cell.id}: {counted(arm.runs, 'run')}, each verified"
    if arm.placement is Placement.OVERSUBSCRIBED:
        text += " (oversubscribed: functional only)"
    return Ruling(verdict(gate, Word.PASS, reason(Word.PASS, text), facts))
