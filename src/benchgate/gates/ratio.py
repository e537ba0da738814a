"""What every gate on a ratio of two arms has in common: when it may speak, the looks, the contradictions.

Takes a gate, the evidence and a Rule (which interval settles it, and how that is put into words); gives a
Ruling. Fails with DecideError where the gate itself cannot be meant: no base, another row, no threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchgate.errors import DecideError
from benchgate.gates.base import Arm, CapacityBound, Evidence, Gate, Ruling, most_speedup
from benchgate.gates.wording import counted, first_of, number, reason, span, subject, verdict
from benchgate.model import Cell, Lane, Measurement, Placement, Word
from benchgate.stats import Interval, bootstrap, ratio_of_medians

EMULATED_OR_VIRTUAL = (Lane.KVM, Lane.TCG)
"""The lanes for which the probe guests' capacity is a ceiling."""


@dataclass(frozen=True, slots=True)
class Rule:
    settle: Callable[[Interval, float], Word | None]
    """PASS or FAIL, or None while the interval holds the threshold."""
    sign: Callable[[Word, Interval, float], str]
    advice: str
    """What to do next after a FAIL."""
    host_may_excuse: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """One look at two arms."""

    lane: Lane
    threshold: float
    runs: int
    ratio: float
    interval: Interval

    @property
    def fields(self) -> dict[str, object]:
        low, high = self.interval.low, self.interval.high
        head = {"lane": self.lane, "threshold": self.threshold, "runs": self.runs}
        return {**head, "ratio": self.ratio, "low": low, "high": high}


def judge(gate: Gate, evidence: Evidence, rule: Rule) -> Ruling:
    """The verdict at the first look that settles it; each look sees its first runs only, so that more
    runs (another gate may want them of the same arm) never change a verdict that has fallen."""
    base, arm = arms_of(gate, evidence)
    lane = arm.lane or base.lane
    limit = gate.threshold(lane)
    if limit is None:
        raise DecideError(f"{gate.id}: a {gate.kind} gate needs a threshold")
    stopped = _stopped(gate, base, arm) or _withheld(gate, evidence, base, arm)
    if stopped:
        word, text = stopped
        fields = {"lane": lane, "threshold": limit, "runs": min(base.runs, arm.runs)}
        return Ruling(verdict(gate, word, text, fields))
    return _look(gate, evidence, rule, limit)


def arms_of(gate: Gate, evidence: Evidence) -> tuple[Arm, Arm]:
    if gate.base is None:
        raise DecideError(f"{gate.id}: a {gate.kind} gate needs a base to compare with")
    if gate.base.row != gate.cell.row or gate.base.cpus >= gate.cell.cpus:
        raise DecideError(
            f"{gate.id}: {gate.cell.id} over {gate.base.id} is no speedup: "
            "both must be of one row, the base with fewer CPUs"
        )
    return known_arm(gate.base, evidence), known_arm(gate.cell, evidence)


def known_arm(cell: Cell, evidence: Evidence) -> Arm:
    try:
        return evidence.arms[cell.id]
    except KeyError:
        raise DecideError(f"there is no arm {cell.id}; the sweep must name every arm of a gate") from None


def _look(gate: Gate, evidence: Evidence, rule: Rule, limit: float) -> Ruling:
    base, arm = arms_of(gate, evidence)
    policy, ready = evidence.policy, min(base.runs, arm.runs)
    looks = policy.session_looks
    seen: Figures | None = None
    wanted = 0
    for look in looks or (policy.first,):
        if ready < look:
            wanted = look
            break
        if looks:
            seen = _figures(gate, evidence, limit, look)
            settled = _settled(gate, evidence, rule, seen)
            if settled:
                return Ruling(verdict(gate, *settled, seen.fields))
    needs = {one.cell.id: wanted for one in (base, arm)} if wanted else {}
    if seen is None:
        fields = {"lane": arm.lane or base.lane, "threshold": limit, "runs": ready}
        if broken := broken_beside(evidence):
            text = reason(Word.INVALID, f"{subject(gate)}: {broken}", SEE_RUNS)
            return Ruling(verdict(gate, Word.INVALID, text, fields), needs)
        text = _too_few(gate, evidence, ready)
        return Ruling(verdict(gate, Word.SKIP, text, fields), needs)
    return Ruling(verdict(gate, Word.INCONCLUSIVE, _undecided(gate, evidence, seen), seen.fields), needs)


