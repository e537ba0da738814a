"""Shared by all gates on the ratio of two arms: invalid and skipped arms, the looks, contradictions.

Takes a gate, its input and a Rule (which interval settles the gate, and how to say so); gives a Ruling.
Fails with DecideError if the gate is invalid: no base, a base of another row, or no threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, CapacityBound, Gate, GateInput, Policy, Ruling, Word, most_speedup
from benchgate.base.runs import Measurement
from benchgate.base.stats import Interval, bootstrap, ratio_of_medians, serial_dependence
from benchgate.base.text import counted, with_interval
from benchgate.judge.gates.wording import first_of, number, reason, span, subject, verdict

EMULATED_OR_VIRTUAL = (Lane.KVM, Lane.TCG)
"""The lanes on which the capacity of the probe guests limits a speedup."""
QUIETER = "stop the host's other work, or use --clock insn"
DEPENDENT = 1.96
"""Above this `serial_dependence` the runs of the arms are not taken for independent. Independent runs exceed
it in 2 to 3% of looks, and then wait for the next look."""


@dataclass(frozen=True, slots=True)
class Rule:
    settle: Callable[[Interval, float], Word | None]
    """PASS or FAIL, or None if the interval contains the threshold."""
    sign: Callable[[Word, Interval, float], str]
    advice: Callable[[Arm], str]
    """What to do next after a FAIL of this arm."""
    host_may_excuse: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """One look at two arms."""

    lane: Lane
    threshold: float
    runs: int
    ratio: float
    interval: Interval
    dependent: bool
    """The runs drift, so the interval, which assumes independent runs, is too narrow."""
    blur: float
    """By which share the steps of the instruction clock can have changed the ratio."""
    slowed: Interval | None
    """The time in work of all workers of the base, divided by that of the other arm's workers."""

    @property
    def fields(self) -> dict[str, object]:
        low, high = self.interval.low, self.interval.high
        head = {"lane": self.lane, "threshold": self.threshold, "runs": self.runs}
        return {**head, "ratio": self.ratio, "low": low, "high": high}


def judge(gate: Gate, measured: GateInput, rule: Rule) -> Ruling:
    """The verdict at the first look that settles it. Each look uses only its first runs, so that more runs
    (which another gate may need of the same arm) never change a verdict."""
    base, arm = arms_of(gate, measured)
    lane = arm.lane or base.lane
    limit = gate.threshold(lane)
    if limit is None:
        raise DecideError(f"{gate.id}: a {gate.kind} gate needs a threshold")
    early = _early(gate, base, arm)
    if early:
        word, text = early
        fields = {"lane": lane, "threshold": limit, "runs": min(base.runs, arm.runs)}
        return Ruling(verdict(gate, word, text, fields))
    if measured.policy.informs:
        return _informing(gate, measured, rule, limit)
    return _look(gate, measured, rule, limit)


def _informing(gate: Gate, measured: GateInput, rule: Rule, limit: float) -> Ruling:
    """Shows the figures of the first look, if there are enough, and decides nothing."""
    base, arm = arms_of(gate, measured)
    looks, ready = measured.policy.session_looks, min(base.runs, arm.runs)
    fields: dict[str, object] = {"lane": arm.lane or base.lane, "threshold": limit, "runs": ready}
    what = subject(gate)
    if not measured.policy.shows:
        return Ruling(
            verdict(gate, Word.SKIP, reason(Word.SKIP, f"{what}: {measured.policy.informs}"), fields)
        )
    if looks and ready >= looks[0]:
        seen = _figures(gate, measured, limit, looks[0])
        fields = seen.fields
        word = rule.settle(seen.interval, limit)
        sign = rule.sign(word, seen.interval, limit) if word else "around"
        what = f"{_ratio_text(gate, seen, limit)} {sign} {number(limit)} {_conditions(gate, seen)}"
    text = reason(Word.SKIP, f"{what}: for information only: {measured.policy.informs}")
    return Ruling(verdict(gate, Word.SKIP, text, fields))


