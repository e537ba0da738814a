"""Shared by `limit` and `ratio`: `at_least` and `at_most` as in plain words, the threshold itself included.

Takes a gate; gives its Rule. Fails with DecideError if the gate has not exactly one of both thresholds.
"""

from __future__ import annotations

from collections.abc import Callable

from benchgate.base.errors import DecideError
from benchgate.base.gates import Arm, Gate, Word
from benchgate.base.stats import Interval
from benchgate.judge.gates.looks import Rule


def rule_of(gate: Gate, advice: Callable[[Arm], str]) -> Rule:
    if (gate.at_least is None) == (gate.at_most is None):
        raise DecideError(f"{gate.id}: a {gate.kind} gate takes either at_least or at_most")
    if gate.at_least is not None:
        return Rule(_at_least, _sign_of_at_least, advice)
    return Rule(_at_most, _sign_of_at_most, advice)


def _at_least(interval: Interval, threshold: float) -> Word | None:
    if interval.low >= threshold:
        return Word.PASS
    return Word.FAIL if interval.high < threshold else None


def _at_most(interval: Interval, threshold: float) -> Word | None:
    if interval.high <= threshold:
        return Word.PASS
    return Word.FAIL if interval.low > threshold else None


def _sign_of_at_least(word: Word, _interval: Interval, _threshold: float) -> str:
    return ">=" if word is Word.PASS else "<"


def _sign_of_at_most(word: Word, _interval: Interval, _threshold: float) -> str:
    return "<=" if word is Word.PASS else ">"
