"""`benchgate compare --fail-on RATIO`: is B worse than A by more than this ratio, by the whole interval?

Takes two sides with comparable keys; gives lines of text and an exit status. Pure. What cannot be decided is
never a success: a figure of A that B lacks, too few runs, another clock or machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchgate.base.cells import Lane
from benchgate.base.metrics import Better
from benchgate.base.stats import ratio_interval, ratio_of_medians
from benchgate.base.text import counted, with_interval
from benchgate.evidence.figures_file import Key, Samples, Side, short
from benchgate.render.tables.comparison import LEAST
from benchgate.session.exit_codes import UNDECIDED

REGRESSION = 1
MOST_LISTED = 20
_WALL = (Lane.KVM, Lane.TCG, Lane.NATIVE)


@dataclass(frozen=True, slots=True)
class Answer:
    lines: tuple[str, ...]
    status: int


def answer(a: Side, b: Side, worst: float, alpha: float) -> Answer:
    """Status 1: a regression; 5: none, but a figure of A could not be decided; 0: all were decided."""
    worse: list[str] = []
    undecided: list[str] = []
    for key, base in a.samples.items():
        if why := _why_not(base, b.samples.get(key), _machines_differ(a, b)):
            undecided.append(f"{short(key)}: {why}")
        elif said := _regression(key, base, b.samples[key], worst, alpha):
            worse.append(said)
    decided = len(a.samples) - len(undecided)
    found = f"{len(worse)} of them worse in B by more than {worst:g}x" if worse else "none is worse in B"
    lines = [f"--fail-on {worst:g}: {counted(decided, 'figure')} decided, {found}"]
    if decided and not worse:
        lines[0] += f" by more than {worst:g}x (whole interval, alpha {alpha:g} on each side)"
    lines += _listed("regression", worse)
    lines += _listed("not decided", undecided)
    return Answer(tuple(lines), REGRESSION if worse else UNDECIDED if undecided or not decided else 0)


def _listed(word: str, found: list[str]) -> Iterator[str]:
    yield from (f"{word}: {said}" for said in found[:MOST_LISTED])
    if len(found) > MOST_LISTED:
        yield f"{word}: and {len(found) - MOST_LISTED} more"


def _machines_differ(a: Side, b: Side) -> str:
    """Empty if they are the same, or if a side does not say."""
    if not a.machine or not b.machine or a.machine == b.machine:
        return ""
    return f"wall time of different machines: {a.machine}; {b.machine}"


def _why_not(base: Samples, other: Samples | None, machines: str) -> str:
    """Why the two cannot be decided; empty if they can."""
    if other is None:
        return "B does not have it"
    if base.unit != other.unit or base.lane != other.lane:
        return f"{base.lane or 'a file'} ({base.unit}) and {other.lane or 'a file'} ({other.unit})"
    if machines and base.lane in _WALL:
        return machines
    if sorted(base.values) == sorted(other.values):
        return ""
    if min(*base.values, *other.values) <= 0:
        return "a figure is 0 or less, so there is no ratio"
    fewest = min(len(base.values), len(other.values))
    return f"{counted(fewest, 'run')}, {LEAST} are needed for an interval" if fewest < LEAST else ""


def _regression(key: Key, base: Samples, other: Samples, worst: float, alpha: float) -> str:
    """Above 1 is worse, whatever the direction of the metric."""
    if sorted(base.values) == sorted(other.values):
        return ""
    top, bottom = (other, base) if base.better is Better.LESS else (base, other)
    interval = ratio_interval(top.values, bottom.values, alpha)
    if interval.low <= worst:
        return ""
    ratio = ratio_of_medians(top.values, bottom.values)
    name = f"{short(key)}{f' {key.system}' if key.system else ''}"
    return f"{name}: B is worse by {with_interval(ratio, interval.low, interval.high, 'x')}"