def check(gate: Gate, policy: Policy) -> None:
    """DecideError for a threshold that no ratio, or every ratio, of these CPU counts can pass."""
    base = base_of(gate)
    least = base.cpus / gate.cell.cpus
    most = most_speedup(base.cpus, gate.cell.cpus, policy.superlinear)
    for name in ("at_least", "at_most", "insn"):
        limit = getattr(gate, name)
        if limit is not None and not least < limit < most:
            raise DecideError(
                f"{gate.kind}: {name}={number(limit)} decides nothing: the speedup of {gate.cell.cpus} CPUs "
                f"over {base.cpus} is between {number(least)} and {number(most)}; give a threshold in between"
            )


def base_of(gate: Gate) -> Cell:
    if gate.base is None:
        raise DecideError(f"{gate.id}: a {gate.kind} gate needs a base to compare with")
    if gate.base.row != gate.cell.row or gate.base.cpus >= gate.cell.cpus:
        raise DecideError(
            f"{gate.id}: {gate.cell.id} over {gate.base.id} is not a speedup: "
            "both must be of the same row, and the base must have fewer CPUs"
        )
    return gate.base


def arms_of(gate: Gate, measured: GateInput) -> tuple[Arm, Arm]:
    return known_arm(base_of(gate), measured), known_arm(gate.cell, measured)


def known_arm(cell: Cell, measured: GateInput) -> Arm:
    try:
        return measured.arms[cell.id]
    except KeyError:
        raise DecideError(f"there is no arm {cell.id}; the sweep must contain every arm of a gate") from None


def _look(gate: Gate, measured: GateInput, rule: Rule, limit: float) -> Ruling:
    base, arm = arms_of(gate, measured)
    policy, ready = measured.policy, min(base.runs, arm.runs)
    looks = policy.session_looks
    seen: Figures | None = None
    wanted = 0
    for look in looks or (policy.first,):
        if ready < look:
            wanted = look
            break
        if looks:
            seen = _figures(gate, measured, limit, look)
            settled = _settled(gate, measured, rule, seen)
            if settled:
                return Ruling(verdict(gate, *settled, seen.fields))
    needs = {one.cell.id: wanted for one in (base, arm)} if wanted and not measured.too_many_void else {}
    if seen is None:
        fields = {"lane": arm.lane or base.lane, "threshold": limit, "runs": ready}
        if beside := broken_beside(measured):
            text = reason(Word.INVALID, f"{subject(gate)}: {too_few(beside)}", see_runs(beside))
            return Ruling(verdict(gate, Word.INVALID, text, fields), needs)
        if measured.too_many_void:
            text = reason(Word.INCONCLUSIVE, f"{subject(gate)}: {void_runs(measured)}", QUIETER)
            return Ruling(verdict(gate, Word.INCONCLUSIVE, text, fields))
        text = _too_few(gate, measured, ready)
        return Ruling(verdict(gate, Word.SKIP, text, fields), needs)
    return Ruling(verdict(gate, Word.INCONCLUSIVE, _undecided(gate, measured, seen), seen.fields), needs)


def _early(gate: Gate, base: Arm, arm: Arm) -> tuple[Word, str] | None:
    """The verdict if the figures do not matter."""
    for one in (base, arm):
        broken = broken_arm(one)
        if broken:
            return Word.INVALID, reason(Word.INVALID, f"{subject(gate)}: {broken}", see_runs(one))
    for one in (base, arm):
        if one.skipped:
            return Word.SKIP, reason(Word.SKIP, f"{subject(gate)}: {one.cell.id} was not run: {one.skipped}")
        if one.placement is Placement.OVERSUBSCRIBED:
            what = f"{subject(gate)}: {one.cell.id} has more CPUs than pins, so it is functional only"
            return Word.SKIP, reason(Word.SKIP, what, "give --cpus one host CPU per vCPU")
    below, above = base.measurement(gate.window), arm.measurement(gate.window)
    if below and above and (problem := _contradiction(below, above)):
        return Word.INVALID, reason(Word.INVALID, f"{subject(gate)}: {problem}", "run both arms in one sweep")
    return None


def broken_arm(arm: Arm) -> str:
    """Why an arm is INVALID, with its name; empty if it is not."""
    found = unverified(arm)
    return f"{arm.cell.id}: {found}" if found else unrepeated(arm)


def unverified(arm: Arm) -> str:
    """An arm is INVALID with one invalid run, or without a verified one."""
    if arm.invalid:
        bad = f"{len(arm.invalid)} of {counted(max(arm.attempted, len(arm.invalid)), 'run')}"
        return f"{bad} not verified: {first_of(arm.invalid)}"
    if arm.attempted > len(arm.void) and not arm.runs:
        return f"{counted(arm.attempted, 'run')} attempted, none is verified"
    return ""


