"""Shared by all gates with a threshold: the looks, and what each of them decides.

Takes a GateQuestion (the gate, its arms, and the rule that settles it) and a function that computes the
figures of a look when they are needed; gives a Ruling. Fails with DecideError if the gate has no threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchgate.base.cells import Lane
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, CapacityBound, Gate, GateInput, Ruling, Word
from benchgate.base.statistics.stats import Interval
from benchgate.judge.gates import say
from benchgate.judge.gates.arm_checks import early, ended
from benchgate.judge.gates.figures import GateFigures
from benchgate.judge.gates.rule import Rule
from benchgate.judge.gates.wording import number, reason, subject, verdict


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
        return next((one.lane for one in reversed(self.arms) if one.lane), None)

    @property
    def ready(self) -> int:
        return min(one.runs for one in self.arms)

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
        return {"lane": self.lane, "threshold": self.limit, "runs": self.ready}

    def ruling(self, word: Word, text: str, seen: GateFigures | None = None, wanted: int = 0) -> Ruling:
        needs = {one.cell.id: wanted for one in self.arms} if wanted else {}
        return Ruling(verdict(self.gate, word, text, seen.fields if seen else self.fields), needs)


def judge(asked: GateQuestion, figures_at: Callable[[int], GateFigures]) -> Ruling:
    """The verdict at the first look that settles it. `figures_at` takes the runs per arm of a look."""
    figures = map(figures_at, asked.ready_looks)
    found = early(subject(asked.gate), asked.arms) or asked.contradiction
    if found:
        return asked.ruling(*found)
    if asked.measured.policy.informs:
        return _informing(asked, figures)
    seen: GateFigures | None = None
    for seen in figures:
        if settled := _settled(asked, seen):
            return asked.ruling(*settled, seen)
    if seen is None:
        return _nothing_seen(asked)
    text = say.undecided(asked.gate, asked.measured, seen)
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
        what = say.compared(asked.gate, seen, sign)
    return asked.ruling(Word.SKIP, reason(Word.SKIP, f"{what}: for information only: {policy.informs}"), seen)


def _nothing_seen(asked: GateQuestion) -> Ruling:
    """The verdict before the first look."""
    if end := ended(asked.measured):
        word, why, advice = end
        text = reason(word, f"{subject(asked.gate)}: {why}", advice)
        return asked.ruling(word, text, wanted=asked.wanted)
    text = say.too_few_to_decide(asked.gate, asked.measured, asked.ready)
    return asked.ruling(Word.SKIP, text, wanted=asked.wanted)


def _settled(asked: GateQuestion, seen: GateFigures) -> tuple[Word, str] | None:
    gate, rule = asked.gate, asked.rule
    if seen.unusable:
        return seen.unusable
    word = None if seen.is_dependent or seen.misfit else rule.settle(seen.interval, seen.threshold)
    if word is None:
        return None
    if rule.settle(seen.blurred, seen.threshold) is not word:
        return Word.INCONCLUSIVE, say.unresolved(gate, seen, asked.arms)
    what = say.compared(gate, seen, rule.sign_of(word, seen.interval, seen.threshold))
    if word is Word.PASS:
        return word, reason(word, what, rule.after_pass(seen.interval, seen.threshold))
    return _failed(asked, seen, what)


def _failed(asked: GateQuestion, seen: GateFigures, what: str) -> tuple[Word, str]:
    """A FAIL, unless the host may be the reason for it."""
    host, own = asked.host, seen.of_host
    if host and _excused(seen, host, asked.measured.policy.capacity_reach):
        return Word.INCONCLUSIVE, say.excused(what, host)
    if own is not None and asked.rule.settle(Interval(own, own), seen.threshold) is not Word.PASS:
        why = f"{what}, but the host's own capacity has {seen.name} {number(round(own, 6))}"
        return Word.INCONCLUSIVE, reason(Word.INCONCLUSIVE, why, say.OTHER_HOST)
    return Word.FAIL, reason(Word.FAIL, what + say.capacity(host), asked.rule.advice)


def _excused(seen: GateFigures, host: CapacityBound, reach: float) -> bool:
    """True if the host's own speedup may be below the threshold and the guest reaches nearly all of it.

    "All of it" is the host's point estimate: with its lower bound, a noisier host would excuse more.
    """
    return host.low < seen.threshold and seen.value >= reach * host.ratio
