"""Where the time of the window went, as the guests count it themselves (`--measure`).

Takes a SessionView; gives the chapter, or None for a session without `--measure`. Does not fail.
"""

from __future__ import annotations

from benchgate.judge.accounts.attribution import PHASES, WHOLE, Table
from benchgate.render.page.html import Html, join, tag
from benchgate.render.page.tables import table
from benchgate.render.tables.attribution import LEGEND, MOST_SYMBOLS, shown
from benchgate.render.view import SessionView

TITLE = "Where the time went"
ORDER = 55


def body(view: SessionView) -> Html | None:
    if not view.attributions:
        return None
    told = LEGEND.replace("`", "")
    return join([tag("p", told), *(part for one in view.attributions for part in _tables(one))])


def _tables(one: Table) -> list[Html]:
    phases = [each for each in PHASES if any(one.value(name, each) is not None for name in one.buckets)]
    buckets = {name: [one.value(name, phase) for phase in phases] for name in one.buckets}
    rows = [[name, *map(shown, values)] for name, values in buckets.items() if any(values)]
    found = [table(f"{one.cell}: by phase, times in {one.unit}", ("bucket", *phases), rows)]
    counted = {name: values for name, values in one.by_cpu.items() if any(values)}
    if counted:
        heads = ("bucket", *(f"CPU {cpu}" for cpu in range(one.cpus)))
        rows = [[name, *map(shown, values)] for name, values in counted.items()]
        found.append(table(f"{one.cell}: by CPU, {WHOLE}", heads, rows))
    if one.samples:
        whole = sum(one.samples.values())
        top = list(one.samples.items())[:MOST_SYMBOLS]
        rows = [[name, str(count), f"{count / whole:.0%}"] for name, count in top]
        found.append(
            table(f"{one.cell}: user code at {whole} timer ticks", ("symbol", "ticks", "share"), rows)
        )
    return found
