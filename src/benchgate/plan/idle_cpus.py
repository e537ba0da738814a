"""Finds gates on latencies that would hold although a CPU stays idle.

Takes the sweeps of the selected tests; gives a sentence for each CPU count of a row whose latency is gated,
but neither a rate nor wasted time. All threads on one CPU can have short latencies, so such a gate alone
proves less than it seems. Pure; nothing fails.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchgate.base.gates import Gate
from benchgate.base.workload.metrics import WINDOWS, Metric, MetricDirection, MetricKind, every_metric
from benchgate.plan.mark_table import OF_KIND, Good
from benchgate.plan.planned import PlannedGate, SweepPlan


def notes(sweeps: Iterable[SweepPlan]) -> tuple[str, ...]:
    return tuple(line for sweep in sweeps for line in _of_sweep(sweep))


def _of_sweep(sweep: SweepPlan) -> list[str]:
    gates = [gate for gate in sweep.gates if not gate.skip]
    seen = {cell.id for gate in gates if _sees_idle_cpus(gate) for cell in (gate.gate.cell, *gate.gate.more)}
    blind: dict[str, PlannedGate] = {}
    for gate in gates:
        if _is_latency(gate) and gate.gate.cell.cpus > 1 and gate.gate.cell.id not in seen:
            blind.setdefault(gate.gate.cell.id, gate)
    return [_sentence(one) for one in blind.values()]


def _metric(planned: PlannedGate) -> Metric:
    return every_metric(planned.arm.workload.metrics)[planned.gate.metric]


def _is_latency(planned: PlannedGate) -> bool:
    metric = _metric(planned)
    return metric.kind is MetricKind.PERCENTILE and _demands_good(planned.gate, metric)


def _sees_idle_cpus(planned: PlannedGate) -> bool:
    """Whether the gate notices an idle CPU. A gate on a window's length may not, because it can be fixed."""
    gate, metric = planned.gate, _metric(planned)
    if gate.file:
        return True
    is_fixed = _good(gate) == "better" and metric.name in WINDOWS
    is_share = metric.kind is MetricKind.SHARE and bool(metric.per)
    is_rate = metric.kind in (MetricKind.RATE, MetricKind.TIME) and not is_fixed
    return (is_rate or is_share) and _demands_good(gate, metric)


def _demands_good(gate: Gate, metric: Metric) -> bool:
    """Whether the gate needs a good metric, unlike a negative control, which holds if it is bad enough."""
    good = _good(gate)
    if good == "better":
        return (gate.at_least is not None) == (metric.better is MetricDirection.MORE)
    return good == "always" or (good == "at_least" and gate.at_least is not None)


def _good(gate: Gate) -> Good:
    return OF_KIND[gate.kind].good if gate.kind in OF_KIND else "never"


def _sentence(planned: PlannedGate) -> str:
    gate, metrics = planned.gate, planned.arm.workload.metrics
    rates = [name for name, metric in metrics.items() if metric.kind is MetricKind.RATE]
    example = f'limit(cpus={gate.cell.cpus}, metric="{rates[0]}", at_least=...)' if rates else ""
    advice = (
        f"add one, such as {example}" if example else "the workload declares no rate: add one and gate it"
    )
    return (
        f"{gate.id}: {gate.metric} does not see a CPU that stays idle, and no gate on a rate or on wasted "
        f"time holds for {gate.cell.id}; {advice}"
    )
