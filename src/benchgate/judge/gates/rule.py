"""How the interval of a figure settles a gate with a threshold, and what to do next.

Takes intervals and thresholds; gives a word and its sign. `rule_of` takes a gate, and fails with DecideError
if it has not exactly one of `at_least` and `at_most`.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

from benchgate.base.errors import DecideError
from benchgate.base.gates import Gate, Word, sign_of
from benchgate.base.statistics.stats import Interval
from benchgate.judge.gates.wording import number

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
