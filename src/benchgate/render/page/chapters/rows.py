"""Row by row: one line each, and behind it verdicts, curves, timelines and where the time went.

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
from benchgate.base.text import counted
from benchgate.render.figures import ArmSeries
from benchgate.render.page import details
from benchgate.render.page.html import Child, Html, join, tag
from benchgate.render.page.look import legend
from benchgate.render.page.page_view import PageRow, PageView, narrowed
from benchgate.render.page.tables import listed, more, word
from benchgate.render.view import ToldVerdicts, told_of

TITLE = "Row by row"
ORDER = 10
FEW = 3
"""So few rows are all open."""
MOST_RATIOS = 3
"""So many systems have their ratio in the line of a row."""
MOST_PASSED = 6
"""So many sentences of verdicts that are PASS are shown at once."""


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
    bodies = ((part, part.body(narrow)) for part in all_details())
    parts = [_part(part, inner) for part, inner in bodies if inner is not None]
    return tag(
        "details",
        tag("summary", *_line(row)),
        _sentences(narrow, row),
        tag("div", *parts, class_="parts") if parts else None,
        id=row.id,
        open=count <= FEW,
        class_="row item",
        data_find=row.name,
        data_word=" ".join(dict.fromkeys(verdict.outcome.lower() for verdict in row.verdicts)) or None,
        data_place=" ".join(str(page.looks[place]) for place in row.places) or None,
    )


def _part(part: ModuleType, inner: Html) -> Html:
    """Pictures stand beside each other and have their title as a caption."""
    if part.IS_PICTURE:
        return inner
    return tag("div", tag("h3", part.TITLE), inner, class_="whole")


def _line(row: PageRow) -> list[Child]:
    """Name, worst word, how many gates passed, and of few systems the ratio at the largest CPU count."""
    settings = ", ".join(f"{name}={value}" for name, value in row.key[1])
    passed = sum(threshold.outcome is Word.PASS for threshold in row.thresholds)
    gates = f"{passed} of {counted(len(row.thresholds), 'gate')} passed" if row.thresholds else "no threshold"
    said = ", ".join(filter(None, (f"{row.mode} mode", settings, gates)))
    few = row.series if len(row.series) <= MOST_RATIOS else ()
    ratios = [(series.place, _ratio(row, series)) for series in few]
    return [
        tag("strong", row.name),
        " ",
        word(str(row.worst)) if row.worst else None,
        tag("span", "negative control", class_="badge") if row.is_control else None,
        tag("span", f" {said}", class_="soft"),
        *(tag("span", f"{place}: {ratio}", class_="ratios") for place, ratio in ratios if ratio),
    ]


def _ratio(row: PageRow, series: ArmSeries) -> str:
    """At the largest CPU count: the gated figure, or that of the work window."""
    for arm in reversed(series.arms):
        seen, gated = arm.speedups.get(Window.WORK), row.scaled(series, arm.cpus)
        if gated is not None and gated.ratio is not None:
            return f"{arm.name} {gated.ratio:.2f}x {gated.metric}"
        if seen:
            return f"{arm.name} {seen.ratio:.2f}x"
    return ""


def _sentences(page: PageView, row: PageRow) -> Html | None:
    """Without the advice, which stands beside what failed. Of many that passed, the sentences are folded."""
    told = told_of(row.verdicts)
    bad = [_sentence(page, verdicts) for verdicts in told if verdicts.word is not Word.PASS]
    good = [_sentence(page, verdicts) for verdicts in told if verdicts.word is Word.PASS]
    passed = tag("ul", *good, class_="verdicts")
    if len(good) > MOST_PASSED:
        passed = more(f"{len(good)} sentences of verdicts that are PASS", passed)
    failed = tag("ul", *bad, class_="verdicts") if bad else None
    laws = listed([fit.said for fit in page.view.fits]) if page.view.fits else None
    return join([failed, passed if good else None, laws])


def _sentence(page: PageView, told: ToldVerdicts) -> Html:
    text = page.rooted(told.text).partition("; next: ")[0]
    return tag("li", word(str(told.word)), f" {text}")


def _about(page: PageView) -> Html | None:
    """How to read the pictures and tables of the rows, once for all of them."""
    told = [(part.TITLE, about) for part in all_details() if (about := part.about(page))]
    pairs: Sequence[Child] = [join([tag("dt", title), tag("dd", about)]) for title, about in told]
    return more("How to read these parts", tag("dl", *pairs)) if pairs else None
