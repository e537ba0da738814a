"""Whether a system isolates well enough: the rule behind the mark `isolation`. Pure.

Takes the isolation of a mix, and a threshold or the isolation of the same mix on another system; gives a word
and a sentence. Does not fail.

    effect    isolation - threshold; or the difference of both systems
    PASS      the whole interval of the effect is at or above 0
    FAIL      the whole interval is below 0
    else      INCONCLUSIVE; also if the A/A noise floor is higher than the effect
"""

from __future__ import annotations

from dataclasses import dataclass

from benchgate.base.gates import Word
from benchgate.base.statistics.stats import Interval
from benchgate.base.text import percent
from benchgate.mix.estimates import highest
from benchgate.mix.isolation import MixIsolation


@dataclass(frozen=True, slots=True)
class IsolationVerdict:
    outcome: Word
    reason: str


def at_least(found: MixIsolation, threshold: float) -> IsolationVerdict:
    if found.missing:
        return IsolationVerdict(Word.INVALID, f"INVALID: isolation of {found.mix}: {found.missing}")
    told = f"{_told(found)}; required >= {threshold:g}"
    low, high = found.interval.low - threshold, found.interval.high - threshold
    return _ruled(Interval(low, high), found.value - threshold, found.floor, told)


def not_worse(found: MixIsolation, other: MixIsolation, name: str) -> IsolationVerdict:
    """Than the other system, `name`, in the same session."""
    for one, where in ((found, "this system"), (other, name)):
        if one.missing:
            return IsolationVerdict(
                Word.INVALID, f"INVALID: isolation of {one.mix} on {where}: {one.missing}"
            )
    told = f"{_told(found)}; {name} has {other.value:.3f}, and no less is required"
    low = found.interval.low - other.interval.high
    high = found.interval.high - other.interval.low
    floor = highest([found.floor, other.floor])
    return _ruled(Interval(low, high), found.value - other.value, floor, told)


def _told(found: MixIsolation) -> str:
    ends = found.interval
    interval = f"[{ends.low:.3f}, {ends.high:.3f}]"
    return f"isolation of {found.mix} is {found.value:.3f} {interval}, by {found.worst.part}"


def _ruled(effect: Interval, value: float, floor: float | None, told: str) -> IsolationVerdict:
    if floor is None:
        return _say(Word.INCONCLUSIVE, f"{told}; a single seed gives no noise floor; next: raise `seeds`")
    if floor > abs(value):
        noise = f"the A/A noise floor of {percent(floor)} is higher than the effect of {percent(abs(value))}"
        return _say(Word.INCONCLUSIVE, f"{told}; {noise}; next: raise `seeds` or `least`")
    if effect.low >= 0:
        return _say(Word.PASS, told)
    if effect.high < 0:
        return _say(Word.FAIL, f"{told}; next: the study's report shows the slowdown of each part")
    return _say(Word.INCONCLUSIVE, f"{told}; the interval has both; next: raise `seeds` or `least`")


def _say(outcome: Word, text: str) -> IsolationVerdict:
    return IsolationVerdict(outcome, f"{outcome}: {text}")
