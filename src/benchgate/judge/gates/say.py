"""The sentences about a look of a gate with a threshold.

Takes a gate and its figures; gives text in one line. Nothing fails.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchgate.base.cells import Lane
from benchgate.base.gates import Arm, CapacityBound, Gate, GateInput, Word
from benchgate.base.system import arch
from benchgate.base.system.machines import unit_on
from benchgate.base.text import counted, with_interval
from benchgate.base.workload.metrics import NS, WASTED
from benchgate.judge.gates.arm_checks import ended
from benchgate.judge.gates.figures import GateFigures
from benchgate.judge.gates.wording import digits, number, percent_span, reason, span, subject, time, time_span

OTHER_HOST = "use CPUs on different cores (--cpus), or --clock insn"


def figure(gate: Gate, seen: GateFigures, limit: float) -> str:
    """`primes-linux smp2/smp1 = 1.43 [1.41, 1.46]`, `pipe-linux-smp2 wake = 4.528 [4.410, 4.630] us`,
    `primes-linux smp2/smp1 efficiency = 0.72 [0.71, 0.73]`."""
    if seen.is_ratio:
        return f"{subject(gate)} = {span(seen.value, seen.interval, limit)}"
    unit = unit_on(gate.cell.system, seen.unit)
    if gate.metric == WASTED:
        return f"{subject(gate)} {gate.metric} = {percent_span(seen.value, seen.interval, limit)}"
    text = time_span(seen.value, seen.interval, limit) if unit == NS else _plain(seen, limit, unit)
    return f"{subject(gate)} {seen.name or gate.metric} = {text}"


def _plain(seen: GateFigures, limit: float, unit: str) -> str:
    least = digits(seen.interval) if seen.name else 2
    return f"{span(seen.value, seen.interval, limit, least)} {unit}".rstrip()


def threshold(gate: Gate, seen: GateFigures) -> str:
    """A threshold without a unit has that of the figure before it; a time has a unit of its own."""
    if gate.metric == WASTED and not seen.is_ratio:
        return f"{number(seen.threshold * 100)}%"
    is_time = not seen.is_ratio and unit_on(gate.cell.system, seen.unit) == NS
    return time(seen.threshold) if is_time else number(seen.threshold)


def conditions(gate: Gate, seen: GateFigures) -> str:
    runs = f"{counted(seen.runs, 'run')}{' per arm' if gate.base else ''}"
    return f"({', '.join(filter(None, (gate.metric, seen.lane, runs, seen.beside, seen.step)))})"


def compared(gate: Gate, seen: GateFigures, sign: str) -> str:
    """The figure with its threshold and conditions."""
    return f"{figure(gate, seen, seen.threshold)} {sign} {threshold(gate, seen)} {conditions(gate, seen)}"


def unresolved(gate: Gate, seen: GateFigures, arms: Iterable[Arm]) -> str:
    cause, advice = "other tasks of the guest", "make the work longer, or use --clock insn"
    if seen.lane is Lane.INSN:
        cause, advice = "the clock's steps at the vCPUs' hand-overs", _waiting(arms)
    what = (
        f"{figure(gate, seen, seen.threshold)}, and {cause} can have changed it by {seen.blur:.1%}, so it is "
        f"not resolved from {threshold(gate, seen)} {conditions(gate, seen)}"
    )
    return reason(Word.INCONCLUSIVE, what, advice)


def _waiting(arms: Iterable[Arm]) -> str:
    """The guest's own instruction for a loop that waits."""
    guests = {one.arch for arm in arms for one in arm.measurements.values() if one.arch}
    words = [f"{arch.named(one).waits_by}{f' on {one}' if len(guests) > 1 else ''}" for one in sorted(guests)]
    use = " and ".join(words) or arch.X86_64.waits_by
    return f"use {use} (bench_relax) in loops that wait for another CPU"


def capacity(host: CapacityBound | None) -> str:
    return f", host capacity {with_interval(host.ratio, host.low, host.high)}" if host else ""


def excused(what: str, host: CapacityBound) -> str:
    own = with_interval(host.ratio, host.low, host.high)
    return reason(Word.INCONCLUSIVE, f"{what}, but the host's own capacity is {own}", OTHER_HOST)


def undecided(gate: Gate, measured: GateInput, seen: GateFigures) -> str:
    text, limit = figure(gate, seen, seen.threshold), threshold(gate, seen)
    advice = "use a quieter host, or --clock insn"
    if seen.misfit:
        why, advice = f"but {seen.misfit}", "gate the speedup or the efficiency of each CPU count instead"
    elif seen.is_dependent:
        why = "but the runs drift and are not independent, so the interval is too narrow"
    else:
        why = f"and {limit} is inside the interval"
        noun = "ratio" if seen.is_ratio else "figure"
        advice = f"the {noun} is too close to its threshold for this noise: {advice}"
    later = measured.policy.look_after(seen.runs)
    what = f"{text}, {why} {conditions(gate, seen)}"
    if seen.step:
        finer = "make the work longer, print finer figures, or time it between lines (`from`, `to`)"
        return reason(Word.INCONCLUSIVE, what, finer)
    if later and later <= measured.policy.max_runs:
        if end := ended(measured):
            return reason(Word.INCONCLUSIVE, f"{what}; {end[1]}", end[2])
        what += f"; no look at {later} runs was begun after {measured.policy.minutes:g} min"
        return reason(Word.INCONCLUSIVE, what, "raise `minutes` in a policy of your own (--policy)")
    return reason(Word.INCONCLUSIVE, what, f"--max-runs {later}" if later else advice)


def too_few_to_decide(gate: Gate, measured: GateInput, ready: int) -> str:
    planned = measured.policy.session_looks
    first = (planned or measured.policy.looks)[0]
    decide = "decides" if ready == 1 else "decide"
    runs = counted(ready, "run") + (" per arm" if gate.base else "")
    what = f"{subject(gate)}: {runs} {decide} nothing; at least {first} are needed"
    if planned:
        return reason(Word.SKIP, f"{what}, and the session ended before", "--resume with its folder")
    return reason(Word.SKIP, what, f"--runs {first}")
