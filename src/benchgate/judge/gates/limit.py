"""limit: the figure of a metric itself must be at least, or at most, a threshold.

Takes a gate with a cell and no base, and with `at_least` or `at_most`; gives a Ruling. PASS if the interval
of the median is on the right side of the threshold or ends at it, FAIL if it is on the wrong side. Fails
with DecideError if the gate is invalid.
"""

from __future__ import annotations

from benchgate.base.cells import Lane
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Gate, GateInput, Policy, Ruling
from benchgate.base.metrics import Metric
from benchgate.base.stats import Interval, median, median_interval, serial_dependence
from benchgate.judge.gates import effect, looks
from benchgate.judge.gates.arm_checks import known_arm
from benchgate.judge.gates.figures import Figures
from benchgate.judge.gates.looks import Question
from benchgate.judge.gates.rule import inclusive, require_one_bound
from benchgate.judge.gates.wording import printed_step

KIND = "limit"


def check(gate: Gate, _metric: Metric | None = None, _policy: Policy | None = None) -> None:
    if gate.base is not None:
        raise DecideError(f"{gate.id}: a limit gate takes one cell and no base")
    require_one_bound(gate)


def judge(gate: Gate, measured: GateInput) -> Ruling:
    check(gate)
    arm = known_arm(gate.cell, measured)
    asked = Question(gate, measured, (arm,), inclusive(gate, _advice(arm)))
    seen = (_figures(gate, measured, arm, asked.limit, look) for look in asked.ready_looks)
    return looks.judge(asked, seen)


def _figures(gate: Gate, measured: GateInput, arm: Arm, limit: float, look: int) -> Figures:
    of = arm.measurement(gate.metric)
    if of is None or len(of.samples) < look:
        raise DecideError(f"{gate.id}: the arm has too few samples of {gate.metric}")
    samples, policy = of.samples[:look], measured.policy
    taken = tuple(one for one in policy.session_looks if one <= look)
    found = median_interval(samples, taken, policy.overall_error)
    interval, blur = Interval(found.low - of.step, found.high + of.step), max(of.blur[:look], default=0.0)
    return Figures(
        lane=of.lane,
        threshold=limit,
        runs=look,
        value=median(samples),
        interval=interval,
        unit=of.unit,
        # The samples of the instruction clock are seeds, which share no noise.
        dependence=0.0 if of.lane is Lane.INSN else serial_dependence(samples),
        blur=blur,
        effect=effect.of_median(samples, interval, blur),
        step=printed_step(of.step, samples, of.unit),
    )


def _advice(arm: Arm) -> str:
    return f"read the values of the workers in {arm.sample}/serial.log, and metrics.csv for every run"
