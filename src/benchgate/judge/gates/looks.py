"""Shared by all gates with a threshold: the rule by which an interval settles the gate, the looks, what each
of them decides, and the sentences about it.

Takes a GateQuestion (the gate, its arms, and the rule that settles it) and a function that computes the
figures of a look when they are needed; gives a Ruling, whose text is one line. Fails with DecideError if the
gate has no threshold, or if a rule needs exactly one of `at_least` and `at_most` and the gate has not.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from benchgate.base.cells import Lane
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, CapacityBound, Gate, GateInput, Ruling, Word, sign_of
from benchgate.base.statistics.stats import Interval
from benchgate.base.system import arch
from benchgate.base.system.machines import unit_on
from benchgate.base.text import counted, with_interval
from benchgate.base.workload.metrics import MOST_SETTLING, NS, SETTLING, SHARE, number, threshold_text
from benchgate.judge.gates.arm_checks import early, ended
from benchgate.judge.gates.figures import GateFigures
from benchgate.judge.gates.wording import (
    digits,
    percent_span,
    reason,
    span,
    subject,
    time_span,
    verdict,
)

_COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
_OPPOSITE = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}


@dataclass(frozen=True, slots=True)
class Rule:
    sign: str
    """PASS if the whole interval has this sign to the threshold (`>`, `>=`, `<` or `<=`), FAIL if none of it
    has."""
    advice: str
    """What to do next after a FAIL."""
    stale: str = ""
    """What to do next after a PASS on the far side of 1/threshold; empty: nothing."""

    def settle(self, interval: Interval, threshold: float) -> Word | None:
        """None if the interval contains the threshold."""
        near, far = self._ends(interval)
        if _COMPARE[self.sign](near, threshold):
            return Word.PASS
        return Word.FAIL if _COMPARE[_OPPOSITE[self.sign]](far, threshold) else None

    def sign_of(self, word: Word, interval: Interval, threshold: float) -> str:
        """The sign between the figure and the threshold."""
        if word is Word.PASS:
            return self.sign
        opposite, (_, far) = _OPPOSITE[self.sign], self._ends(interval)
        return opposite[0] if _COMPARE[opposite[0]](far, threshold) else opposite

    def after_pass(self, interval: Interval, threshold: float) -> str:
        return self.stale if self.stale and interval.high < 1 / threshold else ""

    def _ends(self, interval: Interval) -> tuple[float, float]:
        """The end that is nearest to a FAIL, and the one that is nearest to a PASS."""
        ends = interval.low, interval.high
        return ends if self.sign.startswith(">") else ends[::-1]


def require_one_bound(gate: Gate) -> None:
    if (gate.at_least is None) == (gate.at_most is None):
        raise DecideError(f"{gate.id}: a {gate.kind} gate takes either at_least or at_most")


def require_between(gate: Gate, low: float, high: float, why: str) -> None:
    """A threshold outside of these limits decides nothing: no figure can fail, or none can pass."""
    for name, limit in gate.thresholds.items():
        if not low < limit < high:
            raise DecideError(f"{gate.kind}: {name}={number(limit)} decides nothing: {why}")


def rule_of(gate: Gate, advice: str, stale: str = "") -> Rule:
    """The rule with the sign that every report shows for this kind of gate."""
    require_one_bound(gate)
    return Rule(sign_of(gate.kind, "least" if gate.at_least is not None else "most"), advice, stale)


OTHER_HOST = "use CPUs on different cores (--cpus), or --clock insn"


@dataclass(frozen=True, slots=True)
class GateQuestion:
    gate: Gate
    measured: GateInput
    arms: tuple[Arm, ...]
    rule: Rule
    contradiction: tuple[Word, str] | None = None
    """The verdict if the arms cannot be compared."""
    host: CapacityBound | None = None
    """The host's own speedup, if it may be the reason for a FAIL."""

    @property
    def lane(self) -> Lane | None:
        return next((arm.lane for arm in reversed(self.arms) if arm.lane), None)

    @property
    def ready(self) -> int:
        return min(arm.runs for arm in self.arms)

    @property
    def ready_looks(self) -> tuple[int, ...]:
        """The looks for which every arm has enough runs. A look uses only its first runs, so that more runs
        (which another gate may need of the same arm) never change a verdict."""
        return tuple(look for look in self.measured.policy.session_looks if look <= self.ready)

    @property
    def wanted(self) -> int:
        """The runs per arm at the next look; 0: there is none, or too many runs are void."""
        policy = self.measured.policy
        later = (look for look in policy.session_looks or (policy.first,) if look > self.ready)
        return 0 if self.measured.too_many_void else next(later, 0)

    @property
    def limit(self) -> float:
        limit = self.gate.threshold(self.lane)
        if limit is None:
            raise DecideError(f"{self.gate.id}: a {self.gate.kind} gate needs a threshold")
        return limit

    @property
    def fields(self) -> dict[str, object]:
        """The fields of a verdict without figures."""
        unit = self.gate.setting("unit") or None
        return {"lane": self.lane, "threshold": self.limit, "runs": self.ready, "unit": unit}

    def ruling(self, word: Word, text: str, seen: GateFigures | None = None, wanted: int = 0) -> Ruling:
        needs = {arm.cell.id: wanted for arm in self.arms} if wanted else {}
        return Ruling(verdict(self.gate, word, text, seen.fields if seen else self.fields), needs)