def _stopped(gate: Gate, base: Arm, arm: Arm) -> tuple[Word, str] | None:
    """What ends a ratio before its figures are looked at."""
    for one in (base, arm):
        broken = broken_arm(one)
        if broken:
            return Word.INVALID, reason(Word.INVALID, f"{subject(gate)}: {broken}", SEE_RUNS)
    for one in (base, arm):
        if one.skipped:
            return Word.SKIP, reason(Word.SKIP, f"{subject(gate)}: {one.cell.id} is not run: {one.skipped}")
        if one.placement is Placement.OVERSUBSCRIBED:
            what = f"{subject(gate)}: {one.cell.id} has more CPUs than pins, functional only, never a speedup"
            return Word.SKIP, reason(Word.SKIP, what, "give --cpus one host CPU for each vCPU")
    measured = base.measurement(gate.window), arm.measurement(gate.window)
    if measured[0] and measured[1]:
        odds = _contradiction(measured[0], measured[1])
        if odds:
            return Word.INVALID, reason(
                Word.INVALID, f"{subject(gate)}: {odds}", "run both arms in one sweep"
            )
    return None


def _withheld(gate: Gate, evidence: Evidence, base: Arm, arm: Arm) -> tuple[Word, str] | None:
    """Why this session's figures decide nothing, though nothing is wrong with them."""
    if evidence.policy.informs:
        return Word.SKIP, reason(Word.SKIP, f"{subject(gate)}: {evidence.policy.informs}")
    for one in (base, arm):
        if one.voided > evidence.policy.max_voided:
            what = f"{subject(gate)}: {counted(one.voided, 'run')} of {one.cell.id} voided by host noise"
            what += f", more than {evidence.policy.max_voided}"
            return Word.INCONCLUSIVE, reason(Word.INCONCLUSIVE, what, "repeat on a quieter host")
    return None


SEE_RUNS = "read the serial.log of that run under runs/"


def broken_arm(arm: Arm) -> str:
    """Why an arm is INVALID; empty where it is not. One bad run is enough, and so is no good one."""
    if arm.invalid:
        bad = f"{len(arm.invalid)} of {counted(max(arm.attempted, len(arm.invalid)), 'run')}"
        return f"{arm.cell.id}: {bad} not verified: {first_of(arm.invalid)}"
    if arm.attempted and not arm.runs and not arm.voided:
        return f"{arm.cell.id}: {counted(arm.attempted, 'run')} attempted, none gave a verified result"
    return ""


def broken_beside(evidence: Evidence) -> str:
    """Why arms that did nothing wrong have too few runs: a sweep ends where any of its arms breaks."""
    broken = next(filter(None, map(broken_arm, evidence.arms.values())), "")
    return f"too few runs, for the sweep ended at {broken}" if broken else ""


def _contradiction(base: Measurement, other: Measurement) -> str:
    pairs = {
        "lanes": (base.lane, other.lane),
        "units": (base.unit, other.unit),
        "placements": (base.placement, other.placement),
    }
    for name, (one, two) in pairs.items():
        if one != two:
            return f"different {name} ({one} and {two}) never meet in one ratio"
    return ""


