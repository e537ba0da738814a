"""Whether near-optimal mixes say the same of a system: the paper's test of its own method. Pure.

Takes the isolation of several near-optimal maximal mixes; gives a Validity. Does not fail.

The paper asks for a small variance and does not say how small. Here the standard deviation of the isolation
over the mixes is compared with a bound: BOUND, or the A/A noise floor of the mixes if that is higher, because
no spread below the noise can be seen. A floor above BOUND decides nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchgate.base.gates import Word
from benchgate.base.text import percent
from benchgate.mix.isolation import Isolation

BOUND = 0.05
"""A larger standard deviation of isolation than five points is a FAIL."""


@dataclass(frozen=True, slots=True)
class Validity:
    outcome: Word
    reason: str
    values: tuple[tuple[str, float], ...]
    """The isolation of each mix."""
    deviation: float | None = None
    floor: float | None = None


def of(mixes: Sequence[Isolation]) -> Validity:
    measured = [one for one in mixes if not one.missing]
    values = tuple((one.mix, one.value) for one in measured)
    if len(measured) < 2:
        return Validity(Word.SKIP, f"{len(measured)} near-optimal mixes were measured; it takes 2", values)
    deviation = statistics.stdev(value for _, value in values)
    floors = [one.floor for one in measured]
    told = (
        f"the isolation of {len(values)} near-optimal mixes has a standard deviation of {percent(deviation)}"
    )
    if None in floors:
        return Validity(
            Word.INCONCLUSIVE, f"{told}; a single seed gives no noise floor: raise `seeds`", values, deviation
        )
    floor = max(one for one in floors if one is not None)
    if deviation > max(BOUND, floor):
        outcome, so = Word.FAIL, "so it matters which of them is run"
    elif floor > BOUND:
        outcome, so = Word.INCONCLUSIVE, "so more than that cannot be seen: raise `seeds` or `least`"
    else:
        outcome, so = Word.PASS, "so it does not matter which of them is run"
    text = f"{told}; bound {percent(BOUND)}, A/A noise floor {percent(floor)}: {so}"
    return Validity(outcome, text, values, deviation, floor)
