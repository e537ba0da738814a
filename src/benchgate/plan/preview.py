"""Writes a plan as text for --plan: cells, order, lanes, pins, skips with reasons, estimated minutes.

Takes the sweeps of planner.py, the options and the policy; gives text. Pure; nothing fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchgate import hooks
from benchgate.base.cells import Lane
from benchgate.base.gates import SMALLEST_LOOK, VERIFIED, Policy
from benchgate.base.system.script import values_of
from benchgate.base.text import counted
from benchgate.base.workload.metrics import every_metric, number, threshold_text
from benchgate.plan import choice
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, PlannedGate, SweepPlan, run_order, runs_of, warmups_of

_SECONDS_PER_RUN = {Lane.TCG: 4.0, Lane.KVM: 2.0, Lane.NATIVE: 1.5, Lane.INSN: 8.0}
"""Rough values, for the estimate of --plan only."""


def describe(plans: Sequence[SweepPlan], options: Options, policy: Policy, seed: int) -> str:
    """The text that --plan prints."""
    lines = list(choice.lettered(options))
    for sweep in plans:
        lines.append(f"sweep {' and '.join(sweep.rows)}")
        if any(cell.system.has_guest_per_count for cell in sweep.runnable):
            lines.append("  each CPU count boots files of its own (`{n}`)")
        for cell in sweep.cells:
            lines.append("  " + _describe_cell(cell, options, policy))
            if cell.system.script is not None and not cell.skip:
                lines.append(f"    types {cell.system.script.shown(values_of(cell.cell, '{nonce}'))}")
        for gate in sweep.gates:
            lines.append("  " + _describe_gate(gate, options))
        several = len(sweep.rows) > 1
        arms = [cell.cell.id if several else str(cell.cell.cpus) for cell in sweep.runnable]
        rounds = max((runs_of(cell, options) for cell in sweep.runnable), default=0)
        exact = any(cell.seats.lane is Lane.INSN for cell in sweep.runnable)
        first = "one seed, which is run twice" if exact else f"{counted(policy.warmups, 'warm-up')} each"
        order = " ".join(run_order(arms, rounds, seed))
        lines.append(f"  order  {order if several else f'smp {order}'} after {first}")
    if any(sweep.first.clock for sweep in plans):
        lines.append(
            "--clock both: wall time decides if this host qualifies for it, otherwise the instruction clock; "
            "the gates of the other one only inform"
        )
    minutes = sum(estimate_s(sweep, options, policy) for sweep in plans) / 60
    lines.append(f"order seed {seed}; about {max(minutes, 0.1):.1f} minutes; nothing was booted")
    return "\n".join(lines)


def _describe_cell(planned: PlannedCell, options: Options, policy: Policy) -> str:
    if planned.skip:
        return f"cell   {planned.cell.id}: SKIP: {planned.skip}"
    where = _where(planned)
    mode, lane = planned.cell.mode, planned.seats.lane
    count = runs_of(planned, options)
    last = policy.with_runs(options.runs, options.max_runs).max_runs
    more = f" (up to {last}, if undecided)" if last > count and options.gates else ""
    wall = f"{counted(count, 'run')}{more} + {counted(policy.warmups, 'warm-up')}"
    runs = counted(count, "seed") if lane is Lane.INSN else wall
    machine = planned.system.machine
    of = f"CPUs 0-{planned.cell.cpus - 1} of {machine.name}, " if machine else ""
    return f"cell   {planned.cell.id}: {mode}, lane {lane}, {planned.seats.placement}, {of}{where}, {runs}"


def _where(planned: PlannedCell) -> str:
    pins, kept = (",".join(map(str, cpus)) for cpus in (planned.seats.pins, planned.seats.host_cpus))
    return f"pins {pins}" if pins else f"kept to host CPUs {kept}" if kept else "no pins needed"


def _describe_gate(planned: PlannedGate, options: Options) -> str:
    gate = planned.gate
    if gate.kind == VERIFIED:
        return f"gate   {gate.id}: " + (f"SKIP: {planned.skip}" if planned.skip else "every run is verified")
    text = f"gate   {gate.id}: {gate.kind} of {gate.metric}"
    if planned.base is not None and planned.base.cell.cpus == planned.arm.cell.cpus:
        text += f" to {planned.base.cell.system}"
    elif planned.base is not None:
        text += f" over {', '.join(f'smp{arm.cell.cpus}' for arm in planned.arms[:-1])}"
    elif gate.against:
        there = "" if Path(gate.against).exists() else ", which does not exist"
        text += f" to the {hooks.kept_name(gate.kind)} {gate.against}{there}"
    text += "".join(f", {name} {value}" for name, value in gate.settings if name != "unit")
    bound = gate.threshold(planned.arm.seats.lane)
    if bound is not None:
        text += f", {'at most' if gate.at_most is not None else 'at least'} {_bound(planned, bound)}"
    skip = planned.skip or options.why_no_gates
    if planned.base is not None and planned.base.cell == planned.arm.cell:
        skip = "a system is not compared with itself; next: name another --system"
    if not skip and runs_of(planned.arm, options) < SMALLEST_LOOK:
        skip = f"{runs_of(planned.arm, options)} seeds are too few to decide anything"
    return f"{text}: SKIP: {skip}" if skip else text


def _bound(planned: PlannedGate, bound: float) -> str:
    """In the unit of the figure: `1.9`, `20 ms`, `5%`."""
    gate, metric = planned.gate, every_metric(planned.arm.workload.metrics).get(planned.gate.metric)
    if planned.base is not None or gate.against or metric is None:
        return number(bound)
    unit = gate.setting("unit") or ("" if metric.is_window else metric.unit)
    return threshold_text(bound, unit)


def estimate_s(sweep: SweepPlan, options: Options, policy: Policy) -> float:
    """The estimated time of one sweep, including warm-ups."""
    runs = ((cell, runs_of(cell, options) + warmups_of(cell, policy)) for cell in sweep.runnable)
    return sum(_SECONDS_PER_RUN[cell.seats.lane] * count for cell, count in runs)
