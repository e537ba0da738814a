"""Flame graphs: where the instructions of the window went, by call stack, of each cell that was recorded.

Takes a SessionView; gives the chapter, or None without any recording. Does not fail.
"""

from __future__ import annotations

from benchgate.judge.accounts.timeline import Flame
from benchgate.render.page.html import Html, join, tag
from benchgate.render.page.pictures import flame
from benchgate.render.page.tables import figure, more, scrolling, table
from benchgate.render.view import SessionView

TITLE = "Flame graphs"
ORDER = 75

MOST_BYTES = 600_000
MOST_BOXES = 500
MOST_FUNCTIONS = 12
HEADS = ("function", "own instructions", "own", "with its callees")
TOLD = (
    "Instructions of the window by call stack, of all CPUs together, as the instruction clock counted them "
    "in the first run of each cell. The outermost function is lowest. Widths are instructions, so halted "
    "time has no width. Functions of the kernel have another colour, and `_[k]` in the table."
)


def body(view: SessionView) -> Html | None:
    if not view.flames:
        return None
    parts, left = [tag("p", TOLD)], MOST_BYTES
    cut: list[str] = []
    for number, one in enumerate(view.flames):
        shown = _recording(one, is_open=number == 0)
        left -= len(shown)
        if left < 0:
            cut.append(f"{one.folder}/stacks.folded")
        else:
            parts.append(shown)
    if cut:
        parts.append(tag("p", f"Not drawn, because the page would be too large: {', '.join(cut)}."))
    return join(parts)


def _recording(one: Flame, *, is_open: bool) -> Html:
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
    return more(name, figure(wide, caption), functions, is_open=is_open)
