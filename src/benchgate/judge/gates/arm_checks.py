"""Shared by all kinds of gate: which arms cannot be judged, and why.

Takes arms and a gate's input; gives sentences, empty if there is nothing to say. Fails with DecideError if an
arm is missing.
"""

from __future__ import annotations

from benchgate.base.cells import Cell, Placement
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, GateInput, Word
from benchgate.base.text import counted
from benchgate.judge.gates.wording import about, first_of, not_run, reason

QUIETER = "stop the host's other work, or use --clock insn"


def early(what: str, arms: tuple[Arm, ...]) -> tuple[Word, str] | None:
    """The verdict on these arms if their figures do not matter. `what`: the subject of the sentence."""
    for arm in arms:
        if broken := broken_arm(arm):
            return Word.INVALID, reason(Word.INVALID, about(what, broken), see_runs(arm))
    for arm in arms:
        if arm.skipped:
            return Word.SKIP, reason(Word.SKIP, about(what, not_run(arm)))
        if arm.placement is Placement.OVERSUBSCRIBED:
            why = f"{arm.cell.id} has more CPUs than pins, so it is functional only"
            return Word.SKIP, reason(Word.SKIP, about(what, why), "give --cpus one host CPU per vCPU")
    return None


def known_arm(cell: Cell, measured: GateInput) -> Arm:
    try:
        return measured.arms[cell.id]
    except KeyError:
        raise DecideError(f"there is no arm {cell.id}; the sweep must contain every arm of a gate") from None


def broken_arm(arm: Arm) -> str:
    """Why an arm is INVALID, with its name; empty if it is not."""
    result = unverified(arm)
    return f"{arm.cell.id}: {result}" if result else unrepeated(arm)


def unverified(arm: Arm) -> str:
    """An arm is INVALID with one invalid run, or without a verified one."""
    if arm.invalid:
        bad = f"{len(arm.invalid)} of {counted(max(arm.attempted, len(arm.invalid)), 'run')}"
        return f"{bad} not verified: {first_of(arm.invalid)}"
    if arm.attempted > len(arm.void) and not arm.runs:
        return f"{counted(arm.attempted, 'run')} attempted, none is verified"
    return ""


def unrepeated(arm: Arm) -> str:
    """All arms are INVALID if the clock did not repeat a run. The sentence names its arm, not this one."""
    if not arm.unrepeated:
        return ""
    return f"the instruction clock does not repeat on this host: {first_of(arm.unrepeated)}"


def broken_beside(measured: GateInput) -> Arm | None:
    """The arm because of which valid arms have too few runs: an invalid run in any arm ends the sweep."""
    return next(filter(broken_arm, measured.arms.values()), None)


def ended(measured: GateInput) -> tuple[Word, str, str] | None:
    """Gives the word of a gate that has seen nothing, why the sweep ended before its arms had enough runs,
    and what to do next."""
    if beside := broken_beside(measured):
        why = f"too few runs, because the sweep ended at {broken_arm(beside)}"
        return Word.INVALID, why, see_runs(beside)
    if measured.too_many_void:
        return Word.SKIP if measured.policy.shows else Word.INCONCLUSIVE, void_runs(measured), QUIETER
    return None


def void_runs(measured: GateInput) -> str:
    """Why a sweep ended at noise of the host."""
    void = [why for arm in measured.arms.values() for why in arm.void]
    runs = sum(arm.attempted for arm in measured.arms.values())
    rule = measured.policy.void
    return (
        f"{len(void)} of {counted(runs, 'run')} of this sweep are void, more than {rule.most} and "
        f"{rule.share:.0%}: {first_of(void)}"
    )


def see_runs(arm: Arm) -> str:
    """What to do next about an arm that is INVALID."""
    if not arm.culprit:
        return "compare the logs of these runs, clock.log first"
    return f"read {arm.culprit}/serial.log first, then the other logs beside it"
