"""control: a negative control, a row that must *not* scale. It shows that the gates can fail.

Takes a gate with `at_most` and its input; gives a Ruling. PASS if the interval's upper bound is below the
threshold, FAIL if the interval is at or above it. The host's capacity does not matter here. Fails with
DecideError if the gate is invalid.
"""

from __future__ import annotations

from functools import partial

from benchgate.base.errors import DecideError
from benchgate.base.gates import Gate, GateInput, Policy, Ruling
from benchgate.base.workload.metrics import Metric
from benchgate.judge.gates import looks, two_arms
from benchgate.judge.gates.looks import GateQuestion, rule_of

KIND = "control"


def check(gate: Gate, metric: Metric, policy: Policy) -> None:
    _require_threshold(gate)
    two_arms.check_speedup(gate, metric, policy)


def judge(gate: Gate, measured: GateInput) -> Ruling:
    _require_threshold(gate)
    two_arms.require_row(gate)
    arms = two_arms.arms_of(gate, measured)
    rule = rule_of(
        gate, "this row cannot scale by construction, so check the base arm, the pins and the clock"
    )
    asked = GateQuestion(gate, measured, arms, rule, two_arms.contradiction(gate, *arms))
    return looks.judge(asked, partial(two_arms.figures_of, gate, measured, asked.limit))


def _require_threshold(gate: Gate) -> None:
    if gate.at_most is None or gate.at_least is not None:
        raise DecideError(f"{gate.id}: a control gate takes at_most (a speedup takes at_least)")
