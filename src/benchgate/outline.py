"""A plan in words, as --plan prints it: cells, order, lanes, pins, every skip with its reason, rough minutes.

Takes what plan.py gives and the options; gives text. Pure; cannot fail.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchgate import plan
from benchgate.gates.base import SMALLEST_LOOK
from benchgate.model import Lane
from benchgate.options import Options
from benchgate.plan import PlannedCell, PlannedGate, SweepPlan

SECONDS_A_RUN = {Lane.TCG: 4.0, Lane.KVM: 2.0, Lane.NATIVE: 1.5, Lane.INSN: 8.0}
"""Rough, for the estimate of --plan only."""


def describe(plans: Sequence[SweepPlan], options: Options, seed: int) -> str:
    """What --plan prints."""
    lines: list[str] = []
    for sweep in plans:
        lines.append(f"sweep {sweep.row}")
        for cell in sweep.cells:
            lines.append("  " + _describe_cell(cell, options))
        for gate in sweep.gates:
            lines.append("  " + _describe_gate(gate, options))
        arms = [str(cell.cell.cpus) for cell in sweep.runnable]
        rounds = max((plan.runs_of(cell, options) for cell in sweep.runnable), default=0)
        exact = any(cell.seats.lane is Lane.INSN for cell in sweep.runnable)
        first = "one seed, which is run twice" if exact else "one warm-up each"
        lines.append(f"  order  smp {' '.join(plan.order(arms, rounds, seed))} after {first}")
    minutes = sum(estimate_s(sweep, options) for sweep in plans) / 60
    lines.append(f"order seed {seed}; about {max(minutes, 0.1):.1f} minutes; nothing was booted")
    return "\n".join(lines)


def _describe_cell(planned: PlannedCell, options: Options) -> str:
    if planned.skip:
        return f"cell   {planned.cell.id}: SKIP: {planned.skip}"
    where = f"pins {','.join(map(str, planned.seats.pins))}" if planned.seats.pins else "no pins needed"
    mode, lane = planned.cell.mode, planned.seats.lane
    count = plan.runs_of(planned, options)
    runs = f"{count} seeds" if lane is Lane.INSN else f"{count} runs + 1 warm-up"
    return f"cell   {planned.cell.id}: {mode}, lane {lane}, {planned.seats.placement}, {where}, {runs}"


def _describe_gate(planned: PlannedGate, options: Options) -> str:
    gate = planned.gate
    bound = f"at least {gate.at_least}" if gate.at_least is not None else f"at most {gate.at_most}"
    if planned.arm.seats.lane is Lane.INSN and gate.insn is not None:
        bound = f"at least {gate.insn}"
    text = f"gate   {gate.id}: {gate.window} speedup over smp{planned.base.cell.cpus} {bound}x"
    skip = planned.skip or ("" if options.gates else options.why_no_gates)
    if not skip and plan.runs_of(planned.arm, options) < SMALLEST_LOOK:
        skip = f"{plan.runs_of(planned.arm, options)} seeds are too few to decide anything"
    return f"{text}: SKIP: {skip}" if skip else text


def estimate_s(sweep: SweepPlan, options: Options) -> float:
    """A rough length of one sweep, warm-ups included."""
    return sum(SECONDS_A_RUN[cell.seats.lane] * (plan.runs_of(cell, options) + 1) for cell in sweep.runnable)
