"""regression: how many times worse a metric is than in the baseline of an earlier session.

Takes a gate with a cell, a baseline and `at_most`; gives a Ruling. PASS if the interval of the ratio is at or
below the threshold, FAIL if it is above. INVALID without a baseline, without the cell or the metric in it, if
it is of another lane, unit or (on wall time) machine, and if on the instruction clock the same program gave
other figures. Fails with DecideError if the gate is invalid.
"""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.baselines import BaselineArm
from benchgate.base.cells import Lane
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Gate, GateInput, Policy, Ruling, Word
from benchgate.base.metrics import Better, Metric
from benchgate.base.runs import Measurement
from benchgate.base.stats import Interval, ratio_interval, ratio_of_medians, serial_dependence
from benchgate.base.text import counted
from benchgate.judge.gates import baseline_checks, effect, looks
from benchgate.judge.gates.arm_checks import known_arm
from benchgate.judge.gates.figures import RATIO, Figures
from benchgate.judge.gates.inclusive import rule_of
from benchgate.judge.gates.looks import Question, Rule
from benchgate.judge.gates.wording import number, printed_step, reason, subject, verdict

KIND = "regression"


def check(gate: Gate, _metric: Metric | None = None, _policy: Policy | None = None) -> None:
    if gate.base is not None or gate.at_least is not None or gate.at_most is None or not gate.baseline:
        raise DecideError(f"{gate.id}: a regression gate takes a cell, at_most and a baseline, and no base")
    for name in ("at_most", "insn"):
        limit = getattr(gate, name)
        if limit is not None and limit < 1:
            raise DecideError(
                f"{gate.id}: {name}={number(limit)} would fail on figures that are equal to the baseline's: "
                "give the largest allowed ratio, such as 1.02 for 2% worse"
            )


def judge(gate: Gate, measured: GateInput) -> Ruling:
    check(gate)
    arm = known_arm(gate.cell, measured)
    problem = _problem(gate, measured, arm)
    if problem and measured.policy.informs:
        text = f"{subject(gate)}: for information only: {measured.policy.informs}"
        fields = {"lane": arm.lane, "threshold": gate.threshold(arm.lane), "runs": arm.runs}
        return Ruling(verdict(gate, Word.SKIP, reason(Word.SKIP, text), fields))

    def figures(limit: float, look: int) -> Figures:
        return _figures(gate, measured, limit, look)

    found = (Word.INVALID, problem) if problem else None
    return looks.judge(Question(gate, measured, _rule(gate), (arm,), figures, found))


# ---- what cannot be compared


def _problem(gate: Gate, measured: GateInput, arm: Arm) -> str:
    """The sentence of an INVALID verdict; empty if there is a baseline to compare with."""
    baseline = measured.against.baselines.get(gate.baseline)
    then = _then(gate, measured, arm)
    if baseline is None:
        return _invalid(gate, f"there is no baseline {gate.baseline}", _accept(gate))
    if then is None:
        return _invalid(gate, f"the baseline {gate.baseline} does not have this cell", _accept(gate))
    if lacking := baseline_checks.missing(then, gate.metric):
        return _invalid(gate, lacking, _accept(gate))
    return _contradiction(gate, measured, arm, then)


def _contradiction(gate: Gate, measured: GateInput, arm: Arm, then: BaselineArm) -> str:
    """Known only when the arm has runs."""
    now, other = arm.measurement(gate.metric), then.measurements[gate.metric]
    if now is None:
        return ""
    here, there = measured.against.origin, measured.against.baselines[gate.baseline].origin
    if wrong := baseline_checks.incomparable(now, other, here, there):
        return _invalid(gate, wrong, f"keep one baseline for each lane and machine: {_accept(gate)}")
    if not baseline_checks.is_same_program(now, other, here, there):
        return ""
    differing = baseline_checks.unequal(arm, then, gate.metric)
    why = f"guest, system, QEMU and clock are those of the baseline, but {differing}"
    return _invalid(gate, why, _where(gate, arm)) if differing else ""


def _accept(gate: Gate) -> str:
    return f"benchgate baseline accept DIR --out {gate.baseline}"


