"""Shared by `speedup` and `control`, which compare two CPU counts of one row.

Takes a gate, its input and a Rule; gives a Ruling. Fails with DecideError if the gate is invalid: no base, a
base of another row, or a threshold that decides nothing.
"""

from __future__ import annotations

from benchgate.base.errors import DecideError
from benchgate.base.gates import Gate, GateInput, Policy, Ruling, most_speedup
from benchgate.base.metrics import Metric
from benchgate.judge.gates import two_arms
from benchgate.judge.gates.looks import Rule
from benchgate.judge.gates.wording import number


def judge(gate: Gate, measured: GateInput, rule: Rule, *, host_may_excuse: bool) -> Ruling:
    require_row(gate)
    host = two_arms.host_capacity(gate, measured) if host_may_excuse else None
    return two_arms.judge(gate, measured, rule, host)


def check(gate: Gate, metric: Metric, policy: Policy) -> None:
    """DecideError for a threshold that no ratio, or every ratio, of these CPU counts can pass."""
    require_row(gate)
    if not metric.grows_with_cpus_at_most:
        return
    base = two_arms.base_of(gate)
    least = base.cpus / gate.cell.cpus
    most = most_speedup(base.cpus, gate.cell.cpus, policy.superlinear)
    for name in ("at_least", "at_most", "insn"):
        limit = getattr(gate, name)
        if limit is not None and not least < limit < most:
            raise DecideError(
                f"{gate.kind}: {name}={number(limit)} decides nothing: the speedup of {gate.cell.cpus} CPUs "
                f"over {base.cpus} is between {number(least)} and {number(most)}; give a threshold in between"
            )


def require_row(gate: Gate) -> None:
    base = two_arms.base_of(gate)
    if base.row != gate.cell.row or base.cpus >= gate.cell.cpus:
        raise DecideError(
            f"{gate.id}: {gate.cell.id} over {base.id} is not a speedup: "
            "both must be of the same row, and the base must have fewer CPUs"
        )
