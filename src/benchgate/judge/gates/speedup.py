"""speedup: a metric, usually the time of the work, must get at least so many times better with more CPUs.

Takes a gate with `at_least` and its input; gives a Ruling. PASS if the interval is above the threshold,
FAIL if it is at or below it; looks.py has the other outcomes. Fails with DecideError if the gate is invalid.
"""

from __future__ import annotations

from benchgate.base.cells import Lane
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Gate, GateInput, Policy, Ruling, Word
from benchgate.base.metrics import Metric
from benchgate.base.stats import Interval
from benchgate.judge.gates import cpus
from benchgate.judge.gates.looks import Rule

KIND = "speedup"


def check(gate: Gate, metric: Metric, policy: Policy) -> None:
    _require_threshold(gate)
    cpus.check(gate, metric, policy)


def judge(gate: Gate, measured: GateInput) -> Ruling:
    _require_threshold(gate)
    return cpus.judge(gate, measured, RULE, host_may_excuse=True)


def _require_threshold(gate: Gate) -> None:
    if gate.at_least is None or gate.at_most is not None:
        raise DecideError(f"{gate.id}: a speedup gate takes at_least (a control takes at_most)")


def _settle(interval: Interval, threshold: float) -> Word | None:
    if interval.low > threshold:
        return Word.PASS
    return Word.FAIL if interval.high <= threshold else None


def _sign(word: Word, interval: Interval, threshold: float) -> str:
    if word is Word.PASS:
        return ">"
    return "<" if interval.high < threshold else "<="


def advice(arm: Arm) -> str:
    """What to do after a FAIL."""
    look = f"benchgate replay {arm.sample} --profile" if arm.lane is Lane.INSN else "--measure"
    return f"{look} shows where the time goes; the workers' own times are in {arm.sample}/serial.log"


RULE = Rule(
    settle=_settle,
    sign=_sign,
    advice=advice,
)
