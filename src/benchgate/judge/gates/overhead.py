"""overhead: how many times as long as the work the total is, which includes start and join of the workers.

Takes a gate with a cell and no base, and with `at_least` or `at_most`; gives a Ruling. Each run has both
windows, so its own ratio is the sample, and the interval is that of the samples' median, as for `limit`.
Fails with DecideError if the gate is invalid.
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
from benchgate.judge.gates.wording import number, printed_step

KIND = "overhead"
NAME = "total/work"


def check(gate: Gate, _metric: Metric | None = None, _policy: Policy | None = None) -> None:
    if gate.base is not None:
        raise DecideError(f"{gate.id}: an overhead gate takes one cell and no base")
    require_one_bound(gate)
    for name in ("at_least", "at_most", "insn"):
        limit = getattr(gate, name)
        if limit is not None and limit <= 1:
            raise DecideError(
                f"{gate.kind}: {name}={number(limit)} decides nothing: the total is never shorter than "
                "the work; give a threshold above 1"
            )


def judge(gate: Gate, measured: GateInput) -> Ruling:
    check(gate)
    arm = known_arm(gate.cell, measured)
    asked = Question(gate, measured, (arm,), inclusive(gate, _advice(arm)))
    seen = (_figures(gate, measured, arm, asked.limit, look) for look in asked.ready_looks)
    return looks.judge(asked, seen)


def _figures(gate: Gate, measured: GateInput, arm: Arm, limit: float, look: int) -> Figures:
    work, total = arm.work, arm.total
    if work is None or total is None or min(len(work.samples), len(total.samples)) < look:
        raise DecideError(f"{gate.id}: the arm has too few samples of both windows")
    works, totals = work.samples[:look], total.samples[:look]
    samples = tuple(long / short for long, short in zip(totals, works, strict=True))
    looked = tuple(one for one in measured.policy.session_looks if one <= look)
    found = median_interval(samples, looked, measured.policy.overall_error)
    off = (total.step + work.step * max(samples)) / min(works)
    interval = Interval(found.low - off, found.high + off)
    blur = sum(max(one.blur[:look], default=0.0) for one in (work, total))
    return Figures(
        lane=work.lane,
        threshold=limit,
        runs=look,
        value=median(samples),
        interval=interval,
        unit="",
        # The samples of the instruction clock are seeds, which share no noise.
        dependence=0.0 if work.lane is Lane.INSN else serial_dependence(samples),
        blur=blur,
        effect=effect.of_median(samples, interval, blur),
        step=printed_step(max(work.step, total.step), works, work.unit),
        name=NAME,
    )


def _advice(arm: Arm) -> str:
    return f"the times of start, work and join are in {arm.sample}/serial.log; --measure shows where they go"
