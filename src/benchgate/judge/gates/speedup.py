"""speedup: a metric, usually the time of the work, must get at least so many times better with more CPUs.

Takes a gate with `at_least` and its input; gives a Ruling. PASS if the interval is above the threshold,
FAIL if it is at or below it; looks.py has the other outcomes. Fails with DecideError if the gate is invalid.
"""

from __future__ import annotations

from functools import partial

from benchgate.base.errors import DecideError
from benchgate.base.gates import Gate, GateInput, Policy, Ruling
from benchgate.base.workload.metrics import Metric
from benchgate.judge.gates import looks, two_arms
from benchgate.judge.gates.looks import GateQuestion, rule_of
from benchgate.judge.gates.wording import where_time_goes

KIND = "speedup"


def check(gate: Gate, metric: Metric, policy: Policy) -> None:
    _require_threshold(gate)
    two_arms.check_speedup(gate, metric, policy)


def judge(gate: Gate, measured: GateInput) -> Ruling:
    _require_threshold(gate)
    two_arms.require_row(gate)
    arms, host = two_arms.arms_of(gate, measured), two_arms.host_capacity(gate, measured)
    rule = rule_of(gate, where_time_goes(arms[-1], gate.metric))
    asked = GateQuestion(gate, measured, arms, rule, two_arms.contradiction(gate, *arms), host)
    return looks.judge(asked, partial(two_arms.figures_of, gate, measured, asked.limit))


def _require_threshold(gate: Gate) -> None:
    if gate.at_least is None or gate.at_most is not None:
        raise DecideError(f"{gate.id}: a speedup gate takes at_least (a control takes at_most)")
