"""What every part of the page needs: the view, its figures and looks, computed once, and the rows of it.

Takes a SessionView; gives a PageView with its PageRows, and the PageView of one row, in which systems keep
their colours. Does not fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchgate.base import grouped
from benchgate.base.cells import Mode
from benchgate.base.gates import VERIFIED, Verdict, Word
from benchgate.base.text import rooted
from benchgate.render.figures import (
    ArmFigures,
    ArmSeries,
    RowKey,
    SeriesKey,
    row_key,
    scaling_gate,
    series_of,
)
from benchgate.render.metrics import MetricFigures, metrics_of
from benchgate.render.view import WORST_FIRST, SessionView


@dataclass(frozen=True, slots=True)
class PageView:
    view: SessionView
    series: tuple[ArmSeries, ...]
    """The series of this part of the page."""
    every: tuple[ArmSeries, ...]
    """The series of the whole session, from which axes take their ranges."""
    metrics: Mapping[SeriesKey, tuple[MetricFigures, ...]]
    looks: Mapping[str, int]
    """The number of the look of each system and lane (`Series.place`), in the order in which they ran."""
    rows: tuple[PageRow, ...] = ()
    """Those of the whole session."""
    share: float = 1.0
    """The share of the page that this part may take."""

    def rooted(self, text: str) -> str:
        """The text of a verdict, with paths that are, like all of the page, relative to the folder that holds
        that of --reports."""
        return rooted(text, self.view.home)

    def fitting(self, pieces: Sequence[tuple[str, str]], most: int) -> tuple[list[str], list[str]]:
        """The pieces, as (name, markup), that fit into this part's share of so many bytes; and the names of
        the others."""
        left = most * self.share
        drawn: list[str] = []
        cut: list[str] = []
        for name, piece in pieces:
            left -= len(piece)
            (drawn.append(piece) if left >= 0 else cut.append(name))
        return drawn, cut


def page_view(view: SessionView) -> PageView:
    every = series_of(view)
    places = dict.fromkeys(series.place for series in every)
    metrics = {series.key: metrics_of(view, series) for series in every}
    looks = {place: number for number, place in enumerate(places)}
    return PageView(view, every, every, metrics, looks, _rows(view, every))


@dataclass(frozen=True, slots=True)
class PageRow:
    """One workload with its parameters on all systems, or one that was only planned."""

    number: int
    name: str
    mode: Mode
    series: tuple[ArmSeries, ...]
    verdicts: tuple[Verdict, ...]
    """Worst first."""
    key: RowKey

    @property
    def id(self) -> str:
        return f"row-{self.number}"

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(series.place for series in self.series))

    @property
    def thresholds(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.gate != VERIFIED)

    @property
    def worst(self) -> Word | None:
        """The worst word; None if no gate saw this row."""
        words = [verdict.outcome for verdict in self.verdicts]
        return min(words, key=WORST_FIRST.index, default=None)

    def scaled(self, series: ArmSeries, cpus: int) -> Verdict | None:
        return scaling_gate(self.thresholds, series, cpus)

    @property
    def is_control(self) -> bool:
        """Whether all thresholds are those of negative controls."""
        return bool(self.thresholds) and all(threshold.gate == "control" for threshold in self.thresholds)


def _rows(view: SessionView, every: Sequence[ArmSeries]) -> tuple[PageRow, ...]:
    """In the order in which they ran; rows that did not run come last."""
    series, verdicts = grouped(every, key=row_key), grouped(view.shown_verdicts, key=row_key)
    names = {key: _name(key, series.get(key, ()), verdicts.get(key, ())) for key in (*series, *verdicts)}
    return tuple(
        PageRow(number, name, key[2], tuple(series.get(key, ())), tuple(verdicts.get(key, ())), key)
        for number, (key, name) in enumerate(names.items(), 1)
    )


def _name(key: RowKey, series: Sequence[ArmSeries], verdicts: Sequence[Verdict]) -> str:
    """A row that did not run has the name that begins the ids of its gates."""
    if series:
        return series[0].label
    return verdicts[0].id.partition(f"-{verdicts[0].system}-smp")[0] or key[0]


def narrowed(page: PageView, row: PageRow, share: float) -> PageView:
    """The page of one row."""
    view = page.view
    runs = tuple(run for run in view.rows if row_key(run.cell) == row.key)
    cells = {run.cell.id for run in runs}
    labels = {series.label for series in row.series}
    narrow = replace(
        view,
        rows=runs,
        verdicts=row.verdicts,
        resolutions={cell: resolution for cell, resolution in view.resolutions.items() if cell in cells},
        timelines=tuple(timeline for timeline in view.timelines if timeline.cell in cells),
        flames=tuple(flame for flame in view.flames if flame.cell in cells),
        threads=tuple(thread for thread in view.threads if thread.cell in cells),
        books=tuple(book for book in view.books if book.cell in cells),
        moved_lines=tuple(line for line in view.moved_lines if line.cell in cells),
        attributions=tuple(of for of in view.attributions or () if of.cell in cells) or None,
        fits=tuple(fit for fit in view.fits if fit.label in labels),
    )
    return replace(page, view=narrow, series=row.series, share=share)


def arms_of(series: Sequence[ArmSeries]) -> list[tuple[ArmSeries, ArmFigures]]:
    """By CPU count, and systems beside each other."""
    result = [(arm_series, arm) for arm_series in series for arm in arm_series.arms]
    return sorted(result, key=lambda one: (one[1].cpus, one[1].name))