def unrepeated(arm: Arm) -> str:
    """All arms are INVALID if the clock did not repeat a run. The sentence names its arm, not this one."""
    if not arm.unrepeated:
        return ""
    return f"the instruction clock does not repeat on this host: {first_of(arm.unrepeated)}"


def broken_beside(measured: GateInput) -> Arm | None:
    """The arm because of which valid arms have too few runs: an invalid run in any arm ends the sweep."""
    return next(filter(broken_arm, measured.arms.values()), None)


def too_few(beside: Arm) -> str:
    return f"too few runs, because the sweep ended at {broken_arm(beside)}"


def void_runs(measured: GateInput) -> str:
    """Why a sweep ended at noise of the host."""
    void = [why for arm in measured.arms.values() for why in arm.void]
    runs = sum(arm.attempted for arm in measured.arms.values())
    rule = measured.policy.void
    return (
        f"the host disturbed {len(void)} of {counted(runs, 'run')} of this sweep, more than {rule.most} and "
        f"{rule.share:.0%}, so they are void: {first_of(void)}"
    )


def see_runs(arm: Arm) -> str:
    """What to do next about an arm that is INVALID."""
    if not arm.culprit:
        return "compare the logs of these runs, clock.log first"
    return f"read {arm.culprit}/serial.log first, then the other logs beside it"


def _contradiction(base: Measurement, other: Measurement) -> str:
    pairs = {
        "lanes": (base.lane, other.lane),
        "units": (base.unit, other.unit),
        "placements": (base.placement, other.placement),
    }
    for name, (one, two) in pairs.items():
        if one != two:
            return f"arms with different {name} ({one} and {two}) cannot be compared"
    return ""


def _figures(gate: Gate, measured: GateInput, limit: float, look: int) -> Figures:
    base, arm = (one.measurement(gate.window) for one in arms_of(gate, measured))
    if base is None or arm is None or min(len(base.samples), len(arm.samples)) < look:
        raise DecideError(f"{gate.id}: an arm has too few samples of its {gate.window} window")
    tops, bottoms = base.samples[:look], arm.samples[:look]
    interval = bootstrap(tops, bottoms).interval(measured.policy.alpha)
    # The samples of the instruction clock are seeds, which share no noise.
    dependent = arm.lane is not Lane.INSN and serial_dependence(tops, bottoms) > DEPENDENT
    blur = sum(max(one.late[:look], default=0.0) for one in (base, arm))
    slowed = None
    if base.busy and arm.busy:
        slowed = bootstrap(base.busy[:look], arm.busy[:look]).interval(measured.policy.alpha)
    return Figures(arm.lane, limit, look, ratio_of_medians(tops, bottoms), interval, dependent, blur, slowed)


def _settled(gate: Gate, measured: GateInput, rule: Rule, seen: Figures) -> tuple[Word, str] | None:
    assert gate.base is not None
    impossible = _impossible(gate, seen, measured.policy.superlinear)
    if impossible:
        advice = "the base arm was slowed down or the clock is wrong: compare the foreign time of both arms"
        return Word.INVALID, reason(Word.INVALID, f"{impossible} {_conditions(gate, seen)}", advice)
    word = None if seen.dependent else rule.settle(seen.interval, seen.threshold)
    if word is None:
        return None
    if rule.settle(_blurred(seen), seen.threshold) is not word:
        return Word.INCONCLUSIVE, _unresolved(gate, seen)
    sign = rule.sign(word, seen.interval, seen.threshold)
    what = (
        f"{_ratio_text(gate, seen, seen.threshold)} {sign} {number(seen.threshold)} {_conditions(gate, seen)}"
    )
    host = _capacity(gate, measured, seen.lane)
    if word is Word.PASS:
        return word, reason(word, what)
    capacity = with_interval(host.ratio, host.low, host.high) if host else ""
    if rule.host_may_excuse and host and _excused(seen, host, measured.policy.capacity_reach):
        what += f", but the host's own capacity is {capacity}"
        advice = "use CPUs on different cores (--cpus), or --clock insn"
        return Word.INCONCLUSIVE, reason(Word.INCONCLUSIVE, what, advice)
    advice = rule.advice(known_arm(gate.cell, measured))
    return word, reason(word, what + (f", host capacity {capacity}" if host else ""), advice)


