"""Tables, figures and commands of the page, so that each chapter has the same ones, with captions and scopes.

Takes texts or markup; gives markup. A table scrolls inside its own box, so that the page never does. Does not
fail.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchgate.render.page.html import Child, Html, join, tag
from benchgate.render.view import SessionView

if TYPE_CHECKING:
    from benchgate.render.tables.columns import Grid

NOTHING = "-"


@dataclass(frozen=True, slots=True)
class TableLine:
    """A line that the page's filter can hide."""

    cells: Sequence[Child]
    find: str
    """What the filter by word reads."""
    place: int | str | None
    """The number of its system and lane, or several with spaces between."""
    word: str


def table(
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[Child] | TableLine],
    *,
    texts: int = 1,
    prose: int = 0,
) -> Html:
    """The first cell of a row is its heading. `texts`: how many columns from the left hold text, which is
    aligned left, and `prose`: how many at the right; those between hold figures."""
    last = len(heads) - prose
    kinds = [None if n < texts or n >= last else "figure" for n in range(len(heads))]
    top = tag(
        "tr", *(tag("th", head, scope="col", class_=kind) for head, kind in zip(heads, kinds, strict=True))
    )
    body = (_line(row, kinds) for row in rows)
    whole = tag("table", tag("caption", caption), tag("thead", top), tag("tbody", *body))
    return scrolling(caption, whole)


def grid(of: Grid) -> Html:
    return table(of.title, of.rows[0], of.rows[1:], texts=of.texts, prose=of.prose)


def _line(row: Sequence[Child] | TableLine, kinds: Sequence[str | None]) -> Html:
    given = row.cells if isinstance(row, TableLine) else row
    cells = map(_cell, range(len(kinds)), given, kinds)
    if not isinstance(row, TableLine):
        return tag("tr", *cells)
    known = {"data_find": row.find, "data_place": row.place, "data_word": row.word or None}
    return tag("tr", *cells, class_="item", **known)


def scrolling(name: str, wide: Html) -> Html:
    """A box that scrolls sideways by itself, also by keyboard."""
    return tag("div", wide, class_="wide", role="region", aria_label=name, tabindex="0")


def run_folder(view: SessionView, folder: str) -> str:
    """A run's folder for a command, in the folder that holds that of --reports."""
    return shlex.quote(f"{view.home}/{folder}")


def cut_of(names: Sequence[str]) -> Html | None:
    """Names what the page has no room for."""
    if not names:
        return None
    return tag("p", f"Not drawn, because the page would be too large: {', '.join(names)}.", class_="soft")


def used(heads: Sequence[str], rows: Sequence[Sequence[Child]]) -> tuple[list[str], list[list[Child]]]:
    """Heads and rows without the columns in which no row has a value."""
    kept = [n for n in range(len(heads)) if n == 0 or any(row[n] not in (NOTHING, "", None) for row in rows)]
    return [heads[n] for n in kept], [[row[n] for n in kept] for row in rows]


def figure(picture: Html, caption: str, *more: Child) -> Html:
    return tag("figure", tag("figcaption", caption), picture, *more)


def broad(name: str, picture: Html, caption: str) -> Html:
    """A picture as wide as the page, which scrolls by itself where the page is narrow."""
    return tag("figure", tag("figcaption", caption), scrolling(name, picture), class_="broad")


def commands(*given: str) -> Html:
    """Commands to paste, each selected whole by one click."""
    return join(tag("pre", tag("code", text), class_="command", tabindex="0") for text in given)


def more(summary: str, *children: Child, is_open: bool = False) -> Html:
    """What is shown on request."""
    return tag("details", tag("summary", summary), *children, open=is_open)


def word(outcome: str) -> Html:
    """A verdict's word or a run's outcome, told apart by more than its colour: it is there as text."""
    return tag("span", outcome, class_=f"word {outcome.lower()}")


def listed(items: Sequence[Child]) -> Html:
    return tag("ul", *(tag("li", item) for item in items))


def _cell(column: int, child: Child, kind: str | None) -> Html:
    return tag("td", child, class_=kind) if column else tag("th", child, scope="row")
