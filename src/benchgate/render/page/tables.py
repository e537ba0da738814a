"""Tables, figures and commands of the page, so that each part has the same ones, with captions and scopes.

Takes texts or markup; gives markup. A table scrolls inside its own box, so that the page never does. Does not
fail.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchgate.render.page.html import Child, Html, join, tag

NOTHING = "-"


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[Child]], *, texts: int = 1) -> Html:
    """The first cell of a row is its heading. `texts`: how many columns from the left hold text, which is
    aligned left; the others hold figures."""
    top = tag("tr", *(tag("th", one, scope="col", class_=_align(n, texts)) for n, one in enumerate(heads)))
    body = (tag("tr", *(_cell(n, one, texts) for n, one in enumerate(row))) for row in rows)
    whole = tag("table", tag("caption", caption), tag("thead", top), tag("tbody", *body))
    return scrolling(caption, whole)


def scrolling(name: str, wide: Html) -> Html:
    """A box that scrolls sideways by itself, also by keyboard."""
    return tag("div", wide, class_="wide", role="region", aria_label=name, tabindex="0")


def used(heads: Sequence[str], rows: Sequence[Sequence[Child]]) -> tuple[list[str], list[list[Child]]]:
    """Heads and rows without the columns in which no row has a value."""
    kept = [n for n in range(len(heads)) if n == 0 or any(row[n] not in (NOTHING, "", None) for row in rows)]
    return [heads[n] for n in kept], [[row[n] for n in kept] for row in rows]


def figure(picture: Html, caption: str, *more: Child) -> Html:
    return tag("figure", picture, tag("figcaption", caption), *more)


def commands(*given: str) -> Html:
    """Commands to paste, each selected whole by one click."""
    return join(tag("pre", tag("code", one), class_="command", tabindex="0") for one in given)


def more(summary: str, *children: Child, is_open: bool = False) -> Html:
    """What is shown on request."""
    return tag("details", tag("summary", summary), *children, open=is_open)


def word(outcome: str) -> Html:
    """A verdict's word or a run's outcome, told apart by more than its colour: it is there as text."""
    return tag("span", outcome, class_=f"word {outcome.lower()}")


def listed(items: Sequence[Child]) -> Html:
    return tag("ul", *(tag("li", one) for one in items))


def _align(column: int, texts: int) -> str | None:
    return None if column < texts else "figure"


def _cell(column: int, one: Child, texts: int) -> Html:
    if column == 0:
        return tag("th", one, scope="row")
    return tag("td", one, class_=_align(column, texts))
