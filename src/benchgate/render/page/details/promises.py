"""What the machine saw of each promise of a workload, and what only the guest saw.

Takes a PageView; gives the part, or None if no workload makes a promise and no figure is the guest's alone.
Also gives lines of Markdown for summary.md. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchgate.base.cells import Lane
from benchgate.base.workload.metrics import SeenBy
from benchgate.base.workload.witness import WitnessedPromise
from benchgate.render.escape import markdown
from benchgate.render.figures import ArmSeries
from benchgate.render.page.html import Html, join, tag
from benchgate.render.page.page_view import PageView
from benchgate.render.page.tables import table

TITLE = "What the machine saw"
ORDER = 100
IS_WHY = False
HEADS = ("promise", "arm", "the machine saw", "because")
_SAID = {
    SeenBy.GUEST: "Claimed by the guest alone",
    SeenBy.BOTH: "Claimed by the guest, within what the promises allow",
}
ABOUT = (
    "What must be true of the machine if the figures are right: both sides of each promise, with the values "
    "of the first run. `not witnessed` says why the machine could not tell."
)


def about(page: PageView) -> str:
    return ABOUT if any(any(_rows(series)) for row in page.rows for series in row.series) else ""


def body(page: PageView) -> Html | None:
    rows = [
        (promise, f"{series.place}, {arm}", *rest)
        for series in page.series
        for promise, arm, *rest in _rows(series)
    ]
    said = [tag("p", text, class_="soft") for series in page.series for text in _said(series)]
    if not rows and not said:
        return None
    return join([table(TITLE, HEADS, rows, texts=4) if rows else None, *said])


def lines_of_markdown(series: ArmSeries) -> list[str]:
    rows = [HEADS, ("---",) * len(HEADS), *(tuple(map(markdown, row)) for row in _rows(series))]
    drawn = [f"| {' | '.join(row)} |" for row in rows] if rows[2:] else []
    said = [f"{markdown(text)}" for text in _said(series)]
    return [line for block in (drawn, said) if block for line in (*block, "")]


def _rows(series: ArmSeries) -> Iterator[tuple[str, ...]]:
    """None of a row on wall time, where the machine sees nothing: the session says that once."""
    for arm in series.arms if series.lane is Lane.INSN else ():
        for promise in arm.promises:
            yield promise.promise, arm.name, shown(promise), promise.because


def shown(promise: WitnessedPromise) -> str:
    return f"not witnessed: {promise.why}" if promise.why else promise.seen


def _said(series: ArmSeries) -> list[str]:
    """Which figures the machine did not measure, by the same data as metrics.csv."""
    if series.lane is not Lane.INSN:
        return []
    who = [pair for arm in series.arms for pair in arm.who_says.items()]
    said = {by: list(dict.fromkeys(name for name, one in who if one is by)) for by in _SAID}
    return [
        f"{_SAID[by]}: {', '.join(names)} ({series.name}, {series.lane})."
        for by, names in said.items()
        if names
    ]
