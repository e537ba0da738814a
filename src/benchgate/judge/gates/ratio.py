"""ratio: how many times better a metric is on this system than on another one, at the same CPU count.

Takes a gate whose base is a cell of the other system, with `at_least` or `at_most`; gives a Ruling. Both arms
are measured in one sweep, interleaved, on one lane; on different lanes nothing is compared: SKIP. Fails with
DecideError if the gate is invalid.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from benchgate.base.errors import DecideError
from benchgate.base.gates import Gate, GateInput, Policy, Ruling, Word
from benchgate.base.workload.metrics import Metric
from benchgate.judge.gates import looks, two_arms
from benchgate.judge.gates.looks import GateQuestion, require_one_bound, rule_of
from benchgate.judge.gates.wording import reason, verdict, where_time_goes

KIND = "ratio"
EARLIER = ("compare",)
"""Sessions of earlier versions have these names for it."""


def check(gate: Gate, _metric: Metric | None = None, _policy: Policy | None = None) -> None:
    require_one_bound(gate)
    base, cell = two_arms.base_of(gate), gate.cell
    same = replace(base, system=cell.system, clock=cell.clock)
    if same != cell:
        raise DecideError(
            f"{gate.id}: {cell.id} and {base.id} differ in more than the system, so they are not compared"
        )


def judge(gate: Gate, measured: GateInput) -> Ruling:
    check(gate)
    if two_arms.base_of(gate).system == gate.cell.system:
        text = f"{gate.cell.id} is not compared with itself"
        fields = {"threshold": gate.at_least if gate.at_least is not None else gate.at_most}
        return Ruling(verdict(gate, Word.SKIP, reason(Word.SKIP, text, "name another --system"), fields))
    arms = two_arms.arms_of(gate, measured)
    found = two_arms.contradiction(gate, *arms, on_other_lanes=Word.SKIP)
    asked = GateQuestion(gate, measured, arms, rule_of(gate, where_time_goes(arms[-1], gate.metric)), found)
    return looks.judge(asked, partial(two_arms.figures_of, gate, measured, asked.limit))
