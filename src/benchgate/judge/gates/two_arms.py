"""Shared by the gates on the ratio of two arms: how many times better the metric is in one than in the other.

Takes a gate and its input; gives its arms, their figures, and why they cannot be compared. A time is better
if it is shorter, a rate if it is higher (Metric.better). Fails with DecideError if an arm or its metric is
missing, and if two CPU counts of one row make no speedup, or have a threshold that decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchgate.base.cells import Cell, Lane
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, CapacityBound, Gate, GateInput, Policy, Word, most_speedup
from benchgate.base.runs import Measurement
from benchgate.base.statistics.stats import bootstrap
from benchgate.base.system.comparable import conditions_of
from benchgate.base.system.machines import IDEAL
from benchgate.base.workload.metrics import Metric, MetricDirection, number
from benchgate.judge.gates import figures, groups, looks, used_cpus
from benchgate.judge.gates.arm_checks import known_arm
from benchgate.judge.gates.figures import GateFigures
from benchgate.judge.gates.looks import require_between
from benchgate.judge.gates.wording import reason, subject

_SLOWED = "the base arm was slowed down or the clock is wrong: compare the foreign time of both arms"
_OTHER_WORK = "give both arms the same work; what grows with fewer CPUs belongs in a row of its own"
_HIDDEN = (
    "do all of the work in the window, or make it longer; what idle CPUs execute while they poll is told "
    "from work only at a prompt, with QEMU 9.1 or newer"
)
FIND_CPUS = "find where workers share a CPU, or what else the base executes (--measure)"
EMULATED_OR_VIRTUAL = (Lane.KVM, Lane.TCG)
"""The lanes on which the capacity of the probe guests limits a speedup."""


def arms_of(gate: Gate, measured: GateInput) -> tuple[Arm, Arm]:
    return known_arm(base_of(gate), measured), known_arm(gate.cell, measured)


def base_of(gate: Gate) -> Cell:
    if gate.base is None:
        raise DecideError(f"{gate.id}: a {gate.kind} gate needs a base to compare with")
    return gate.base


def require_row(gate: Gate) -> None:
    """The arms must be two CPU counts of one row."""
    base = base_of(gate)
    if base.row != gate.cell.row or base.cpus >= gate.cell.cpus:
        raise DecideError(
            f"{gate.id}: {gate.cell.id} over {base.id} is not a speedup: "
            "both must be of the same row, and the base must have fewer CPUs"
        )


def check_speedup(gate: Gate, metric: Metric, policy: Policy) -> None:
    """DecideError for a threshold that no ratio, or every ratio, of these CPU counts can pass."""
    require_row(gate)
    if not metric.grows_with_cpus_at_most:
        return
    base = base_of(gate)
    least = base.cpus / gate.cell.cpus
    most = most_speedup(base.cpus, gate.cell.cpus, policy.superlinear)
    what = f"the speedup of {gate.cell.cpus} CPUs over {base.cpus}"
    between = f"between {number(least)} and {number(most)}; give a threshold in between"
    require_between(gate, least, most, f"{what} is {between}")


def host_capacity(gate: Gate, measured: GateInput) -> CapacityBound | None:
    """The host's speedup for this ratio. It is measured against one probe guest, so the base must be smp1;
    and it limits only what CPUs limit."""
    base, arm = arms_of(gate, measured)
    host, of = measured.capacity.get(gate.cell.cpus), arm.measurement(gate.metric)
    if host is None or base.cell.cpus != 1 or of is None or not of.metric.grows_with_cpus_at_most:
        return None
    return host if arm.lane in EMULATED_OR_VIRTUAL and host.lane is arm.lane else None


def contradiction(
    gate: Gate, base: Arm, arm: Arm, on_other_lanes: Word = Word.INVALID
) -> tuple[Word, str] | None:
    """Why the arms cannot be compared. `on_other_lanes`: the verdict on arms of two lanes."""
    one, two = base.measurement(gate.metric), arm.measurement(gate.metric)
    if one is None or two is None:
        return None
    one, two = figures.in_one_unit(one, two)
    (machine, start), (other_machine, other_start) = (conditions_of(of.cell.system) for of in (base, arm))
    pairs = {
        "machines": (machine, other_machine),
        "starts": (start, other_start),
        "lanes": (one.lane, two.lane),
        "units": (one.unit, two.unit),
        "placements": (one.placement, two.placement),
    }
    for name, (first, second) in pairs.items():
        if first != second:
            word = on_other_lanes if name == "lanes" else Word.INVALID
            text = f"{subject(gate)}: arms with different {name} ({first} and {second}) cannot be compared"
            return word, reason(word, text, "run both arms in one sweep" if word is Word.INVALID else "")
    return None


def figures_of(gate: Gate, measured: GateInput, limit: float, look: int) -> GateFigures:
    base, arm = (one.measurement(gate.metric) for one in arms_of(gate, measured))
    if base is None or arm is None or min(len(base.samples), len(arm.samples)) < look:
        raise DecideError(f"{gate.id}: an arm has too few samples of {gate.metric}")
    both = figures.in_one_unit(figures.first_runs(base, look), figures.first_runs(arm, look))
    seen = figures.of_ratio(gate, *both, alpha=measured.policy.alpha, limit=limit, look=look)
    if seen.unusable:
        return seen
    seen = ratio_groups(seen, both, groups.names_of(both), measured.policy)
    impossible, advice = _impossible(gate, seen, measured, base, arm)
    return looks.refused(gate, seen, impossible, advice) if impossible else seen


def ratio_groups(
    seen: GateFigures, both: Sequence[Measurement], names: Iterable[str], policy: Policy
) -> GateFigures:
    """The figures of a ratio, with the groups of both arms."""
    is_less = both[0].metric.better is MetricDirection.LESS

    def ratio(medians: Sequence[float]) -> float:
        base, other = medians
        return base / other if is_less else other / base

    arms = [groups.of_arm(name, of, policy) for name, of in zip(names, both, strict=True)]
    return groups.with_groups(seen, arms, ratio)


def _impossible(
    gate: Gate, seen: GateFigures, measured: GateInput, base: Measurement, arm: Measurement
) -> tuple[str, str]:
    """Why the ratio cannot be a speedup of the same work, and what to do next; empty if it can."""
    if base.cell.row != arm.cell.row or not arm.metric.grows_with_cpus_at_most:
        return "", ""
    checks = (
        (_beyond_its_cpus, _SLOWED),
        (beyond_those_used, FIND_CPUS),
        (_hidden, _HIDDEN),
        (_slowed, _SLOWED),
        (_did_more, _OTHER_WORK),
    )
    result = ((check(gate, seen, measured.policy, base, arm), advice) for check, advice in checks)
    return next((one for one in result if one[0]), ("", ""))


def _beyond_its_cpus(
    gate: Gate, seen: GateFigures, policy: Policy, base: Measurement, arm: Measurement
) -> str:
    most = most_speedup(base.cell.cpus, arm.cell.cpus, tolerance(policy, base, arm))
    if seen.interval.low <= most:
        return ""
    return f"{looks.figure_text(gate, seen, most)}, above {number(most)}, which is more than its CPUs allow"


def tolerance(policy: Policy, base: Measurement, arm: Measurement) -> float:
    """Gives the factor by which a ratio may be above that of the CPU counts. The instruction clock's ideal
    machine has no caches that more CPUs would have more of, and no noise that makes a run short by chance.
    But workers that share CPUs or make calls can switch less often if there are more CPUs."""
    ideal = arm.lane is Lane.INSN and (arm.cell.machine or IDEAL) == IDEAL
    return policy.superlinear_ideal if ideal and not _take_turns(base, arm) else policy.superlinear


def _overhead(policy: Policy, base: Measurement, arm: Measurement) -> float:
    """How many times as long all CPUs of the base together may need for the same work."""
    return used_cpus.TURNS if _take_turns(base, arm) else policy.superlinear


def _take_turns(base: Measurement, arm: Measurement) -> bool:
    return any(work.takes_turns for work in (*base.cpu_work, *arm.cpu_work))


def beyond_those_used(  # noqa: PLR0913 - the first five are those of each check
    gate: Gate, seen: GateFigures, policy: Policy, base: Measurement, arm: Measurement, *, growth: float = 1.0
) -> str:
    """`growth`: how many times the work the larger arm did, if the figure is a ratio of times."""
    used = used_cpus.bound(base, arm, seen.runs)
    if used is None:
        return ""
    most = used.most * _overhead(policy, base, arm) / growth
    if seen.interval.low <= most:
        return ""
    return f"{looks.figure_text(gate, seen, most)}, above {number(round(most, 2))}, but {used}"


def _hidden(gate: Gate, seen: GateFigures, _policy: Policy, base: Measurement, arm: Measurement) -> str:
    result = used_cpus.outside(base, arm, seen.runs)
    return f"{looks.figure_text(gate, seen, seen.threshold)}, but {result}" if result else ""


def _slowed(gate: Gate, seen: GateFigures, policy: Policy, base: Measurement, arm: Measurement) -> str:
    """Whatever slows down only the base, and is not counted as foreign time, makes the base's workers take
    longer for their work."""
    if not base.busy or not arm.busy:
        return ""
    slowed = bootstrap(base.busy[: seen.runs], arm.busy[: seen.runs]).interval(policy.alpha)
    if slowed.low <= _overhead(policy, base, arm):
        return ""
    return (
        f"{looks.figure_text(gate, seen, seen.threshold)}, but for the same work all workers together took "
        f"{number(round(slowed.low, 2))} times as long at smp{base.cell.cpus} as at smp{arm.cell.cpus}"
    )


def _did_more(gate: Gate, seen: GateFigures, _policy: Policy, base: Measurement, arm: Measurement) -> str:
    """A base whose programs do more than the work makes any ratio look better. Of both arms the runs count
    that say least. Nothing is known unless it is of each run."""
    ones, twos = ([work.programs for work in of.cpu_work[: seen.runs]] for of in (base, arm))
    least = min((one for one in ones if one is not None), default=0)
    most = max((two for two in twos if two is not None), default=0)
    if None in (*ones, *twos) or not most or least <= used_cpus.TURNS * most:
        return ""
    return (
        f"{looks.figure_text(gate, seen, seen.threshold)}, but the programs of smp{base.cell.cpus} executed "
        f"{least:,} instructions in the window, and those of smp{arm.cell.cpus} at most {most:,}: "
        "the base did more than the work"
    )
