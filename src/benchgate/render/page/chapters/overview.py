"""The overview: a line for each row, a column for each system and CPU count, in each cell ratio and verdict.

Takes a PageView; gives the chapter, or None without any cell. A cell leads to the details of its row. Does
not fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchgate.base import grouped
from benchgate.base.cells import Window
from benchgate.base.gates import VERIFIED, Verdict, Word
from benchgate.base.text import counted
from benchgate.render.figures import ArmFigures
from benchgate.render.page.html import Child, Html, join, tag
from benchgate.render.page.page_view import PageRow, PageView
from benchgate.render.page.tables import scrolling
from benchgate.render.tables import units
from benchgate.render.view import WORST_FIRST

TITLE = "Overview"
ORDER = 0
CAPTION = "Rows by system and CPUs"
ABOUT = (
    "The ratio of the work window to the fewest CPUs of its row, or the figure that a gate limits. Every "
    "ratio says how many times faster, or better, it is, also of a baseline: below 1x is worse. In grey: "
    "what no threshold uses. A dashed frame marks a negative control, which must not scale. A cell leads to "
    "its row."
)
SIGNS: Mapping[str, str] = {
    Word.PASS: "✓",
    Word.FAIL: "✗",
    Word.INCONCLUSIVE: "?",
    Word.INVALID: "!",
    Word.SKIP: "-",
}
"""Verdicts are told apart by more than their colour."""

Column = tuple[str, int, str]
"""System and lane, CPU count, name of the arm."""


@dataclass(frozen=True, slots=True)
class MatrixCell:
    arm: ArmFigures | None
    verdicts: tuple[Verdict, ...]

    @property
    def thresholds(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.gate != VERIFIED)

    @property
    def deciding(self) -> Verdict | None:
        """The worst verdict, a threshold before a right answer."""
        worst = sorted(
            self.verdicts, key=lambda verdict: (WORST_FIRST.index(verdict.outcome), verdict.gate == VERIFIED)
        )
        return worst[0] if worst else None

    @property
    def word(self) -> str:
        """`PASS`, `verified` if no threshold was decided, `measured` if no gate saw it."""
        verdict = self.deciding
        if verdict is None:
            return Word.INVALID if self.arm and self.arm.is_broken else "measured"
        is_right = (verdict.gate, verdict.outcome) == (VERIFIED, Word.PASS)
        return "verified" if is_right else str(verdict.outcome)

    @property
    def shown(self) -> str:
        if self.arm and self.arm.is_broken:
            return "invalid"
        verdict = next((threshold for threshold in self.thresholds if threshold.figure is not None), None)
        if verdict is not None and verdict.figure is not None:
            return units.times_better(verdict)
        seen = self.arm.speedups.get(Window.WORK) if self.arm else None
        if seen:
            return f"{seen.ratio:.2f}x"
        return units.compact(self.arm.work.median, self.arm.unit) if self.arm and self.arm.work else ""


def body(page: PageView) -> Html | None:
    cells = {row.number: _cells(row) for row in page.rows}
    columns = sorted({column for of in cells.values() for column in of}, key=lambda one: _order(page, one))
    if not columns:
        return None
    head = tag("thead", *_heads(page, columns))
    lines = (_line(page, row, columns, cells[row.number]) for row in page.rows)
    whole = tag("table", tag("caption", CAPTION), head, tag("tbody", *lines), class_="matrix")
    words = [cell.word for of in cells.values() for cell in of.values()]
    return join([scrolling(TITLE, whole), _legend(words), tag("p", ABOUT, class_="soft")])


def _order(page: PageView, column: Column) -> tuple[int, str, int, str]:
    place, cpus, arm = column
    return page.looks.get(place, len(page.looks)), place, cpus, arm


def _cells(row: PageRow) -> Mapping[Column, MatrixCell]:
    arms = [(series, arm) for series in row.series for arm in series.arms]
    cells = {
        (of.place, arm.cpus, arm.name): MatrixCell(arm, _of_arm(row, of.system, of.lane, arm))
        for of, arm in arms
    }
    known = {id(verdict) for cell in cells.values() for verdict in cell.verdicts}
    unknown = (verdict for verdict in row.verdicts if id(verdict) not in known)
    rest = grouped(unknown, key=lambda one: (_place(row, one), one.cpus, f"smp{one.cpus}"))
    return {**{column: MatrixCell(None, tuple(of)) for column, of in rest.items()}, **cells}


def _of_arm(row: PageRow, system: str, lane: str, arm: ArmFigures) -> tuple[Verdict, ...]:
    """The verdicts about this arm; a variant has none."""
    if arm.is_variant:
        return ()
    key = (system, arm.cpus)
    mine = (verdict for verdict in row.verdicts if (verdict.system, verdict.cpus) == key)
    return tuple(verdict for verdict in mine if (verdict.lane or lane) == lane)


def _place(row: PageRow, verdict: Verdict) -> str:
    """Where a cell stands that was not run."""
    return next((of.place for of in row.series if of.system == verdict.system), verdict.system)


def _heads(page: PageView, columns: Sequence[Column]) -> list[Html]:
    places = list(dict.fromkeys(place for place, _, _ in columns))
    top = [tag("th", "row", scope="col", rowspan=2)]
    for place in places:
        span, look = sum(column[0] == place for column in columns), page.looks.get(place)
        top.append(tag("th", place, scope="colgroup", colspan=span, class_="first", data_place=look))
    below = [
        tag("th", _count(arm, cpus), scope="col", class_=_edge(columns, n), data_place=page.looks.get(place))
        for n, (place, cpus, arm) in enumerate(columns)
    ]
    return [tag("tr", *top), tag("tr", *below)]


def _count(arm: str, cpus: int) -> str:
    """`4`, and a variant's own name behind it."""
    return f"{cpus}{arm.removeprefix(f'smp{cpus}')}"


