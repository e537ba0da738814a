"""Formats a verdict as one line: the word first, then the numbers, then what to do next.

Takes numbers and text; gives strings without line breaks. Does not fail.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from benchgate import hooks
from benchgate.base.cells import Lane, Window
from benchgate.base.gates import Arm, Gate, Ruling, Verdict, Word
from benchgate.base.statistics.stats import VISIBLE_STEP, Interval
from benchgate.base.text import NEXT, one_line, visible
from benchgate.base.workload.metrics import OF_THREADS, WHOLE, SeenBy, threshold_text, time_size

NOTHING: Mapping[str, int] = MappingProxyType({})
LONGEST = 600
"""A longer reason is truncated, because it may contain output of a guest."""
_COMMAND = "\x1f"
"""On both sides of a command in an advice, until `verdict` takes it out. `visible` leaves none."""


def span(ratio: float, interval: Interval, threshold: float, least: int = 2) -> str:
    """`1.43 [1.41, 1.46]`, with enough digits to show on which side of the threshold each number is."""
    values = (ratio, interval.low, interval.high)
    least = 0 if min(values) >= WHOLE else least
    digits = next((n for n in range(least, 9) if _shows_sides(values, threshold, n)), 9)
    middle, low, high = (f"{value:.{digits}f}" for value in values)
    return f"{middle} [{low}, {high}]"


def percent_span(share: float, interval: Interval, threshold: float) -> str:
    """`0.37 [0.05, 2.76]%`."""
    ends = Interval(100 * interval.low, 100 * interval.high)
    return f"{span(100 * share, ends, 100 * threshold)}%"


def time_span(value: float, interval: Interval, threshold: float) -> str:
    """`4.528 [4.410, 4.630] us`, with the four digits that reports show, or more if the sides need them.
    A 0 is in the unit of its interval."""
    size, name = time_size(value or interval.high)
    decimals = 3 - math.floor(math.log10(value / size)) if value >= 1 else 3
    ends = Interval(interval.low / size, interval.high / size)
    return f"{span(value / size, ends, threshold / size, max(decimals, 0))} {name}"


def digits(interval: Interval) -> int:
    """How many decimals show the length of the interval of a small figure."""
    length = interval.high - interval.low
    return min(max(2, math.ceil(-math.log10(length))), 6) if 0 < length < math.inf else 2


def printed_step(step: float, samples: Sequence[float], unit: str) -> str:
    """`printed in steps of 10 ms`; empty if the steps are too small to show in the interval of a ratio."""
    if step <= VISIBLE_STEP * min(samples):
        return ""
    return f"printed in steps of {threshold_text(step, unit)}"


def subject(gate: Gate) -> str:
    """`primes-linux smp2/smp1`, `primes-linux smp1,2,4`, `primes smp2 kernel/linux`,
    `primes-linux-smp2/FILE`, `primes.hi-200-linux-smp2 over primes.hi-100-linux-smp1`, or the cell's id
    if it has no base."""
    if gate.against:
        return f"{gate.cell.id}/{hooks.kept_name(gate.kind)}"
    if gate.base is None:
        return gate.cell.id
    if gate.base.system != gate.cell.system:
        return f"{gate.cell.label} smp{gate.cell.cpus} {gate.cell.system}/{gate.base.system}"
    if gate.base.label != gate.cell.label:
        return f"{gate.cell.id} over {gate.base.id}"
    if gate.more:
        return f"{gate.cell.row} smp{','.join(str(cell.cpus) for cell in gate.cells)}"
    return f"{gate.cell.row} smp{gate.cell.cpus}/smp{gate.base.cpus}"


def reason(word: Word, what: str, advice: str = "") -> str:
    """`what` may have output of a guest, which is cut and advises nothing. The advice is whole."""
    said = one_line(f"{word}: {what}", LONGEST).replace(NEXT, "; ")
    return f"{said}{NEXT}{advice}" if advice else said


def command(*words: str) -> str:
    """A command in an advice, to be pasted."""
    return f"{_COMMAND}{visible(shlex.join(words))}{_COMMAND}"


def with_words(text: str, words: str) -> str:
    """The reason with more words, before what to do next."""
    what, then, advice = text.partition(NEXT)
    return f"{what}; {words}{then}{advice}"


def claimed(who: Collection[SeenBy]) -> str:
    """How a figure is named that the machine did not measure."""
    if SeenBy.GUEST in who:
        return "claimed by the guest"
    return "claimed by the guest, within what the machine saw"


def where_time_goes(arm: Arm, metric: str = Window.WORK) -> str:
    """The advice after a FAIL."""
    if metric in OF_THREADS:
        look = command("benchgate", "threads", arm.sample)
        return f"{look} says which threads waited, on which CPU, and from which wake-up"
    look = command("benchgate", "replay", arm.sample, "--profile") if arm.lane is Lane.INSN else "--measure"
    return f"{look} shows where the time goes; metrics.csv has all runs' figures"


NOT_RUN = " was not run: "


def not_run(arm: Arm) -> str:
    """The cause stands behind NOT_RUN."""
    return f"{arm.cell.id}{NOT_RUN}{arm.skipped}"


def about(what: str, text: str) -> str:
    """`X smp4/smp1: X-smp4 has no rps`; where the text begins with its subject, that is said once."""
    rest = text.removeprefix(what)
    return f"{what}: {rest.lstrip(': ') if rest.startswith((' ', ': ')) else text}"


def first_of(reasons: Iterable[str]) -> str:
    """The first reason, and how many more there are."""
    listed = list(reasons)
    more = f" (and {len(listed) - 1} more)" if len(listed) > 1 else ""
    return one_line(listed[0], LONGEST // 2) + more


def verdict(gate: Gate, word: Word, text: str, figures: Mapping[str, object]) -> Verdict:
    """A verdict of this gate; `figures` has the fields that apply."""
    applied: dict[str, object] = {"lane": None, "threshold": None, "ratio": None, "low": None, "high": None}
    applied |= {"runs": 0} | dict(figures)
    pieces = text.split(_COMMAND)
    return Verdict(
        id=gate.id,
        gate=gate.kind,
        system=gate.cell.system,
        workload=gate.cell.workload,
        params=gate.cell.params,
        mode=gate.cell.mode,
        metric=gate.metric,
        base_cpus=gate.base.cpus if gate.base else None,
        base_system=gate.base.system if gate.base and gate.base.system != gate.cell.system else None,
        cpus=gate.cell.cpus,
        baseline=gate.against or None,
        bound="least" if gate.at_least is not None else "most" if gate.at_most is not None else None,
        outcome=word,
        reason="".join(pieces),
        commands=tuple(pieces[1::2]),
        **applied,  # type: ignore[arg-type]
    )


def ruling(
    gate: Gate, word: Word, what: str, advice: str = "", needs: Mapping[str, int] = NOTHING, **fields: object
) -> Ruling:
    """A ruling without figures; `fields`: those of the verdict that apply."""
    return Ruling(verdict(gate, word, reason(word, what, advice), fields), needs)


def informing(gate: Gate, arm: Arm, why: str) -> Ruling:
    """The ruling where figures decide nothing."""
    what = f"{subject(gate)}: for information only: {why}"
    return ruling(gate, Word.SKIP, what, lane=arm.lane, threshold=gate.threshold(arm.lane), runs=arm.runs)


def _shows_sides(values: tuple[float, ...], threshold: float, digits: int) -> bool:
    return all(
        (float(f"{value:.{digits}f}") > threshold) == (value > threshold)
        and (float(f"{value:.{digits}f}") < threshold) == (value < threshold)
        for value in values
    )
