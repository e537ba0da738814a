"""Shared by all gates with a threshold: the looks, and what each of them decides.

Takes a Question: the gate, its arms, the figures of a look, and which interval settles it; gives a Ruling.
Fails with DecideError if the gate has no threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchgate.base.cells import Lane
from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, CapacityBound, Gate, GateInput, Ruling, Word
from benchgate.base.stats import Interval
from benchgate.judge.gates import say
from benchgate.judge.gates.arm_checks import QUIETER, broken_beside, early, see_runs, too_few, void_runs
from benchgate.judge.gates.figures import Figures
from benchgate.judge.gates.wording import reason, subject, verdict


@dataclass(frozen=True, slots=True)
class Rule:
    settle: Callable[[Interval, float], Word | None]
    """PASS or FAIL, or None if the interval contains the threshold."""
    sign: Callable[[Word, Interval, float], str]
    advice: Callable[[Arm], str]
    """What to do next after a FAIL of this arm."""
    praise: Callable[[Interval, float], str] = lambda _interval, _threshold: ""
    """What to do next after a PASS; empty: nothing."""


@dataclass(frozen=True, slots=True)
class Question:
    gate: Gate
    measured: GateInput
    rule: Rule
    arms: tuple[Arm, ...]
    figures: Callable[[float, int], Figures]
    """Of a threshold and the first runs of each arm."""
    contradiction: tuple[Word, str] | None = None
    """The verdict if the arms cannot be compared."""
    host: CapacityBound | None = None
    """The host's own speedup, if it may be the reason for a FAIL."""
    excuse: Callable[[Figures], str] = lambda _: ""
    """Why the host may be the reason for a FAIL otherwise; empty if it is not."""

    @property
    def lane(self) -> Lane | None:
        return next((one.lane for one in reversed(self.arms) if one.lane), None)

    @property
    def ready(self) -> int:
        return min(one.runs for one in self.arms)

    @property
    def limit(self) -> float:
        limit = self.gate.threshold(self.lane)
        if limit is None:
            raise DecideError(f"{self.gate.id}: a {self.gate.kind} gate needs a threshold")
        return limit

    @property
    def fields(self) -> dict[str, object]:
        """Of a verdict without figures."""
        return {"lane": self.lane, "threshold": self.limit, "runs": self.ready}

    def ruling(self, word: Word, text: str, seen: Figures | None = None, wanted: int = 0) -> Ruling:
        needs = {one.cell.id: wanted for one in self.arms} if wanted else {}
        return Ruling(verdict(self.gate, word, text, seen.fields if seen else self.fields), needs)


def judge(asked: Question) -> Ruling:
    """The verdict at the first look that settles it. Each look uses only its first runs, so that more runs
    (which another gate may need of the same arm) never change a verdict."""
    found = early(subject(asked.gate), asked.arms) or asked.contradiction
    if found:
        return asked.ruling(*found)
    return _informing(asked) if asked.measured.policy.informs else _look(asked)


def _informing(asked: Question) -> Ruling:
    """Shows the figures of the first look, if there are enough, and decides nothing."""
    policy, what, seen = asked.measured.policy, subject(asked.gate), None
    if not policy.shows:
        return asked.ruling(Word.SKIP, reason(Word.SKIP, f"{what}: {policy.informs}"))
    looks = policy.session_looks
    if looks and asked.ready >= looks[0]:
        seen = asked.figures(asked.limit, looks[0])
        word = asked.rule.settle(seen.interval, seen.threshold)
        sign = asked.rule.sign(word, seen.interval, seen.threshold) if word else "around"
        what = say.compared(asked.gate, seen, sign)
    return asked.ruling(Word.SKIP, reason(Word.SKIP, f"{what}: for information only: {policy.informs}"), seen)


def _look(asked: Question) -> Ruling:
    measured, policy = asked.measured, asked.measured.policy
    looks = policy.session_looks
    seen: Figures | None = None
    wanted = 0
    for look in looks or (policy.first,):
        if asked.ready < look:
            wanted = look
            break
        if looks:
            seen = asked.figures(asked.limit, look)
            if settled := _settled(asked, seen):
                return asked.ruling(*settled, seen)
    wanted = 0 if measured.too_many_void else wanted
    if seen is None:
        return _nothing_seen(asked, wanted)
    return asked.ruling(Word.INCONCLUSIVE, say.undecided(asked.gate, measured, seen), seen, wanted)


def _nothing_seen(asked: Question, wanted: int) -> Ruling:
    """The verdict before the first look."""
    measured, what = asked.measured, subject(asked.gate)
    if beside := broken_beside(measured):
        text = reason(Word.INVALID, f"{what}: {too_few(beside)}", see_runs(beside))
        return asked.ruling(Word.INVALID, text, wanted=wanted)
    if measured.too_many_void:
        text = reason(Word.INCONCLUSIVE, f"{what}: {void_runs(measured)}", QUIETER)
        return asked.ruling(Word.INCONCLUSIVE, text)
    return asked.ruling(Word.SKIP, say.too_few_to_decide(asked.gate, measured, asked.ready), wanted=wanted)


def _settled(asked: Question, seen: Figures) -> tuple[Word, str] | None:
    gate, rule = asked.gate, asked.rule
    if seen.unusable:
        return seen.unusable
    word = None if seen.is_dependent or seen.misfit else rule.settle(seen.interval, seen.threshold)
    if word is None:
        return None
    if rule.settle(seen.blurred, seen.threshold) is not word:
        return Word.INCONCLUSIVE, say.unresolved(gate, seen, asked.arms)
    what = say.compared(gate, seen, rule.sign(word, seen.interval, seen.threshold))
    if word is Word.PASS:
        return word, reason(word, what, rule.praise(seen.interval, seen.threshold))
    return _failed(asked, seen, what)


def _failed(asked: Question, seen: Figures, what: str) -> tuple[Word, str]:
    """A FAIL, unless the host may be the reason for it."""
    host = asked.host
    if host and _excused(seen, host, asked.measured.policy.capacity_reach):
        return Word.INCONCLUSIVE, say.excused(what, host)
    if excuse := asked.excuse(seen):
        return Word.INCONCLUSIVE, reason(Word.INCONCLUSIVE, f"{what}, but {excuse}", say.OTHER_HOST)
    return Word.FAIL, reason(Word.FAIL, what + say.capacity(host), asked.rule.advice(asked.arms[-1]))


def _excused(seen: Figures, host: CapacityBound, reach: float) -> bool:
    """True if the host's own speedup may be below the threshold and the guest reaches nearly all of it.

    "All of it" is the host's point estimate: with its lower bound, a noisier host would excuse more.
    """
    return host.low < seen.threshold and seen.value >= reach * host.ratio
