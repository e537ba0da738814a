"""Shared by what compares with a baseline: its arm, why it cannot be compared, and which seeds must be equal.

Takes baselines, origins and measurements; gives sentences, empty if there is nothing to say. Nothing fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchgate.base.cells import Cell, Lane
from benchgate.base.gates import Arm, Gate
from benchgate.base.runs import Measurement
from benchgate.base.system import comparable
from benchgate.base.system.machines import IDEAL, machine_in
from benchgate.base.text import counted, one_line, suggestion
from benchgate.features.baseline.baselines import Baseline, BaselineArm, Origin


def arm_for(baseline: Baseline, cell: Cell, lane: Lane | None) -> BaselineArm | None:
    """Prefers the arm on this lane; `incomparable` names the lane of another one."""
    arms = baseline.arms_of(cell)
    return next((arm for arm in arms if arm.lane is lane), next(iter(arms), None))


def can_compare(baseline: Baseline | None, gate: Gate, arm: Arm | None, here: Origin) -> bool:
    """Whether the baseline has something that the gate can compare this arm with."""
    then = arm_for(baseline, gate.cell, arm.lane if arm else None) if baseline else None
    if baseline is None or then is None or missing(then, gate.metric):
        return False
    now = arm.measurement(gate.metric) if arm else None
    return now is None or not incomparable(now, then.measurements[gate.metric], here, baseline.origin)


def missing(then: BaselineArm, metric: str) -> str:
    if metric in then.measurements:
        return ""
    near = suggestion(metric, then.measurements, f"it has {', '.join(then.measurements)}")
    return f"the baseline has no metric {metric} of {then.cell.id}; {near}"


def incomparable(now: Measurement, then: Measurement, here: Origin, there: Origin) -> str:
    """Why no ratio of both means anything. On the instruction clock the host plays no part."""
    if why := comparable.incomparable(now.cell.system, then.cell.system):
        return why
    pairs = {
        "lane": (now.lane, then.lane),
        "placement": (now.placement, then.placement),
        "unit": (now.unit or "none", then.unit or "none"),
        f"definition of {now.metric.name}": (_definition(now), _definition(then)),
    }
    wall = _other_model(now.cell.system, here, there)
    if now.lane is not Lane.INSN:
        wall = _other_machine(now.cell.system, here, there)
    for name, (mine, other) in (*pairs.items(), *wall):
        if mine != other:
            return (
                f"the baseline has another {name}: {one_line(str(other))} there, {one_line(str(mine))} here"
            )
    return ""


def _other_model(system: str, here: Origin, there: Origin) -> Iterator[tuple[str, tuple[str, str]]]:
    """Compares the machines whose memory the instruction clock simulates."""
    mine, other = here.systems.get(system), there.systems.get(system)
    if mine is not None and other is not None:
        name = f"file of machine {machine_in(system)} (digest)"
        yield name, (mine.machine or IDEAL, other.machine or IDEAL)


def _definition(of: Measurement) -> str:
    """What a metric is computed from: two of one name may be different figures."""
    metric = of.metric
    at = f"{metric.at:g}" if metric.at else ""
    per = metric.per and f"per {metric.per}"
    return " ".join(filter(None, (metric.kind, metric.of, per, at, metric.window, metric.better)))


def _other_machine(system: str, here: Origin, there: Origin) -> Iterator[tuple[str, tuple[str, str]]]:
    names = dict.fromkeys((*there.machine, *here.machine))
    yield from ((name, (here.machine.get(name, "-"), there.machine.get(name, "-"))) for name in names)
    mine, other = here.systems.get(system), there.systems.get(system)
    yield "QEMU (digest)", (mine.qemu if mine else "-", other.qemu if other else "-")


def changed(now: Measurement, then: Measurement, here: Origin, there: Origin) -> tuple[str, ...]:
    """What is not the same as in the baseline, by digests."""
    mine, other = here.systems.get(now.cell.system), there.systems.get(now.cell.system)
    if mine is None or other is None:
        return ("system",)
    pairs = {
        "guest": (now.guest, then.guest),
        "system": (mine.definition, other.definition),
        "QEMU": (mine.qemu, other.qemu),
        # A session of both clocks records one that its runs on wall time did not have.
        "clock": (mine.clock, other.clock) if now.lane is Lane.INSN else ("", ""),
    }
    return tuple(name for name, (one, two) in pairs.items() if one != two)


def is_same_program(now: Measurement, then: Measurement, here: Origin, there: Origin) -> bool:
    """Programs on the instruction clock with equal digests must repeat each seed to the last instruction."""
    system = here.systems.get(now.cell.system)
    known = system is not None and system.clock and now.guest and now.seeds and then.seeds
    return now.lane is Lane.INSN and bool(known) and not changed(now, then, here, there)


def unequal(now: Arm, then: BaselineArm, first: str) -> str:
    """The first seed and metric that differ, beginning with the metric `first`; empty if none does."""
    names = sorted(set(now.measurements) & set(then.measurements), key=lambda text: (text != first, text))
    for name in names:
        mine, other = now.measurements[name], then.measurements[name]
        if differing := differences(mine, other):
            seed, (before, after) = next(iter(differing.items()))
            unit = f" {mine.unit}" if mine.unit else ""
            return (
                f"{name} of seed {seed} was {exact(before)}{unit} and is {exact(after)} "
                f"({exact(after - before, sign=True)}); {len(differing)} of "
                f"{counted(len(common(mine, other)), 'seed')} not equal"
            )
    return ""


def common(now: Measurement, then: Measurement) -> Mapping[int, tuple[float, float]]:
    """The samples of the seeds that both have: in the baseline, and now."""
    mine = dict(zip(now.seeds, now.samples, strict=False))
    other = dict(zip(then.seeds, then.samples, strict=False))
    return {seed: (other[seed], mine[seed]) for seed in mine if seed in other}


def differences(now: Measurement, then: Measurement) -> Mapping[int, tuple[float, float]]:
    return {seed: pair for seed, pair in common(now, then).items() if pair[0] != pair[1]}


def exact(value: float, *, sign: bool = False) -> str:
    """All digits: a difference of one instruction must show."""
    plus = "+" if sign else ""
    return f"{value:{plus},.0f}" if value == round(value) else f"{value:{plus}.12g}"
