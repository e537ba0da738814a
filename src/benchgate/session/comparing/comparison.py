"""`benchgate compare A B`: the figures of two sessions or programs, side by side.

Takes two words of the command line (evidence/figures_file.py) and the metrics to show; gives the table as
text, and with --fail-on RATIO an exit status: whether B is worse than A by more than this ratio, by the whole
interval. What cannot be decided is never a success: a figure of A that B lacks, too few runs, another clock
or machine. Fails with UsageError if nothing on both sides is the same, or a side has several systems and the
other one not the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from benchgate.base.cells import Lane
from benchgate.base.errors import UsageError
from benchgate.base.statistics.stats import Interval, ratio_interval, ratio_of_medians
from benchgate.base.system.comparable import incomparable
from benchgate.base.text import counted, suggestion, visible, with_interval
from benchgate.base.workload.metrics import MetricDirection
from benchgate.evidence import figures_file
from benchgate.evidence.figures_file import ComparisonSide, Samples, short
from benchgate.render.tables import comparison, units
from benchgate.render.tables.comparison import LEAST
from benchgate.session.exit_codes import UNDECIDED

ALPHA = 0.05
REGRESSION = 1
MOST_LISTED = 20
_WALL = (Lane.KVM, Lane.TCG, Lane.NATIVE)


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    text: str
    status: int = 0


def text(word: str, other: str, metrics: Collection[str] = ()) -> str:
    """`metrics` are the only ones to show; empty: all."""
    return compare(word, other, metrics).text


def compare(
    one: str,
    other: str,
    metrics: Collection[str] = (),
    *,
    fail_on: float | None = None,
    read: Callable[[str], ComparisonSide] = figures_file.read,
) -> ComparisonReport:
    """`fail_on` is how many times worse B may be, `read` gives the side of a word."""
    whole = [read(word) for word in (one, other)]
    _require_known(metrics, whole)
    a, b = _alike(*(side.only(metrics) for side in whole))
    lines = [f"A: {a.name}", f"B: {b.name}", "", *comparison.table(a, b, ALPHA), ""]
    lines += [f"only in {name}: {left}" for name, left in _alone(a, b) if left]
    lines.append(
        f"A / B is the ratio of the medians, with its bootstrap interval (alpha {ALPHA:g} on each side) if "
        "both have 5 samples or more. Figures of different clocks have no ratio."
    )
    lines += comparison.steps(a, b)
    if fail_on is None:
        return ComparisonReport("\n".join(map(visible, lines)))
    regressions = find_regressions(a, b, fail_on, ALPHA)
    return ComparisonReport("\n".join(map(visible, [*lines, *regressions.lines])), regressions.status)


def _require_known(metrics: Collection[str], sides: Collection[ComparisonSide]) -> None:
    known = {key.metric for side in sides for key in side.samples}
    for metric in metrics:
        if metric not in known:
            there = f"there are {', '.join(sorted(known)) or 'none'}"
            raise UsageError(f"--metric {metric}: neither side has it; {suggestion(metric, known, there)}")


def _alone(a: ComparisonSide, b: ComparisonSide) -> list[tuple[str, str]]:
    """What has no partner, each once: a row that one side skipped is missing here, too."""
    left = {"A": a.samples.keys() - b.samples.keys(), "B": b.samples.keys() - a.samples.keys()}
    return [(name, ", ".join(sorted(set(map(short, keys))))) for name, keys in left.items()]


def _alike(a: ComparisonSide, b: ComparisonSide) -> tuple[ComparisonSide, ComparisonSide]:
    """Both sides with keys that can be equal."""
    if a.systems and b.systems and a.models != b.models:
        on = " and ".join(f"{side.name} is on {', '.join(side.models)}" for side in (a, b))
        raise UsageError(f"{on}: figures of two machines are never compared")
    several = max(len(a.systems), len(b.systems)) > 1
    if several and a.systems != b.systems:
        have = " and ".join(f"{side.name} has {', '.join(side.systems) or 'no system'}" for side in (a, b))
        raise UsageError(f"{have}: choose one with FOLDER:SYSTEM")
    if not several:
        if a.systems and b.systems and (why := incomparable(a.systems[0], b.systems[0])):
            raise UsageError(f"{why}: their figures are never compared; next: measure both in the same way")
        a, b = a.without_system, b.without_system
    if not a.samples.keys() & b.samples.keys():
        a, b = a.operations, b.operations
    if not a.samples.keys() & b.samples.keys():
        lack = "no figure of the same workload, parameters, CPU count and metric"
        raise UsageError(f"{a.name} and {b.name} have {lack}")
    return a, b


@dataclass(frozen=True, slots=True)
class Regressions:
    lines: tuple[str, ...]
    status: int


def find_regressions(a: ComparisonSide, b: ComparisonSide, worst: float, alpha: float) -> Regressions:
    """Status 1: a regression; 5: none, but a figure of A could not be decided; 0: all were decided."""
    worse: list[str] = []
    undecided: list[str] = []
    for key, base in a.samples.items():
        other, machines = b.samples.get(key), _machines_differ(a, b)
        why = "B does not have it" if other is None else _incomparable(base, other, machines)
        if other is None or why:
            undecided.append(f"{short(key)}: {why}")
        elif _equal(base, other):
            continue
        elif why := _too_little(base, other) or _too_coarse(base, other, worst, alpha):
            undecided.append(f"{short(key)}: {why}")
        elif (seen := _worse(base, other, alpha)).interval.low > worst:
            worse.append(f"{short(key)}{f' {key.system}' if key.system else ''}: B is worse by {seen}")
    decided = len(a.samples) - len(undecided)
    found = f"{len(worse)} of them worse in B by more than {worst:g}x" if worse else "none is worse in B"
    lines = [f"--fail-on {worst:g}: {counted(decided, 'figure')} decided, {found}"]
    if decided and not worse:
        lines[0] += f" by more than {worst:g}x (whole interval, alpha {alpha:g} on each side)"
    lines += _listed("regression", worse)
    lines += _listed("not decided", undecided)
    return Regressions(tuple(lines), REGRESSION if worse else UNDECIDED if undecided or not decided else 0)


def _listed(word: str, found: list[str]) -> Iterator[str]:
    yield from (f"{word}: {said}" for said in found[:MOST_LISTED])
    if len(found) > MOST_LISTED:
        yield f"{word}: and {len(found) - MOST_LISTED} more"


def _machines_differ(a: ComparisonSide, b: ComparisonSide) -> str:
    """Gives an empty text if they are the same, or if a side does not say."""
    if not a.machine or not b.machine or a.machine == b.machine:
        return ""
    return f"wall time of different machines: {a.machine}; {b.machine}"


def _incomparable(base: Samples, other: Samples, machines: str) -> str:
    """Why figures of the two are of different things; empty if they are not."""
    if base.unit != other.unit or base.lane != other.lane:
        return f"{base.lane or 'a file'} ({base.unit}) and {other.lane or 'a file'} ({other.unit})"
    return machines if base.lane in _WALL else ""


def _equal(base: Samples, other: Samples) -> bool:
    return sorted(base.values) == sorted(other.values)


def _too_little(base: Samples, other: Samples) -> str:
    """Why the samples have no ratio with an interval; empty if they have."""
    if min(*base.values, *other.values) <= 0:
        return "a figure is 0 or less, so there is no ratio"
    fewest = min(len(base.values), len(other.values))
    if fewest < LEAST:
        return f"{counted(fewest, 'run')}, {LEAST} are needed for an interval"
    if base.step is None or other.step is None:
        return "an earlier benchgate wrote it, and did not keep in which steps it is printed"
    return ""


def _too_coarse(base: Samples, other: Samples, worst: float, alpha: float) -> str:
    """Why samples that are worse are no regression: the steps in which they are printed may be all of it.
    More runs cannot decide that, so it is no success either."""
    exact, result = (
        _worse(replace(base, step=0.0), replace(other, step=0.0), alpha),
        _worse(base, other, alpha),
    )
    if exact.interval.low <= worst or result.interval.low > worst:
        return ""
    step = units.shown(max(base.step or 0.0, other.step or 0.0), base.unit)
    return f"B is worse by {result}, so wide because it is printed in steps of {step}: make the work longer"


@dataclass(frozen=True, slots=True)
class _Worsening:
    """A ratio above 1 is worse, whatever the direction of the metric."""

    ratio: float
    interval: Interval

    def __str__(self) -> str:
        return with_interval(self.ratio, self.interval.low, self.interval.high, "x")


def _worse(base: Samples, other: Samples, alpha: float) -> _Worsening:
    top, bottom = (other, base) if base.better is MetricDirection.LESS else (base, other)
    steps = top.step or 0.0, bottom.step or 0.0
    ratio = ratio_of_medians(top.values, bottom.values)
    return _Worsening(ratio, ratio_interval(top.values, bottom.values, alpha, steps))
