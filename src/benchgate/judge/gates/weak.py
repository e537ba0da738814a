"""weak: how much longer N CPUs take for N times the work (weak scaling); 1 if they take no longer.

Takes a gate whose base is a cell of the same system and workload with fewer CPUs, with `at_least` or
`at_most`; gives a Ruling. The value is the base's time over the cell's; of a rate it is the cell's rate over
the base's, over the ratio of the CPU counts. The parameter that the setting `grows` names is so many times
larger in the cell; without it, the workload itself does the same work on each CPU. Work that did not grow is
INVALID. Fails with DecideError if the gate is invalid.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from benchgate.base.errors import DecideError
from benchgate.base.gates import Gate, GateInput, Policy, Ruling
from benchgate.base.statistics.stats import bootstrap
from benchgate.base.workload.metrics import Metric, MetricDirection, number
from benchgate.judge.gates import looks, two_arms
from benchgate.judge.gates.efficiency import check_limits, host_share, scaled
from benchgate.judge.gates.figures import GateFigures
from benchgate.judge.gates.looks import GateQuestion, require_one_bound, rule_of
from benchgate.judge.gates.wording import where_time_goes

KIND = "weak"
NAME = "weak efficiency"
GROWS = "grows"
"""The setting with the parameter's name."""


def check(gate: Gate, metric: Metric, policy: Policy) -> None:
    require_one_bound(gate)
    _require_arms(gate)
    check_limits(gate, metric, policy, two_arms.base_of(gate).cpus / gate.cell.cpus, NAME, "a limit")


def judge(gate: Gate, measured: GateInput) -> Ruling:
    require_one_bound(gate)
    _require_arms(gate)
    base, arm = two_arms.arms_of(gate, measured)
    growth = gate.cell.cpus / base.cell.cpus
    rule, found = rule_of(gate, where_time_goes(arm, gate.metric)), two_arms.contradiction(gate, base, arm)
    asked = GateQuestion(gate, measured, (base, arm), rule, found, host_share(gate, measured, growth))
    return looks.judge(asked, partial(_figures, gate, measured, asked.limit))


def _figures(gate: Gate, measured: GateInput, limit: float, look: int) -> GateFigures:
    """A time is not shorter with N CPUs and N times the work; a rate is N times as high."""
    one, two = (arm.measurement(gate.metric) for arm in two_arms.arms_of(gate, measured))
    if one is None or two is None:
        raise DecideError(f"{gate.id}: an arm has no {gate.metric}")
    growth = gate.cell.cpus / one.cell.cpus
    ideal = growth if two.metric.better is MetricDirection.MORE else 1.0
    seen = scaled(two_arms.figures_of(gate, measured, limit * ideal, look), ideal, NAME)
    if seen.unusable:
        return seen
    most = two_arms.tolerance(measured.policy, one, two)
    wrong, grows = "", gate.setting(GROWS)
    if seen.interval.low > most:
        shown = looks.figure_text(gate, seen, most)
        wrong = f"{shown}, above {number(most)}: the work cannot have grown with the CPUs"
    elif one.busy and two.busy:
        grew = bootstrap(two.busy[:look], one.busy[:look]).interval(measured.policy.alpha)
        if grew.high < growth / most:
            wrong = (
                f"{looks.figure_text(gate, seen, seen.threshold)}, but all workers together took only "
                f"{number(round(grew.high, 2))} times as long as in the base, and {number(growth)} times the "
                "work takes longer"
            )
    if not wrong:
        # A base that is slowed down must not make fewer CPUs look like all of them.
        unused = two_arms.beyond_those_used(gate, seen, measured.policy, one, two, growth=growth)
        return looks.refused(gate, seen, unused, two_arms.FIND_CPUS) if unused else seen
    advice = (
        f"the work must be in proportion to {grows}: name another parameter in `grows`"
        if grows
        else "without `grows` the workload itself must do the same work on each CPU"
    )
    return looks.refused(gate, seen, wrong, advice)


def _require_arms(gate: Gate) -> None:
    base, cell, grows = two_arms.base_of(gate), gate.cell, gate.setting(GROWS)
    params = dict(base.params)
    value = params.get(grows, 0)
    if base.cpus < cell.cpus and cell.cpus % base.cpus == 0 and isinstance(value, int):
        grown = {**params, grows: value * (cell.cpus // base.cpus)} if grows in params else params
        same = replace(cell, cpus=base.cpus, params=base.params, label=base.label)
        if same == base and dict(cell.params) == grown and (grows in params or not grows):
            return
    raise DecideError(
        f"{gate.id}: {cell.id} does not do so many times the work of {base.id} as it has times its CPUs"
        + (f": only {grows} may differ" if grows else "")
    )
