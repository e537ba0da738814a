"""What the machine saw of the promises of a cell's runs, and who says what each of its figures is.

Takes verified runs, or what became of their promises, and the metrics that their workload declares; gives the
promises of all runs together, words for a verdict, and who says what each metric is: metrics.csv, verdicts,
tables and headline have it from here. Does not fail.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from benchgate.base import grouped
from benchgate.base.cells import Lane
from benchgate.base.runs import VerifiedRun
from benchgate.base.text import counted
from benchgate.base.workload.metrics import NS, OF_THREADS, Metric, MetricKind, SeenBy, with_windows
from benchgate.base.workload.witness import FIGURES, WitnessedPromise

_RESULT = "result"


def witness_of(runs: Sequence[VerifiedRun]) -> tuple[WitnessedPromise, ...]:
    """Each promise of one cell, as its runs together have it. One that is not witnessed in all of them is
    not, but for those of threads: one run of a cell has a record of them."""
    numbered = (pair for run in runs for pair in enumerate(run.promises))
    lines = grouped(numbered, key=lambda pair: pair[0]).values()
    return tuple(
        next((promise for _, promise in same if bool(promise.why) is not promise.of_threads), same[0][1])
        for same in lines
    )


def told(promises: Sequence[WitnessedPromise], figures: Mapping[str, SeenBy], lane: Lane | None) -> str:
    """What follows `all verified` in a sentence. In wall time nothing: a session says that once."""
    if lane is not Lane.INSN:
        return ""
    return f"; {measured_by_machine(figures.values())}{_kept(promises)}"


def measured_by_machine(figures: Collection[SeenBy]) -> str:
    """`2 of 5 figures measured by the machine`."""
    own = sum(who is SeenBy.MACHINE for who in figures)
    if own == len(figures):
        return f"all {counted(own, 'figure')} measured by the machine"
    return f"{own} of {counted(len(figures), 'figure')} measured by the machine"


def _kept(promises: Sequence[WitnessedPromise]) -> str:
    unseen = [promise for promise in promises if promise.why]
    if not promises:
        return ""
    kept = f", {len(promises) - len(unseen)} of {counted(len(promises), 'promise')} seen kept"
    if not unseen:
        return f", {counted(len(promises), 'promise')} seen kept"
    rest = f", and {len(unseen) - 1} more" if unseen[1:] else ""
    return f"{kept}: not `{unseen[0].promise}` ({unseen[0].why}){rest}"


def seen_by(run: VerifiedRun, declared: Mapping[str, Metric]) -> Mapping[str, SeenBy]:
    """Who says what each metric of this run is."""
    return who_says([run], declared)


def who_says(runs: Sequence[VerifiedRun], declared: Mapping[str, Metric]) -> Mapping[str, SeenBy]:
    """Who says what each metric is that these runs of one cell have: the machine, if it does in each run."""
    every = with_windows(declared)
    known = {name: every[name] for name in every if any(name in run.metrics for run in runs)}
    if any(run.run.lane is not Lane.INSN for run in runs):
        return dict.fromkeys(known, SeenBy.GUEST)
    promises = [promise for promise in witness_of(runs) if not promise.why]
    exact = frozenset(name for promise in promises for name in promise.exact)
    exact |= frozenset.intersection(*(run.measured for run in runs))
    about = frozenset(_names(promises)) - {"", _RESULT}
    return {name: _who(name, metric, exact, about) for name, metric in known.items()}


def _who(name: str, metric: Metric, exact: Collection[str], about: Collection[str]) -> SeenBy:
    operands = [what for what in (metric.of, metric.per) if what]
    is_window = not operands and metric.kind is MetricKind.TIME
    if name in OF_THREADS or metric.kind is MetricKind.OBSERVED or is_window or name in exact:
        return SeenBy.MACHINE
    own = [what for what in operands if _is_exact(what, metric, exact)]
    if operands and own == operands:
        return SeenBy.MACHINE
    is_known = name in about or (operands and all(what in own or what in about for what in operands))
    return SeenBy.BOTH if is_known else SeenBy.GUEST


def _is_exact(what: str, metric: Metric, exact: Collection[str]) -> bool:
    """Whether the metric has this operand from the machine (judge/metrics.py)."""
    if metric.kind is MetricKind.PERCENTILE:
        return what in exact and metric.unit == NS
    if metric.kind is MetricKind.SHARE and not metric.per:
        return False  # of the smallest worker and the largest one
    place, _, figure = what.rpartition(".")
    is_length = (metric.kind, what) in ((MetricKind.TIME, metric.of), (MetricKind.RATE, metric.per))
    return what in exact or (place in exact and (figure == "count" or (is_length and figure in FIGURES)))


def _names(promises: Sequence[WitnessedPromise]) -> Iterator[str]:
    for figure in (figure for promise in promises for figure in promise.figures):
        yield from (figure, figure.rpartition(".")[0])
