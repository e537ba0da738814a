"""What the machine saw of the promises of a cell's runs, and which figures nobody but the guest saw.

Takes verified runs, or what became of their promises, and the metrics that their workload declares; gives the
promises of all runs together, words for a verdict, and who saw each metric. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from benchgate.base import grouped
from benchgate.base.cells import Lane
from benchgate.base.runs import VerifiedRun
from benchgate.base.text import counted
from benchgate.base.workload.metrics import NS, OF_THREADS, Metric, MetricKind, with_windows
from benchgate.base.workload.witness import WitnessedPromise

_RESULT = "result"


class SeenBy(StrEnum):
    """Who says what a metric is."""

    MACHINE = "machine"
    """The instruction clock measured it."""
    BOTH = "both"
    """The guest says it, and a promise about it was kept by what the machine saw."""
    GUEST = "guest"


def witness_of(runs: Sequence[VerifiedRun]) -> tuple[WitnessedPromise, ...]:
    """Each promise of one cell, as its runs together have it. One that is not witnessed in all of them is
    not, but for those of threads: one run of a cell has a record of them."""
    numbered = (pair for run in runs for pair in enumerate(run.promises))
    lines = grouped(numbered, key=lambda pair: pair[0]).values()
    return tuple(
        next((promise for _, promise in same if bool(promise.why) is not promise.of_threads), same[0][1])
        for same in lines
    )


def told(promises: Sequence[WitnessedPromise], lane: Lane) -> str:
    """What follows `all verified` in a sentence. In wall time nothing: a session says that once."""
    unseen = [promise for promise in promises if promise.why]
    if not promises or lane is not Lane.INSN:
        return ""
    if not unseen:
        return " and witnessed"
    if unseen == list(promises) and len({promise.why for promise in unseen}) == 1:
        return f"; not witnessed ({unseen[0].why})"
    rest = f", and {len(unseen) - 1} more" if unseen[1:] else ""
    seen = f"{len(promises) - len(unseen)} of {counted(len(promises), 'promise')} witnessed"
    return f"; {seen}: not `{unseen[0].promise}` ({unseen[0].why}){rest}"


def seen_by(run: VerifiedRun, declared: Mapping[str, Metric]) -> Mapping[str, SeenBy]:
    """Who says what each metric of this run is."""
    about = _about(run.promises)
    measured = SeenBy.MACHINE if run.run.lane is Lane.INSN else SeenBy.GUEST
    result = {}
    for name, metric in with_windows(declared).items():
        operands = [what for what in (metric.of, metric.per) if what]
        is_seen = name in OF_THREADS or metric.kind is MetricKind.OBSERVED
        if is_seen or (not operands and metric.kind is MetricKind.TIME):
            result[name] = measured
        else:
            is_known = name in about or (operands and all(what in about for what in operands))
            result[name] = SeenBy.BOTH if is_known else SeenBy.GUEST
    return result


def only_said(metrics: Mapping[str, Metric], promises: Sequence[WitnessedPromise]) -> tuple[str, ...]:
    """The metrics that are of a length which only the guest saw: no promise that the machine witnessed is of
    it."""
    about = _about(promises)
    return tuple(
        name
        for name, metric in metrics.items()
        if name not in about and any(what and what not in about for what in _lengths(metric))
    )


def _about(promises: Sequence[WitnessedPromise]) -> frozenset[str]:
    """The figures, and the histograms of figures, of the promises that the machine witnessed."""
    return frozenset(_names(promises)) - {"", _RESULT}


def _names(promises: Sequence[WitnessedPromise]) -> Iterator[str]:
    for figure in (figure for promise in promises if not promise.why for figure in promise.figures):
        yield from (figure, figure.rpartition(".")[0])


def _lengths(metric: Metric) -> tuple[str, ...]:
    if metric.kind is MetricKind.RATE:
        return (metric.per,)
    is_time = metric.kind is MetricKind.TIME or (metric.kind is MetricKind.PERCENTILE and metric.unit == NS)
    return (metric.of,) if is_time else ()
