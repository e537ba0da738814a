"""Why the figures are as they are, row by row: threads, timelines and the machine's accounts at once, of the
rows that need it, and figures, histograms and promises on request.

Takes a PageView; gives the chapter, or None without any row. The modules of page/details show the parts of a
row; a part without anything to show is left out. Does not fail.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import ModuleType

from benchgate.base.cells import Window
from benchgate.base.gates import Word
from benchgate.base.pyfile import modules_of
from benchgate.render.figures import ArmSeries
from benchgate.render.page import details
from benchgate.render.page.html import Child, Html, join, tag
from benchgate.render.page.look import legend
from benchgate.render.page.page_view import PageRow, PageView, narrowed
from benchgate.render.page.tables import listed, more

TITLE = "Why"
ORDER = 10
FEW = 3
"""So few rows are all open; of more, those of which a gate does not hold."""
LOUD = (Word.INVALID, Word.FAIL, Word.INCONCLUSIVE)
MOST_RATIOS = 3
"""So many systems have their ratio in the line of a row."""


@functools.cache
def all_details() -> tuple[ModuleType, ...]:
    return tuple(sorted(modules_of(details), key=lambda part: part.ORDER))


def body(page: PageView) -> Html | None:
    if not page.rows:
        return None
    shown = [_row(page, row, len(page.rows)) for row in page.rows]
    entries = [(look, place) for place, look in page.looks.items()]
    return join([legend(entries), *shown, _about(page)])


def _row(page: PageView, row: PageRow, count: int) -> Html:
    narrow = narrowed(page, row, 1 / count)
    bodies = [(part, part.body(narrow)) for part in all_details()]
    parts = [(part, inner) for part, inner in bodies if inner is not None]
    why = [join([tag("h3", part.TITLE), inner]) for part, inner in parts if part.IS_WHY]
    return tag(
        "details",
        tag("summary", *_line(row)),
        *why,
        *_folded(narrow, row, [(part, inner) for part, inner in parts if not part.IS_WHY]),
        id=row.id,
        open=count <= FEW or row.worst in LOUD,
        class_="row item",
        data_find=row.name,
        data_word=" ".join(dict.fromkeys(verdict.outcome.lower() for verdict in row.verdicts)) or None,
        data_place=" ".join(str(page.looks[place]) for place in row.places) or None,
    )


def _folded(page: PageView, row: PageRow, parts: Sequence[tuple[ModuleType, Html]]) -> list[Html]:
    settings = ", ".join(f"{name}={value}" for name, value in row.key[1])
    told = [tag("p", f"{row.mode} mode{': ' if settings else ''}{settings}", class_="soft")]
    told += [listed([fit.said for fit in page.view.fits])] if page.view.fits else []
    return [more("Parameters", *told), *(more(part.TITLE, inner) for part, inner in parts)]


def _line(row: PageRow) -> list[Child]:
    """Name, and of few systems the ratio at the largest CPU count."""
    few = row.series if len(row.series) <= MOST_RATIOS else ()
    ratios = [(series.place, _ratio(row, series)) for series in few]
    return [
        tag("strong", row.name),
        tag("span", "negative control", class_="badge") if row.is_control else None,
        *(tag("span", f"{place}: {ratio}", class_="ratios") for place, ratio in ratios if ratio),
    ]


def _ratio(row: PageRow, series: ArmSeries) -> str:
    """At the largest CPU count: the gated figure, or that of the work window."""
    for arm in reversed(series.arms):
        seen, gated = arm.speedups.get(Window.WORK), row.scaled(series, arm.cpus)
        if gated is not None:
            return f"{arm.name} {gated.ratio:.2f}x {gated.metric}" if gated.ratio is not None else ""
        if seen:
            return f"{arm.name} {seen.ratio:.2f}x"
    return ""


def _about(page: PageView) -> Html | None:
    """How to read the pictures and tables of the rows, once for all of them."""
    told = [(part.TITLE, about) for part in all_details() if (about := part.about(page))]
    pairs: Sequence[Child] = [join([tag("dt", title), tag("dd", about)]) for title, about in told]
    return more("How to read these parts", tag("dl", *pairs)) if pairs else None
