"""Where the time went, as the guests count it themselves (`--measure`): by phase, by CPU, and by symbol.

Takes a PageView; gives the part, or None for a session without `--measure`. Cells for which the page has no
room are named. Does not fail.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchgate.base.text import counted
from benchgate.judge.accounts.attribution import PHASES, WHOLE, Table
from benchgate.render.page.html import Child, Html, join
from benchgate.render.page.page_view import PageView
from benchgate.render.page.tables import cut_of, more, table
from benchgate.render.tables.attribution import LEGEND, MOST_SYMBOLS, shown

TITLE = "What the guests' own counters say (--measure)"
ORDER = 80
IS_WHY = False
MOST_BYTES = 200_000


def about(page: PageView) -> str:
    return LEGEND.replace("`", "") if page.view.attributions else ""


def body(page: PageView) -> Html | None:
    every = page.view.attributions
    if not every:
        return None
    cells = [(one.cell, more(f"{one.cell}: by CPU", *_by_cpu(one))) for one in every if _by_cpu(one)]
    drawn, cut = page.fitting(cells, MOST_BYTES)
    return join([_by_phase(every), *map(Html, drawn), cut_of(cut)])


def _by_phase(every: Sequence[Table]) -> Html:
    """All cells of the row in one table."""
    pairs = [(one, name) for one in every for name in one.buckets]
    known = [(one, name, {phase: one.value(name, phase) for phase in PHASES}) for one, name in pairs]
    phases = [phase for phase in PHASES if any(values[phase] is not None for _, _, values in known)]
    rows: list[list[Child]] = [
        [one.cell, name, one.unit, *(shown(values[phase]) for phase in phases)]
        for one, name, values in known
        if any(values.values())
    ]
    whole = table("By phase", ("cell", "bucket", "unit", *phases), rows, texts=3)
    return more(f"By phase, {counted(len(every), 'cell')}", whole)


def _by_cpu(one: Table) -> list[Html]:
    htmls = []
    counted_ = {name: values for name, values in one.by_cpu.items() if any(values)}
    if counted_:
        heads = ("bucket", *(f"CPU {cpu}" for cpu in range(one.cpus)))
        rows = [[name, *map(shown, values)] for name, values in counted_.items()]
        htmls.append(table(f"{one.cell}: by CPU, {WHOLE}, in {one.unit}", heads, rows))
    if one.samples:
        whole = sum(one.samples.values())
        top = list(one.samples.items())[:MOST_SYMBOLS]
        rows = [[name, str(count), f"{count / whole:.0%}"] for name, count in top]
        htmls.append(
            table(f"{one.cell}: user code at {whole} timer ticks", ("symbol", "ticks", "share"), rows)
        )
    return htmls