def _figures(gate: Gate, evidence: Evidence, limit: float, look: int) -> Figures:
    base, arm = (one.measurement(gate.window) for one in arms_of(gate, evidence))
    if base is None or arm is None or min(len(base.samples), len(arm.samples)) < look:
        raise DecideError(f"{gate.id}: an arm lacks samples of its {gate.window} window")
    tops, bottoms = base.samples[:look], arm.samples[:look]
    interval = bootstrap(tops, bottoms).interval(evidence.policy.alpha)
    return Figures(arm.lane, limit, look, ratio_of_medians(tops, bottoms), interval)


def _settled(gate: Gate, evidence: Evidence, rule: Rule, seen: Figures) -> tuple[Word, str] | None:
    assert gate.base is not None
    most = most_speedup(gate.base.cpus, gate.cell.cpus, evidence.policy.superlinear)
    if seen.interval.low > most:
        what = f"{_said(gate, seen, most)}, above {number(most)}, more than its CPUs allow"
        advice = "something slowed the base arm or the clock is wrong: compare the foreign time of both arms"
        return Word.INVALID, reason(Word.INVALID, f"{what} {_circumstances(gate, seen)}", advice)
    word = rule.settle(seen.interval, seen.threshold)
    if word is None:
        return None
    sign = rule.sign(word, seen.interval, seen.threshold)
    what = f"{_said(gate, seen, seen.threshold)} {sign} {number(seen.threshold)} {_circumstances(gate, seen)}"
    host = _capacity(gate, evidence, seen.lane)
    if word is Word.PASS:
        return word, reason(word, what)
    if rule.host_may_excuse and host and _excused(seen, host, evidence.policy.capacity_reach):
        what += f", but the host itself gives {_host(host)}"
        advice = "take CPUs on distinct cores (--cpus), or --clock insn"
        return Word.INCONCLUSIVE, reason(Word.INCONCLUSIVE, what, advice)
    return word, reason(word, what + (f", host capacity {_host(host)}" if host else ""), rule.advice)


def _excused(seen: Figures, host: CapacityBound, reach: float) -> bool:
    """The host's own speedup may lie below the threshold, and the guest makes nearly all of it.

    "All of it" is the host's point estimate: its lower bound would excuse more, the noisier it is.
    """
    return host.low < seen.threshold and seen.ratio >= reach * host.ratio


def _capacity(gate: Gate, evidence: Evidence, lane: Lane) -> CapacityBound | None:
    """The host's speedup for this ratio: measured against one probe guest, so only for a base of one."""
    host = evidence.capacity.get(gate.cell.cpus)
    if host is None or gate.base is None or gate.base.cpus != 1:
        return None
    return host if lane in EMULATED_OR_VIRTUAL and host.lane is lane else None


def _undecided(gate: Gate, evidence: Evidence, seen: Figures) -> str:
    said, limit = _said(gate, seen, seen.threshold), number(seen.threshold)
    what = f"{said}, and {limit} lies inside {_circumstances(gate, seen)}"
    later = evidence.policy.look_after(seen.runs)
    nearer = (
        "the ratio is too near its threshold for this noise: repeat on a quieter host, or use --clock insn"
    )
    return reason(Word.INCONCLUSIVE, what, f"--max-runs {later}" if later else nearer)


def _too_few(gate: Gate, evidence: Evidence, ready: int) -> str:
    first = evidence.policy.session_looks[:1] or evidence.policy.looks[:1]
    decide = "decides" if ready == 1 else "decide"
    what = f"{subject(gate)}: {counted(ready, 'run')} an arm {decide} nothing, {first[0]} are the least"
    return reason(Word.SKIP, what, f"--runs {first[0]}")


def _said(gate: Gate, seen: Figures, limit: float) -> str:
    return f"{subject(gate)} = {span(seen.ratio, seen.interval, limit)}"


def _circumstances(gate: Gate, seen: Figures) -> str:
    return f"({gate.window}, {seen.lane}, {counted(seen.runs, 'run')} an arm)"


def _host(host: CapacityBound) -> str:
    return f"{host.ratio:.2f} [{host.low:.2f}, {host.high:.2f}]"