def judge(asked: GateQuestion, figures_at: Callable[[int], GateFigures]) -> Ruling:
    """The verdict at the first look that settles it. `figures_at` takes the runs per arm of a look."""
    figures = map(figures_at, asked.ready_looks)
    result = early(subject(asked.gate), asked.arms) or asked.contradiction
    if result:
        return asked.ruling(*result)
    if asked.measured.policy.informs:
        return _informing(asked, figures)
    seen: GateFigures | None = None
    for seen in figures:
        if settled := _settled(asked, seen):
            return asked.ruling(*settled, seen)
    if seen is None:
        return _nothing_seen(asked)
    parted = _groups_disagree(asked.rule, seen)
    text = between_groups(asked.gate, seen) if parted else undecided(asked.gate, asked.measured, seen)
    return asked.ruling(Word.INCONCLUSIVE, text, seen, asked.wanted)


def _informing(asked: GateQuestion, figures: Iterator[GateFigures]) -> Ruling:
    """Shows the figures of the first look, if there are enough, and decides nothing."""
    policy, what = asked.measured.policy, subject(asked.gate)
    if not policy.shows:
        return asked.ruling(Word.SKIP, reason(Word.SKIP, f"{what}: {policy.informs}"))
    seen = next(figures, None)
    if seen is not None:
        word = asked.rule.settle(seen.interval, seen.threshold)
        sign = asked.rule.sign_of(word, seen.interval, seen.threshold) if word else "around"
        what = compared(asked.gate, seen, sign)
    return asked.ruling(Word.SKIP, reason(Word.SKIP, f"{what}: for information only: {policy.informs}"), seen)


def _nothing_seen(asked: GateQuestion) -> Ruling:
    """The verdict before the first look."""
    if end := ended(asked.measured):
        word, why, advice = end
        text = reason(word, f"{subject(asked.gate)}: {why}", advice)
        return asked.ruling(word, text, wanted=asked.wanted)
    text = too_few_to_decide(asked.gate, asked.measured, asked.ready)
    return asked.ruling(Word.SKIP, text, wanted=asked.wanted)


def _settled(asked: GateQuestion, seen: GateFigures) -> tuple[Word, str] | None:
    gate, rule = asked.gate, asked.rule
    if seen.unusable:
        return seen.unusable
    word = None if seen.is_dependent or seen.misfit else rule.settle(seen.interval, seen.threshold)
    if word is not Word.FAIL and _groups_disagree(rule, seen):
        # In wall time the groups of a few runs may be noise, so more are made.
        return (Word.INCONCLUSIVE, between_groups(gate, seen)) if seen.lane is Lane.INSN else None
    if word is None:
        return None
    if rule.settle(seen.blurred, seen.threshold) is not word:
        return Word.INCONCLUSIVE, unresolved(gate, seen, asked.arms)
    what = compared(gate, seen, rule.sign_of(word, seen.interval, seen.threshold))
    if word is Word.PASS:
        stale = rule.after_pass(seen.interval, seen.threshold)
        return word, reason(word, what, stale or seen.difference)
    return _failed(asked, seen, what)


def _groups_disagree(rule: Rule, seen: GateFigures) -> bool:
    """Whether some groups of runs pass and some do not. How many runs there are of each plays no part: a
    system that is bad with some seeds must not pass or fail by how often they were drawn."""
    return seen.spanned is not None and rule.settle(seen.spanned, seen.threshold) is None


def _failed(asked: GateQuestion, seen: GateFigures, what: str) -> tuple[Word, str]:
    """A FAIL, unless the host may be the reason for it: its own speedup may be below the threshold, and the
    guest reaches nearly all of it."""
    host, own = asked.host, seen.of_host
    reach = asked.measured.policy.capacity_reach
    # "Nearly all of it" is of the host's point estimate: with its lower bound, noise would excuse more.
    if host and host.low < seen.threshold and seen.value >= reach * host.ratio:
        capacity = with_interval(host.ratio, host.low, host.high)
        why = f"{what}, but the host's own capacity is {capacity}"
        return Word.INCONCLUSIVE, reason(Word.INCONCLUSIVE, why, OTHER_HOST)
    if own is not None and asked.rule.settle(Interval(own, own), seen.threshold) is not Word.PASS:
        why = f"{what}, but the host's own capacity has {seen.name} {number(round(own, 6))}"
        return Word.INCONCLUSIVE, reason(Word.INCONCLUSIVE, why, OTHER_HOST)
    of_host = f", host capacity {with_interval(host.ratio, host.low, host.high)}" if host else ""
    return Word.FAIL, reason(Word.FAIL, what + of_host, asked.rule.advice)


