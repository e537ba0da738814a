"""Shared lines: which lines of memory moved between CPUs, and who shares them falsely, of each recorded cell.

Takes a PageView; gives the part, or None without any recording. Does not fail.
"""

from __future__ import annotations

from benchgate.judge.accounts.sharing import Recording
from benchgate.render.page.html import Html, join, tag
from benchgate.render.page.page_view import PageView
from benchgate.render.page.pictures import line_map
from benchgate.render.page.tables import commands, cut_of, figure, listed, more, run_folder, scrolling, table
from benchgate.render.tables import memory
from benchgate.render.view import SessionView

TITLE = "Lines that moved between CPUs"
ORDER = 70
IS_PICTURE = False
MOST_BYTES = 250_000
MOST_SAID = 12
TOLD = (
    "The lines of memory that moved most in the window, of the first run of each cell. A row is a line, with "
    "the variables in it if their symbols are known; a column is a CPU. A darker box is a CPU that took the "
    "line more often, with the number where it fits; a triangle is a CPU that writes to it. A dashed frame "
    "and the word false: CPUs that use different bytes take the line from each other."
)


def about(page: PageView) -> str:
    return TOLD if page.view.moved_lines else ""


def body(page: PageView) -> Html | None:
    if not page.view.moved_lines:
        return None
    shown = [(line.folder, _recording(page.view, line)) for line in page.view.moved_lines]
    drawn, cut = page.fitting(shown, MOST_BYTES)
    return join([*map(Html, drawn), cut_of(cut)])


def _recording(view: SessionView, recording: Recording) -> Html:
    name, seen = f"{recording.cell}, run {recording.run:04}", recording.sharing
    paste = commands(f"benchgate replay {run_folder(view, recording.folder)} --lines")
    if not seen.lines:
        return more(name, tag("p", "No line of memory moved between CPUs in the window."))
    label = f"Lines that moved between CPUs, {name}; the table below has the same lines"
    drawn = scrolling(f"moved lines of {name}", line_map.picture(seen, label))
    found = memory.shared_lines(seen, MOST_SAID)
    rows = [[*memory.shared_line_row(line), line.kind] for line in found]
    lines = table("The lines that moved most", (*memory.HEADS, "kind"), rows, texts=2, prose=1)
    said = listed([line.said for line in found])
    return more(name, figure(drawn, memory.shared_lines_summary(seen)), said, lines, paste)
