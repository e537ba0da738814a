"""efficiency: the speedup over the number of CPUs, 1 if every CPU helps as much as the first.

Takes a gate whose base is a cell of the same row with fewer CPUs, with `at_least` or `at_most`; gives a
Ruling. It is the speedup divided by the ratio of the CPU counts, so what holds for a speedup holds for it:
the host's capacity may excuse a FAIL, and one above what its CPUs allow is INVALID. Fails with DecideError if
the gate is invalid.
"""

from __future__ import annotations

from dataclasses import replace

from benchgate.base.errors import DecideError
from benchgate.base.gates import CapacityBound, Gate, GateInput, Policy, Ruling
from benchgate.base.statistics.stats import Interval
from benchgate.base.workload.metrics import Metric, number
from benchgate.judge.gates import looks, two_arms
from benchgate.judge.gates.figures import GateFigures
from benchgate.judge.gates.looks import GateQuestion, require_between, require_one_bound, rule_of
from benchgate.judge.gates.wording import where_time_goes

KIND = "efficiency"


def check(gate: Gate, metric: Metric, policy: Policy) -> None:
    require_one_bound(gate)
    two_arms.require_row(gate)
    check_limits(gate, metric, policy, (two_arms.base_of(gate).cpus / gate.cell.cpus) ** 2, KIND, "a speedup")


def check_limits(  # noqa: PLR0913, PLR0917
    gate: Gate, metric: Metric, policy: Policy, least: float, name: str, instead: str
) -> None:
    """`least`: the share of the ideal ratio that is reached without any scaling."""
    if not metric.grows_with_cpus_at_most:
        raise DecideError(
            f"{gate.id}: {metric.name} can improve more than its CPUs allow, so it has no {name}; "
            f"use {instead}"
        )
    between = f"between {number(least)} and {number(policy.superlinear)}; give one in between"
    require_between(gate, least, policy.superlinear, f"the {name} of {gate.cell.cpus} CPUs is {between}")


def judge(gate: Gate, measured: GateInput) -> Ruling:
    require_one_bound(gate)
    two_arms.require_row(gate)
    base, arm = two_arms.arms_of(gate, measured)
    ideal = gate.cell.cpus / base.cell.cpus
    rule, found = rule_of(gate, where_time_goes(arm, gate.metric)), two_arms.contradiction(gate, base, arm)
    asked = GateQuestion(gate, measured, (base, arm), rule, found, host_share(gate, measured, ideal))

    def figures_at(look: int) -> GateFigures:
        return scaled(two_arms.figures_of(gate, measured, asked.limit * ideal, look), ideal, KIND)

    return looks.judge(asked, figures_at)


def host_share(gate: Gate, measured: GateInput, ideal: float) -> CapacityBound | None:
    """The host's capacity as a share of the ideal ratio."""
    host = two_arms.host_capacity(gate, measured)
    return host and replace(host, ratio=host.ratio / ideal, low=host.low / ideal, high=host.high / ideal)


def scaled(seen: GateFigures, ideal: float, name: str) -> GateFigures:
    """The figures of a ratio as a share of the ideal one."""
    interval = Interval(seen.interval.low / ideal, seen.interval.high / ideal)
    value, limit, of = seen.value / ideal, seen.threshold / ideal, seen.spanned
    spanned = of and Interval(of.low / ideal, of.high / ideal)
    changed = {"threshold": limit, "value": value, "interval": interval, "spanned": spanned}
    return replace(seen, **changed, unit="", name=name)  # type: ignore[arg-type]