def _impossible(gate: Gate, seen: Figures, superlinear: float) -> str:
    """Why the ratio cannot be a speedup of the same work; empty if it can. Whatever slows down only the base,
    and is not counted as foreign time, makes the base's workers take longer for their work."""
    assert gate.base is not None
    most = most_speedup(gate.base.cpus, gate.cell.cpus, superlinear)
    if seen.interval.low > most:
        return f"{_ratio_text(gate, seen, most)}, above {number(most)}, which is more than its CPUs allow"
    if seen.slowed and seen.slowed.low > superlinear:
        text = _ratio_text(gate, seen, seen.threshold)
        return (
            f"{text}, but for the same work all workers together took {number(round(seen.slowed.low, 2))} "
            f"times as long at smp{gate.base.cpus} as at smp{gate.cell.cpus}"
        )
    return ""


def _blurred(seen: Figures) -> Interval:
    return Interval(seen.interval.low / (1 + seen.blur), seen.interval.high * (1 + seen.blur))


def _unresolved(gate: Gate, seen: Figures) -> str:
    text = _ratio_text(gate, seen, seen.threshold)
    what = (
        f"{text}, and the clock's steps at the vCPUs' hand-overs can have changed it by {seen.blur:.1%}, "
        f"so it is not resolved from {number(seen.threshold)} {_conditions(gate, seen)}"
    )
    return reason(Word.INCONCLUSIVE, what, "use `pause` (bench_relax) in loops that wait for another CPU")


def _excused(seen: Figures, host: CapacityBound, reach: float) -> bool:
    """True if the host's own speedup may be below the threshold and the guest reaches nearly all of it.

    "All of it" is the host's point estimate: with its lower bound, a noisier host would excuse more.
    """
    return host.low < seen.threshold and seen.ratio >= reach * host.ratio


def _capacity(gate: Gate, measured: GateInput, lane: Lane) -> CapacityBound | None:
    """The host's speedup for this ratio. It is measured against one probe guest, so the base must be smp1."""
    host = measured.capacity.get(gate.cell.cpus)
    if host is None or gate.base is None or gate.base.cpus != 1:
        return None
    return host if lane in EMULATED_OR_VIRTUAL and host.lane is lane else None


def _undecided(gate: Gate, measured: GateInput, seen: Figures) -> str:
    text, limit = _ratio_text(gate, seen, seen.threshold), number(seen.threshold)
    advice = "use a quieter host, or --clock insn"
    if seen.dependent:
        why = "but the runs drift and are not independent, so the interval is too narrow"
    else:
        why = f"and {limit} is inside the interval"
        advice = f"the ratio is too close to its threshold for this noise: {advice}"
    later = measured.policy.look_after(seen.runs)
    what = f"{text}, {why} {_conditions(gate, seen)}"
    if later and later <= measured.policy.max_runs:
        if beside := broken_beside(measured):
            return reason(Word.INCONCLUSIVE, f"{what}; {too_few(beside)}", see_runs(beside))
        if measured.too_many_void:
            return reason(Word.INCONCLUSIVE, f"{what}; {void_runs(measured)}", QUIETER)
        what += f"; no look at {later} runs was begun after {measured.policy.minutes:g} min"
        return reason(Word.INCONCLUSIVE, what, "raise `minutes` in a policy of your own (--policy)")
    return reason(Word.INCONCLUSIVE, what, f"--max-runs {later}" if later else advice)


def _too_few(gate: Gate, measured: GateInput, ready: int) -> str:
    first = measured.policy.session_looks[:1] or measured.policy.looks[:1]
    decide = "decides" if ready == 1 else "decide"
    what = (
        f"{subject(gate)}: {counted(ready, 'run')} per arm {decide} nothing; at least {first[0]} are needed"
    )
    return reason(Word.SKIP, what, f"--runs {first[0]}")


def _ratio_text(gate: Gate, seen: Figures, limit: float) -> str:
    return f"{subject(gate)} = {span(seen.ratio, seen.interval, limit)}"


def _conditions(gate: Gate, seen: Figures) -> str:
    return f"({gate.window}, {seen.lane}, {counted(seen.runs, 'run')} per arm)"
