"""One run as a row: a line of results.csv, and fields that only the other reports show; and the columns of
CSV files as data.

Takes a judged run and the metrics that its workload declares; gives a RunRow. A `CsvColumn` is the form of a
field and what it means; the schemas of reports/schema are made of the columns of each file. Pure; does not
fail: a missing value is None or "".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.runs import Outcome, VerifiedRun
from benchgate.base.workload.metrics import WINDOWS, Metric, SeenBy, with_windows
from benchgate.judge.arms import NO_METRICS
from benchgate.judge.checks.witness_summary import seen_by
from benchgate.judge.judged_run import JudgedRun
from benchgate.judge.samples import printed_step


@dataclass(frozen=True, slots=True)
class RunRow:
    """One line of results.csv. The fields with a default are in the other reports only."""

    cell: Cell
    """In results.csv without its label, its variant and its clock: there the placement and the lane
    distinguish such rows."""
    lane: Lane
    placement: Placement
    pins: tuple[int, ...]
    run: int
    order: int
    seed: int
    outcome: Outcome
    verified: bool
    work: int | None
    total: int | None
    unit: str
    guest_digest: str
    reason: str = ""
    """Why the run is invalid or crashed."""
    metrics: tuple[tuple[Metric, float], ...] = ()
    """Those that the workload declares; metrics.csv has them."""
    lead: int | None = None
    """How much of the total window lies before the work window, in the run's unit; None: not known."""
    steps: tuple[tuple[str, float], ...] | None = None
    """A metric of this name may be off by so much, because the guest prints it in steps; others are exact.
    None: not known, in a row of results.csv."""
    host_span_ns: int | None = None
    """The run's length by the host's clock; None: not known."""
    seen_by: tuple[tuple[str, SeenBy], ...] = ()
    """Who says what each metric is; the guest alone where nothing is said."""

    @property
    def counts(self) -> bool:
        return self.outcome is Outcome.OK and self.verified

    @property
    def is_broken(self) -> bool:
        return self.outcome in (Outcome.INVALID, Outcome.CRASHED)

    @property
    def figures(self) -> tuple[tuple[Metric, str, float], ...]:
        """The windows and the metrics of a verified run, each with its unit; none of another run."""
        if self.work is None or self.total is None:
            return ()
        windows = zip(WINDOWS.values(), (self.work, self.total), strict=True)
        return (
            *((metric, self.unit, float(value)) for metric, value in windows),
            *((metric, metric.unit, value) for metric, value in self.metrics),
        )


def row_of(judged: JudgedRun, declared: Mapping[str, Metric] = NO_METRICS) -> RunRow:
    raw, run = judged.run, judged.verified
    return RunRow(
        cell=raw.cell,
        lane=raw.lane,
        placement=raw.placement,
        pins=raw.pins,
        run=raw.attempt,
        order=raw.order,
        seed=raw.seed,
        outcome=judged.outcome,
        verified=run is not None,
        work=run.work if run else None,
        total=run.total if run else None,
        unit=run.unit if run else "",
        guest_digest=raw.guest_digest,
        reason=judged.reason or raw.detail,
        metrics=tuple((metric, run.metrics[name]) for name, metric in declared.items() if name in run.metrics)
        if run
        else (),
        lead=run.lead if run else None,
        steps=_steps(run, declared) if run else (),
        host_span_ns=raw.host_span_ns,
        seen_by=tuple(seen_by(run, declared).items()) if run else (),
    )


def _steps(run: VerifiedRun, declared: Mapping[str, Metric]) -> tuple[tuple[str, float], ...]:
    known = {name: metric for name, metric in with_windows(declared).items() if name in run.metrics}
    steps = {name: printed_step(run, metric) for name, metric in known.items()}
    return tuple((name, step) for name, step in steps.items() if step)


@dataclass(frozen=True, slots=True)
class CsvColumn:
    form: str = ""
    """The pattern of its fields; empty for any text."""
    words: tuple[str, ...] = ()
    """The only fields that there are."""
    about: str = ""

    def saying(self, about: str) -> CsvColumn:
        """The same column with another meaning."""
        return replace(self, about=about)


def words_column(found: Iterable[str]) -> CsvColumn:
    return CsvColumn(words=tuple(map(str, found)))


ANY = CsvColumn()
WORD = CsvColumn(".")
POSITIVE = CsvColumn("^[1-9][0-9]*$")
NUMBER = CsvColumn("^[0-9]+$")
PARAMS = CsvColumn(
    "^('?[^;=]+=[^;=]*(;[^;=]+=[^;=]*)*)?$",
    about='name=value, joined by `;`; , ; = " and % are percent-encoded',
)
RUN = POSITIVE.saying("counts every attempt of the session from 1")
