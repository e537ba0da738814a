"""speedup: is the work done at least so many times faster with more CPUs?

Takes a gate with `at_least` and the evidence, gives a Ruling. PASS when the interval lies above the
threshold, FAIL when it lies at or below it; see ratio.py for all that may come before.
"""

from __future__ import annotations

from benchgate.errors import DecideError
from benchgate.gates import ratio
from benchgate.gates.base import Evidence, Gate, Ruling
from benchgate.model import Word
from benchgate.stats import Interval

KIND = "speedup"


def judge(gate: Gate, evidence: Evidence) -> Ruling:
    if gate.at_least is None or gate.at_most is not None:
        raise DecideError(f"{gate.id}: a speedup gate takes at_least (a control takes at_most)")
    return ratio.judge(gate, evidence, RULE)


def _settle(interval: Interval, threshold: float) -> Word | None:
    if interval.low > threshold:
        return Word.PASS
    return Word.FAIL if interval.high <= threshold else None


def _sign(word: Word, interval: Interval, threshold: float) -> str:
    if word is Word.PASS:
        return ">"
    return "<" if interval.high < threshold else "<="


RULE = ratio.Rule(
    settle=_settle,
    sign=_sign,
    advice="--measure (on insn also: benchgate replay RUN --attribution) shows where the time goes; "
    "the workers' own times are in each run's serial.log",
    host_may_excuse=True,
)
