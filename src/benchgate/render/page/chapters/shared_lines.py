"""Shared lines: which lines of memory moved between CPUs, and who shares them falsely, of each recorded cell.

Takes a SessionView; gives the chapter, or None without any recording. Does not fail.
"""

from __future__ import annotations

from benchgate.judge.accounts.sharing import Recording
from benchgate.render.page.html import Html, join, tag
from benchgate.render.page.pictures import line_map
from benchgate.render.page.tables import commands, figure, listed, more, scrolling, table
from benchgate.render.tables import shared_lines
from benchgate.render.view import SessionView

TITLE = "Lines that moved between CPUs"
ORDER = 72
MOST_BYTES = 600_000
MOST_SAID = 12
TOLD = (
    "The lines of memory that moved most in the window, of the first run of each cell. A row is a line, with "
    "the variables in it if their symbols are known; a column is a CPU. A darker box is a CPU that took the "
    "line more often, with the number where it fits; a triangle is a CPU that writes to it. A dashed frame "
    "and the word false: CPUs that use different bytes take the line from each other."
)


def body(view: SessionView) -> Html | None:
    if not view.moved_lines:
        return None
    parts, left = [tag("p", TOLD)], MOST_BYTES
    cut: list[str] = []
    for number, one in enumerate(view.moved_lines):
        shown = _recording(view, one, is_open=number == 0)
        left -= len(shown)
        if left < 0:
            cut.append(one.folder)
        else:
            parts.append(shown)
    if cut:
        parts.append(tag("p", f"Not drawn, because the page would be too large: {', '.join(cut)}."))
    return join(parts)


def _recording(view: SessionView, one: Recording, *, is_open: bool) -> Html:
    name, seen = f"{one.cell}, run {one.run:04}", one.sharing
    paste = commands(f"benchgate replay reports/runs/{view.id}/{one.folder} --lines")
    if not seen.lines:
        return more(name, tag("p", "No line of memory moved between CPUs in the window."), is_open=is_open)
    label = f"Lines that moved between CPUs, {name}; the table below has the same lines"
    drawn = scrolling(f"moved lines of {name}", line_map.picture(seen, label))
    found = shared_lines.shared_lines(seen, MOST_SAID)
    rows = [[*shared_lines.row(line), line.kind] for line in found]
    lines = table("The lines that moved most", (*shared_lines.HEADS, "kind"), rows, texts=2, prose=1)
    said = listed([line.said for line in found])
    return more(name, figure(drawn, shared_lines.summary(seen)), said, lines, paste, is_open=is_open)
