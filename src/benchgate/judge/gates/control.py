"""control: a negative control, a row that must *not* scale. It shows that the gates can fail.

Takes a gate with `at_most` and its input; gives a Ruling. PASS if the interval's upper bound is below the
threshold, FAIL if the interval is at or above it. The host's capacity does not matter here. Fails with
DecideError if the gate is invalid.
"""

from __future__ import annotations

from benchgate.base.errors import DecideError
from benchgate.base.gates import Gate, GateInput, Policy, Ruling, Word
from benchgate.base.metrics import Metric
from benchgate.base.stats import Interval
from benchgate.judge.gates import cpus
from benchgate.judge.gates.looks import Rule

KIND = "control"


def check(gate: Gate, metric: Metric, policy: Policy) -> None:
    _require_threshold(gate)
    cpus.check(gate, metric, policy)


def judge(gate: Gate, measured: GateInput) -> Ruling:
    _require_threshold(gate)
    return cpus.judge(gate, measured, RULE, host_may_excuse=False)


def _require_threshold(gate: Gate) -> None:
    if gate.at_most is None or gate.at_least is not None:
        raise DecideError(f"{gate.id}: a control gate takes at_most (a speedup takes at_least)")


def _settle(interval: Interval, threshold: float) -> Word | None:
    if interval.high < threshold:
        return Word.PASS
    return Word.FAIL if interval.low >= threshold else None


def _sign(word: Word, interval: Interval, threshold: float) -> str:
    if word is Word.PASS:
        return "<"
    return ">" if interval.low > threshold else ">="


RULE = Rule(
    settle=_settle,
    sign=_sign,
    advice=lambda _: "this row cannot scale by construction, so check the base arm, the pins and the clock",
)
