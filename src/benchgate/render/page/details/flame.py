"""Flame graphs: where the instructions of the window went, by call stack, of each cell that was recorded.

Takes a PageView; gives the part, or None without any recording. Does not fail.
"""

from __future__ import annotations

from benchgate.judge.accounts.timeline import Flame
from benchgate.render.page.html import Html, join
from benchgate.render.page.page_view import PageView
from benchgate.render.page.pictures import flame
from benchgate.render.page.tables import cut_of, figure, more, scrolling, table

TITLE = "Flame graphs"
ORDER = 80
IS_PICTURE = False

MOST_BYTES = 250_000
MOST_BOXES = 500
MOST_FUNCTIONS = 12
HEADS = ("function", "own instructions", "own", "with its callees")
TOLD = (
    "Instructions of the window by call stack, of all CPUs together, as the instruction clock counted them "
    "in the first run of each cell. The outermost function is lowest. Widths are instructions, so halted "
    "time has no width. Functions of the kernel have another colour, and `_[k]` in the table."
)


def about(page: PageView) -> str:
    return TOLD if page.view.flames else ""


def body(page: PageView) -> Html | None:
    if not page.view.flames:
        return None
    shown = [(f"{one.folder}/stacks.folded", _recording(one)) for one in page.view.flames]
    drawn, cut = page.fitting(shown, MOST_BYTES)
    return join([*map(Html, drawn), cut_of(cut)])


def _recording(one: Flame) -> Html:
    total = sum(one.stacks.values()) or 1
    name = f"{one.cell}, run {one.run:04}"
    label = f"Flame graph of {name}; the table below has the same functions"
    wide = scrolling(f"flame graph of {name}", flame.picture(one.stacks, label, MOST_BOXES))
    caption = f"{total:,} instructions; folded stacks for other programs: {one.folder}/stacks.folded"
    rows = [
        [function, f"{own:,}", f"{own / total:.2%}", f"{whole / total:.2%}"]
        for function, own, whole in flame.by_function(one.stacks, MOST_FUNCTIONS)
    ]
    functions = table("The functions that executed most instructions themselves", HEADS, rows)
    return more(name, figure(wide, caption), functions)