def refused(gate: Gate, seen: GateFigures, why: str, advice: str) -> GateFigures:
    """The figures, which cannot be right."""
    text = reason(Word.INVALID, f"{why} {conditions(gate, seen)}", advice)
    return replace(seen, unusable=(Word.INVALID, text))


def figure_text(gate: Gate, seen: GateFigures, limit: float) -> str:
    """`primes-linux smp2/smp1 = 1.43 [1.41, 1.46]`, `pipe-linux-smp2 wake = 4.528 [4.410, 4.630] us`,
    `primes-linux smp2/smp1 efficiency = 0.72 [0.71, 0.73]`."""
    if seen.is_ratio:
        return f"{subject(gate)} = {span(seen.value, seen.interval, limit)}"
    unit = unit_on(gate.cell.system, seen.unit)
    if unit == SHARE:
        return f"{subject(gate)} {gate.metric} = {percent_span(seen.value, seen.interval, limit)}"
    text = time_span(seen.value, seen.interval, limit) if unit == NS else _plain(seen, limit, unit)
    return f"{subject(gate)} {seen.name or gate.metric} = {text}"


def _plain(seen: GateFigures, limit: float, unit: str) -> str:
    least = digits(seen.interval) if seen.name else 2
    return f"{span(seen.value, seen.interval, limit, least)} {unit}".rstrip()


def limit_text(gate: Gate, seen: GateFigures) -> str:
    """A threshold without a unit has that of the figure before it; a time has a unit of its own."""
    unit = "" if seen.is_ratio else unit_on(gate.cell.system, seen.unit)
    return threshold_text(seen.threshold, unit if unit in (SHARE, NS) else "")


def conditions(gate: Gate, seen: GateFigures) -> str:
    runs = f"{counted(seen.runs, 'run')}{' per arm' if gate.base else ''}"
    return f"({', '.join(filter(None, (gate.metric, seen.lane, runs, seen.beside, seen.step)))})"


def compared(gate: Gate, seen: GateFigures, sign: str) -> str:
    """The figure with its threshold and conditions."""
    shown = figure_text(gate, seen, seen.threshold)
    said = f"{shown} {sign} {limit_text(gate, seen)} {conditions(gate, seen)}"
    return f"{said}; {seen.groups}" if seen.groups else said


US = 1_000


def unresolved(gate: Gate, seen: GateFigures, arms: Iterable[Arm]) -> str:
    cause, advice = "other tasks of the guest", "make the work longer, or use --clock insn"
    if seen.lane is Lane.INSN:
        cause, advice = "the clock's steps at the vCPUs' hand-overs", _waiting(arms)
        least = math.ceil(seen.value * (1 + seen.blur) / US)
        # no loop waits: threads are woken so rarely
        if gate.metric == SETTLING and least * US < MOST_SETTLING:
            advice = f'set {SETTLING}="{least}us", the shortest that can be told here'
    shown = figure_text(gate, seen, seen.threshold)
    what = (
        f"{shown}, and {cause} can have changed it by {seen.blur:.1%}, so it is "
        f"not resolved from {limit_text(gate, seen)} {conditions(gate, seen)}"
    )
    return reason(Word.INCONCLUSIVE, what, advice)


def _waiting(arms: Iterable[Arm]) -> str:
    """The guest's own instruction for a loop that waits."""
    guests = sorted({of.arch for arm in arms for of in arm.measurements.values() if of.arch})
    words = [f"{arch.named(guest).waits_by}{f' on {guest}' if guests[1:] else ''}" for guest in guests]
    use = " and ".join(words) or arch.X86_64.waits_by
    return f"use {use} (bench_relax) in loops that wait for another CPU"


def between_groups(gate: Gate, seen: GateFigures) -> str:
    text, limit = figure_text(gate, seen, seen.threshold), limit_text(gate, seen)
    what = f"{text}, but {limit} lies between groups: {seen.groups} {conditions(gate, seen)}"
    return reason(Word.INCONCLUSIVE, what, seen.difference)


def undecided(gate: Gate, measured: GateInput, seen: GateFigures) -> str:
    text, limit = figure_text(gate, seen, seen.threshold), limit_text(gate, seen)
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
