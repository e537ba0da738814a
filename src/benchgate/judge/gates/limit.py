"""limit: the figure of a metric itself must be at least, or at most, a threshold.

Takes a gate with a cell and no base, and with `at_least` or `at_most`; gives a Ruling. PASS if the interval
of the median is on the right side of the threshold or ends at it, FAIL if it is on the wrong side. Fails
with DecideError if the gate is invalid.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Gate, GateInput, Policy, Ruling, Word
from benchgate.base.workload.metrics import SHARE, Metric, number
from benchgate.judge.gates import figures, groups, looks
from benchgate.judge.gates.arm_checks import known_arm
from benchgate.judge.gates.figures import GateFigures, in_time, of_median, unusable
from benchgate.judge.gates.looks import GateQuestion, require_one_bound, rule_of
from benchgate.judge.gates.wording import printed_step, reason, subject, where_time_goes

KIND = "limit"


def check(gate: Gate, metric: Metric | None = None, _policy: Policy | None = None) -> None:
    if gate.base is not None:
        raise DecideError(f"{gate.id}: a limit gate takes one cell and no base")
    require_one_bound(gate)
    if metric is not None:
        _require_decision(gate, metric)


def _require_decision(gate: Gate, metric: Metric) -> None:
    """A new gate that no figure can fail, or that none can pass, is refused."""
    for name, limit in gate.thresholds.items():
        if metric.unit == SHARE and (limit > 1 or (limit == 1 and gate.at_most is not None)):
            given = f"{name}={number(limit)} ({number(limit * 100)}%)"
            why = f'{gate.metric} is a share, so {given} decides nothing; 5% are 0.05 or "5%"'
            raise DecideError(f"{gate.kind}: {why}")
        if limit == 0 and gate.at_least is not None:
            raise DecideError(f"{gate.kind}: {name}=0 decides nothing: no figure is below 0")


def judge(gate: Gate, measured: GateInput) -> Ruling:
    check(gate)
    return judge_with(gate, measured, where_time_goes(known_arm(gate.cell, measured), gate.metric))


def judge_with(gate: Gate, measured: GateInput, advice: str) -> Ruling:
    """The ruling; `advice` says what to do next after a FAIL."""
    arm = known_arm(gate.cell, measured)
    asked = GateQuestion(gate, measured, (arm,), rule_of(gate, advice))
    return looks.judge(asked, partial(_figures, gate, measured, arm, asked.limit))


def _figures(gate: Gate, measured: GateInput, arm: Arm, limit: float, look: int) -> GateFigures:
    of = arm.measurement(gate.metric)
    if of is None or len(of.samples) < look:
        raise DecideError(f"{gate.id}: the arm has too few samples of {gate.metric}")
    if gate.setting("unit"):
        if (timed := in_time(of)) is None:
            return unusable(of.lane, limit, look, Word.INVALID, _uncountable(gate, of.unit))
        of = timed
    samples, blur = of.samples[:look], max(of.blur[:look], default=0.0)
    step = printed_step(of.step, samples, of.unit)
    seen = of_median(samples, measured.policy, of.lane, limit, off=of.step, blur=blur, step=step)
    arm_groups = groups.of_arm(gate.cell.id, figures.first_runs(of, look), measured.policy, limit)
    return groups.with_groups(replace(seen, unit=of.unit), [arm_groups], lambda medians: medians[0])


def _uncountable(gate: Gate, unit: str) -> str:
    text = f"{subject(gate)}: its guest counts {gate.metric} in {unit} and does not say how many are a second"
    return reason(Word.INVALID, text, f"give the threshold as a number of {unit}")
