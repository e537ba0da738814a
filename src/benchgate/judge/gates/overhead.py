"""overhead: how many times as long as the work the total is, which includes start and join of the workers.

Takes a gate with a cell and no base, and with `at_least` or `at_most`; gives a Ruling. Each run has both
windows, so its own ratio is the sample, and the interval is that of the samples' median, as for `limit`.
Fails with DecideError if the gate is invalid.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Gate, GateInput, Policy, Ruling
from benchgate.base.workload.metrics import Metric
from benchgate.judge.gates import figures, groups, looks
from benchgate.judge.gates.arm_checks import known_arm
from benchgate.judge.gates.figures import GateFigures, of_median
from benchgate.judge.gates.looks import GateQuestion, require_between, require_one_bound, rule_of
from benchgate.judge.gates.wording import printed_step

KIND = "overhead"
NAME = "total/work"


def check(gate: Gate, _metric: Metric | None = None, _policy: Policy | None = None) -> None:
    if gate.base is not None:
        raise DecideError(f"{gate.id}: an overhead gate takes one cell and no base")
    require_one_bound(gate)
    why = "the total is never shorter than the work; give a threshold above 1"
    require_between(gate, 1.0, math.inf, why)


def judge(gate: Gate, measured: GateInput) -> Ruling:
    check(gate)
    arm = known_arm(gate.cell, measured)
    times = f"the times of start, work and join are in {arm.sample}/serial.log"
    rule = rule_of(gate, f"{times}; --measure shows where they go")
    asked = GateQuestion(gate, measured, (arm,), rule)
    return looks.judge(asked, partial(_figures, gate, measured, arm, asked.limit))


def _figures(gate: Gate, measured: GateInput, arm: Arm, limit: float, look: int) -> GateFigures:
    work, total = arm.work, arm.total
    if work is None or total is None or min(len(work.samples), len(total.samples)) < look:
        raise DecideError(f"{gate.id}: the arm has too few samples of both windows")
    works, totals = work.samples[:look], total.samples[:look]
    samples = tuple(long / short for long, short in zip(totals, works, strict=True))
    off = (total.step + work.step * max(samples)) / min(works)
    blur = sum(max(measurement.blur[:look], default=0.0) for measurement in (work, total))
    step = printed_step(max(work.step, total.step), works, work.unit)
    seen = of_median(samples, measured.policy, work.lane, limit, off=off, blur=blur, step=step)
    each = replace(figures.first_runs(work, look), samples=samples, unit="", step=off)
    arm_groups = groups.of_arm(gate.cell.id, each, measured.policy, limit)
    return groups.with_groups(replace(seen, name=NAME), [arm_groups], lambda medians: medians[0])
