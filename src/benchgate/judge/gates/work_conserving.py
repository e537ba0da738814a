"""work_conserving: CPUs may idle only as much while threads wait that may run there.

Takes a gate with a cell, no base, `at_most` as a share of all CPUs' time in the window and, if the setting
`longest` is given, the longest time for which one CPU may idle so; gives a Ruling. PASS if both figures are
at most their thresholds, FAIL if one is above. Each is the median of the runs. The threads are seen on the
instruction clock only; on other lanes the gate is a SKIP. Fails with DecideError if the gate is invalid.
"""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.errors import DecideError
from benchgate.base.gates import Gate, GateInput, Policy, Ruling, Word
from benchgate.base.workload.metrics import WASTED_LONGEST, Metric, time_of
from benchgate.judge.gates import limit
from benchgate.judge.gates.arm_checks import known_arm
from benchgate.judge.gates.wording import reason

KIND = "work_conserving"
LONGEST = "longest"


def check(gate: Gate, _metric: Metric | None = None, _policy: Policy | None = None) -> None:
    limit.check(gate)
    if gate.at_most is None or gate.at_most >= 1:
        raise DecideError(f"{gate.id}: {KIND} needs `at_most` below 1 (100% of the CPUs' time)")
    _longest(gate)


def judge(gate: Gate, measured: GateInput) -> Ruling:
    check(gate)
    arm = known_arm(gate.cell, measured)
    advice = (
        f"benchgate threads {arm.sample}: it says which threads waited, on which CPU, and from which wake-up"
    )
    share = limit.judge_with(gate, measured, advice)
    longest = _longest(gate)
    if longest is None:
        return share
    second = replace(gate, metric=WASTED_LONGEST, at_most=longest)
    return _both(share, limit.judge_with(second, measured, advice))


def _longest(gate: Gate) -> float | None:
    """In ns."""
    word = gate.setting(LONGEST)
    try:
        return time_of(word) if word else None
    except ValueError as error:
        raise DecideError(f"{gate.id}: {LONGEST}: {error}") from None


def _both(share: Ruling, longest: Ruling) -> Ruling:
    """A FAIL of either decides; a PASS needs both."""
    needs = {
        cell: max(share.needs.get(cell, 0), longest.needs.get(cell, 0))
        for cell in {**share.needs, **longest.needs}
    }
    for ruling in (share, longest):
        if ruling.verdict.outcome is Word.FAIL:
            return ruling
    for ruling in (share, longest):
        if ruling.verdict.outcome is not Word.PASS:
            return replace(ruling, needs=needs)
    what = (ruling.verdict.reason.removeprefix(f"{Word.PASS}: ") for ruling in (share, longest))
    return replace(share, verdict=replace(share.verdict, reason=reason(Word.PASS, "; ".join(what))))