def _invalid(gate: Gate, why: str, advice: str) -> str:
    return reason(Word.INVALID, f"{subject(gate)}: {why}", advice)


def _then(gate: Gate, measured: GateInput, arm: Arm) -> BaselineArm | None:
    baseline = measured.against.baselines.get(gate.baseline)
    return baseline_checks.arm_for(baseline, gate.cell, arm.lane) if baseline else None


# ---- the figures


def _figures(gate: Gate, measured: GateInput, limit: float, look: int) -> Figures:
    """How many times worse the first runs of the arm are than all of the baseline's."""
    arm = known_arm(gate.cell, measured)
    kept, now = _then(gate, measured, arm), arm.measurement(gate.metric)
    if kept is None or now is None or len(now.samples) < look:
        raise DecideError(f"{gate.id}: the arm has too few samples of {gate.metric}")
    then = kept.measurements[gate.metric]
    mine, other = now.samples[:look], then.samples
    less = now.metric.better is Better.LESS
    tops, bottoms = (mine, other) if less else (other, mine)
    beside, is_same = _beside(gate, measured, now, then)
    if is_same and set(now.seeds[:look]) <= set(then.seeds):
        # One program and one seed give one figure. `_contradiction` has compared them: no chance is left.
        equal = f"{beside}, equal to the last digit"
        return Figures(now.lane, limit, look, 1.0, Interval(1.0, 1.0), RATIO, beside=equal, effect=0.0)
    if min(*tops, *bottoms) <= 0:
        return _without_ratio(gate, now, limit, look)
    steps = (now.step, then.step) if less else (then.step, now.step)
    interval = ratio_interval(tops, bottoms, measured.policy.alpha, steps)
    blur = max(now.late[:look], default=0.0) + max(then.late, default=0.0)
    return Figures(
        lane=now.lane,
        threshold=limit,
        runs=look,
        value=ratio_of_medians(tops, bottoms),
        interval=interval,
        unit=RATIO,
        # The samples of the instruction clock are seeds, which share no noise.
        dependence=0.0 if now.lane is Lane.INSN else serial_dependence(mine, other),
        blur=blur,
        effect=effect.of_ratio(tops, bottoms, interval, blur),
        step=printed_step(max(now.step, then.step), (*tops, *bottoms), now.unit),
        beside=beside,
    )


def _beside(gate: Gate, measured: GateInput, now: Measurement, then: Measurement) -> tuple[str, bool]:
    """What is compared with, and whether it is the same program."""
    baseline, here = measured.against.baselines[gate.baseline], measured.against.origin
    names = baseline_checks.changed(now, then, here, baseline.origin)
    what = f"another {' and '.join(names)}" if names else "the same guest"
    is_same = baseline_checks.is_same_program(now, then, here, baseline.origin)
    return f"baseline of {baseline.finished[:10]}: {counted(len(then.samples), 'run')} of {what}", is_same


def _without_ratio(gate: Gate, now: Measurement, limit: float, look: int) -> Figures:
    text = f"{subject(gate)}: {gate.metric} is 0 in a run, so there is no ratio"
    found = Word.INCONCLUSIVE, reason(Word.INCONCLUSIVE, text, "use a `limit`")
    nothing = float("inf")
    return Figures(now.lane, limit, look, nothing, Interval(-nothing, nothing), RATIO, unusable=found)


# ---- the rule


def _rule(gate: Gate) -> Rule:
    def advice(arm: Arm) -> str:
        return _where(gate, arm)

    def praise(interval: Interval, threshold: float) -> str:
        """A baseline that is too slow would hide the next regression."""
        if interval.high >= 1 / threshold:
            return ""
        return f"it is better than the baseline, which is stale: {_accept(gate)}"

    return replace(rule_of(gate, advice), praise=praise)


def _where(gate: Gate, arm: Arm) -> str:
    """The command that shows what differs."""
    symbols = " --profile" if arm.lane is Lane.INSN else ""
    return f"benchgate baseline diff {gate.baseline} {arm.sample}{symbols}"
