"""Shared lines: which lines of memory moved between CPUs, and who shares them falsely, of each recorded cell.

Takes a PageView; gives the part, or None without any recording. Takes the moved lines of a run; gives the
picture as an SVG that is valid XML. A darker box is a CPU that took the line more often; the box has the
number, too, where it fits. A triangle in the corner is a CPU that writes. A line that is shared falsely has a
dashed frame and the word `false`, so nothing is told by colour alone. Does not fail.
"""

from __future__ import annotations

import math

from benchgate.insn.sharing import LineCpu, Sharing
from benchgate.judge.accounts.sharing import SharedLine, SharingKind
from benchgate.judge.judged_run import Recording
from benchgate.render.page.html import Html, join, rect, tag
from benchgate.render.page.look import PICTURES, VARIABLES
from benchgate.render.page.page_view import PageView
from benchgate.render.page.pictures.frame import short
from benchgate.render.page.tables import commands, cut_of, figure, listed, more, run_folder, scrolling, table
from benchgate.render.tables import memory
from benchgate.render.view import SessionView

TITLE = "Lines that moved between CPUs"
ORDER = 40
IS_WHY = True
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


def _recording(view: SessionView, recording: Recording[Sharing]) -> Html:
    name, seen = f"{recording.cell}, run {recording.run:04}", recording.content
    paste = commands(f"benchgate replay {run_folder(view, recording.folder)} --lines")
    if not seen.lines:
        return more(name, tag("p", "No line of memory moved between CPUs in the window."))
    label = f"Lines that moved between CPUs, {name}; the table below has the same lines"
    drawn = scrolling(f"moved lines of {name}", picture(seen, label))
    moved = memory.shared_lines(seen, MOST_SAID)
    rows = [[*memory.shared_line_row(line), line.kind] for line in moved]
    lines = table("The lines that moved most", (*memory.HEADS, "kind"), rows, texts=2, prose=1)
    said = listed([line.said for line in moved])
    return more(name, figure(drawn, memory.shared_lines_summary(seen)), said, lines, paste)


# ---- the picture

MOST_LINES = 20
LEFT, TOP, ROW, FOOT = 250, 34, 22, 24
MOST_WIDTH, WIDEST, NARROWEST = 900, 64, 13
LETTER = 6.3
"""The width of one letter, about."""
COLOUR, FALSE_COLOUR = "s0", "s1"
PALEST = 0.12
WORDS = {
    SharingKind.FALSE: "false",
    SharingKind.BOTH: "false + true",
    SharingKind.TRUE: "true",
    SharingKind.HANDED: "",
}


def picture(seen: Sharing, label: str, most: int = MOST_LINES) -> Html:
    lines = memory.shared_lines(seen, most)
    wide = min(max((MOST_WIDTH - LEFT) / seen.vcpus, NARROWEST), WIDEST)
    top = max((_taken(cpu) for line in lines for cpu in line.line.cpus), default=1)
    width, height = LEFT + wide * seen.vcpus + 110, TOP + ROW * len(lines) + FOOT
    rows = (_row(line, number, seen, wide, top) for number, line in enumerate(lines))
    inner = (tag("title", label), *_heads(seen.vcpus, wide), *rows, _legend(height))
    box: dict[str, str | float] = {"viewBox": f"0 0 {width:g} {height:g}", "width": width, "height": height}
    told = f"{label}: " + "; ".join(line.said for line in lines[:8])
    return tag("svg", *inner, **box, role="img", aria_label=told)


def standalone(seen: Sharing, label: str) -> str:
    """The picture as a file of its own."""
    begin, end = str(picture(seen, label)).split(">", 1)
    rules = tag("style", Html(VARIABLES + PICTURES + "svg{background:var(--ground)}"))
    head = begin.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return f"{head}>{rules}{end}\n"


def _heads(cpus: int, wide: float) -> list[Html]:
    """The number of each CPU, or of every so many where they would touch."""
    every = max(1, math.ceil(2.6 * LETTER / wide))
    numbers = (
        tag("text", str(cpu), x=LEFT + wide * (cpu + 0.5), y=TOP - 8, text_anchor="middle")
        for cpu in range(0, cpus, every)
    )
    moved = tag("text", "moved; by CPU", x=LEFT - 8, y=TOP - 8, text_anchor="end")
    return [tag("text", "line", x=4, y=TOP - 8), moved, *numbers]


def _row(line: SharedLine, number: int, seen: Sharing, wide: float, top: int) -> Html:
    y = TOP + ROW * number
    letters = int((LEFT - 70) / LETTER)
    name = line.name if len(line.name) <= letters else f"{line.name[: letters - 2]}.."
    moves = tag("text", short(line.line.moves), x=LEFT - 8, y=y + 15, text_anchor="end")
    boxes = (_box(cpu, y, wide, top, f"{line.name}: ") for cpu in line.line.cpus)
    right = LEFT + wide * seen.vcpus
    paint = {"fill": "none", "stroke": "currentColor", "stroke_dasharray": "5 3"}
    frame = rect(LEFT - 1, y, wide * seen.vcpus + 2, ROW - 2, stroke_width=1.6, **paint)
    word = tag("text", WORDS[line.kind], x=right + 8, y=y + 15, class_="strong" if line.is_false else None)
    named = tag("text", name, x=4, y=y + 15, class_="strong")
    ground = rect(LEFT, y + 1, wide * seen.vcpus, ROW - 4, class_="halted")
    framed = tag("g", frame, class_=FALSE_COLOUR) if line.is_false else None
    return tag("g", tag("title", line.said), named, moves, ground, *boxes, framed, word)


def _box(cpu: LineCpu, y: float, wide: float, top: int, name: str) -> Html:
    taken, x = _taken(cpu), LEFT + wide * cpu.cpu
    writes = sum(touch.writes for touch in cpu.touches) + cpu.more_writes
    told = f"{name}CPU {cpu.cpu} took it {taken:,} times; {cpu.accesses - writes:,} reads, {writes:,} writes"
    strength = PALEST + (1 - PALEST) * math.sqrt(taken / top) if taken else 0
    title = tag("title", told)
    box = rect(x + 0.5, y + 1, wide - 1, ROW - 4, title, fill="currentColor", fill_opacity=0.75 * strength)
    corner = tag("path", d=f"M{x + 1:.1f} {y + 1.5:.1f}h6l-6 6z", fill="currentColor") if writes else None
    number = short(taken)
    fits = taken and wide >= LETTER * len(number) + 8
    said = tag("text", number, x=x + wide / 2 + 2, y=y + 15, text_anchor="middle", class_="strong")
    return join([tag("g", box, corner, class_=COLOUR), said if fits else None])


def _legend(height: float) -> Html:
    told = "box: how often the CPU took the line; triangle: it writes; dashed frame: false sharing"
    return tag("text", told, x=4, y=height - 7)


def _taken(cpu: LineCpu) -> int:
    return sum(cpu.taken)
