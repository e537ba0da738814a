"""control: a negative control, which must *not* scale: a row known to be bad keeps the gates honest.

Takes a gate with `at_most` and the evidence, gives a Ruling. PASS when the interval's upper bound is
below the threshold, FAIL when the interval lies at or above it. The host's capacity excuses nothing here.
"""

from __future__ import annotations

from benchgate.errors import DecideError
from benchgate.gates import ratio
from benchgate.gates.base import Evidence, Gate, Ruling
from benchgate.model import Word
from benchgate.stats import Interval

KIND = "control"


def judge(gate: Gate, evidence: Evidence) -> Ruling:
    if gate.at_most is None or gate.at_least is not None:
        raise DecideError(f"{gate.id}: a control gate takes at_most (a speedup takes at_least)")
    return ratio.judge(gate, evidence, RULE)


def _settle(interval: Interval, threshold: float) -> Word | None:
    if interval.high < threshold:
        return Word.PASS
    return Word.FAIL if interval.low >= threshold else None


def _sign(word: Word, interval: Interval, threshold: float) -> str:
    if word is Word.PASS:
        return "<"
    return ">" if interval.low > threshold else ">="


RULE = ratio.Rule(
    settle=_settle,
    sign=_sign,
    advice="this row cannot scale by its construction: suspect the base arm, the pins or the clock",
    host_may_excuse=False,
)