def _edge(columns: Sequence[Column], n: int) -> str | None:
    return "first" if n == 0 or columns[n][0] != columns[n - 1][0] else None


def _line(
    page: PageView, row: PageRow, columns: Sequence[Column], cells: Mapping[Column, MatrixCell]
) -> Html:
    head = tag("th", tag("a", row.name, href=f"#{row.id}"), scope="row")
    parts = []
    for n, column in enumerate(columns):
        cell, place, edge = cells.get(column), page.looks.get(column[0]), _edge(columns, n)
        empty = tag("td", class_=edge, data_place=place)
        parts.append(_cell(row, column, cell, edge, place) if cell else empty)
    return tag("tr", head, *parts, class_="item", data_find=row.name)


def _cell(row: PageRow, column: Column, cell: MatrixCell, edge: str | None, place: int | None) -> Html:
    word = cell.word.lower()
    is_control = any(verdict.gate == "control" for verdict in cell.verdicts)
    kind = " ".join(filter(None, (word, "control" if is_control else "", edge)))
    sign = SIGNS.get(cell.word, "")
    label = f"{row.name}, {column[0]}, {column[2]}: {cell.word} {_told(cell)}".strip()
    shown: list[Child] = [tag("b", sign, aria_hidden="true") if sign else None, f" {cell.shown}".rstrip()]
    link = tag("a", *shown, href=f"#{row.id}", title=label, aria_label=label)
    return tag("td", link, class_=kind, data_place=place, data_word=word)


def _told(cell: MatrixCell) -> str:
    verdict = cell.deciding
    if verdict is None or verdict.threshold is None:
        return cell.shown
    control = " (negative control)" if verdict.gate == "control" else ""
    if verdict.baseline and verdict.figure:
        return f"{cell.shown}; {units.figure(verdict)} worse, and the gate wants {units.limit(verdict)}"
    return f"{cell.shown} {units.limit(verdict)}{control}"


def _legend(words: Sequence[str]) -> Html:
    """Which words there are, and how often."""
    order = [*map(str, WORST_FIRST), "verified", "measured"]
    entries = [
        tag("li", tag("b", SIGNS.get(word, ""), class_=f"key {word.lower()}"), f"{words.count(word)} {word}")
        for word in sorted(set(words), key=order.index)
    ]
    return tag("ul", tag("li", f"{counted(len(words), 'cell')}:"), *entries, class_="legend")
