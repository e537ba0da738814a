"""Shows where the time of the window went on a machine with memory, why a row does not scale, and which
lines of memory moved most between CPUs.

Takes a SessionView, or the moved lines of a run; gives text for a terminal, lines of Markdown, sentences and
rows of a table; nothing on the ideal machine. Does not fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from benchgate.base.text import counted, visible
from benchgate.insn.sharing import MovedLine, Sharing
from benchgate.judge.accounts.memory_books import PARTS, Growth, Spending, growths, spendings
from benchgate.judge.accounts.sharing import SharedLine, shared
from benchgate.render.escape import markdown, markdown_table
from benchgate.render.tables import columns, units
from benchgate.render.view import SessionView

TITLE = "Where the time of the window went"
ABOUT = (
    "Shares of the time of all CPUs together, in the median run of each cell. An instruction is 1 ns; the "
    "rest is what the machine's memory adds, `pause` and halted CPUs."
)
SCALES = 0.9
"""Rows with a higher efficiency need no explanation."""
MOST_CAUSES = 3
LEAST_SHARE = 0.05
"""Causes with a smaller share of what a row spends more are left out."""
MOST_LINES = 12
FEWEST, LEAST_SHARE_OF_LINES = 3, 0.005
"""So many lines are shown in any case; others need at least this share of all moves."""
HEADS = ("line of", "address", "moved", "in a cluster", "across", "between sockets", "read", "written")


def text(view: SessionView, room: int) -> list[str]:
    found = spendings(view.books)
    if not found:
        return []
    lines = columns.wrapped(f"{TITLE}. {ABOUT}", room)
    for row, of in groupby(found, key=lambda spending: spending.of.row):
        lines += [*columns.wrapped(visible(row), room), *_table(row, list(of), room)]
    said = [line for word in sentences(view) for line in columns.wrapped(visible(word), room)]
    return [*lines, *said]


def _table(row: str, found: Sequence[Spending], room: int) -> list[str]:
    """The name of the row stands above it, because it is long."""
    named = [(spending.of.cell.removeprefix(f"{row}-"), *row_of(spending)[1:]) for spending in found]
    cells = [[visible(cell) for cell in one] for one in (("arm", *heads()[1:]), *named)]
    return columns.drawn(columns.fitted(cells, _order(found), room))


def lines_of_markdown(view: SessionView) -> list[str]:
    found = spendings(view.books)
    if not found:
        return []
    rows = [row_of(spending) for spending in found]
    used = columns.used(heads(), rows)
    lines = markdown_table([[row[n] for n in used] for row in (heads(), *rows)])
    said = [f"- {markdown(word)}" for word in sentences(view)]
    return [f"## {TITLE}", "", markdown(ABOUT), "", *lines, "", *said, *([""] if said else [])]


def heads() -> tuple[str, ...]:
    return ("cell", "CPU time", *PARTS)


def row_of(spending: Spending) -> tuple[str, ...]:
    shares = (share(spending.share(part)) for part in PARTS)
    return (spending.of.cell, units.shown(spending.whole, "ns"), *shares)


def share(part: float) -> str:
    """Shows nothing at all as `-`, so that a column without anything can be left out."""
    if not part:
        return columns.NOTHING
    return f"{part:.1%}" if part >= 0.0005 else "<0.1%"


def sentences(view: SessionView) -> list[str]:
    """There is one sentence for each row that does not scale."""
    every = growths(spendings(view.books))
    return [sentence(growth) for growth in every if growth.efficiency < SCALES and growth.causes]


def sentence(growth: Growth) -> str:
    small, large = growth.small, growth.large
    more = sum(ns for _, ns in growth.causes)
    parts = [
        f"{name} {ns / more:.0%}" for name, ns in growth.causes[:MOST_CAUSES] if ns / more >= LEAST_SHARE
    ]
    return (
        f"{large.of.row}: from {counted(small.of.cpus, 'CPU')} to "
        f"{large.of.cpus} the total window has {growth.efficiency:.0%} of the ideal speedup. Of the time "
        f"that its CPUs spend more: {', '.join(parts)}"
    )


def _order(found: Sequence[Spending]) -> list[int]:
    """A narrow terminal leaves out first the part whose largest share is smallest; never cell and time."""
    most = [max(spending.share(part) for spending in found) for part in PARTS]
    ranks = sorted(range(len(PARTS)), key=lambda n: -most[n])
    order = {place: rank + 1 for rank, place in enumerate(ranks)}
    return [0, 0, *(order[n] for n in range(len(PARTS)))]


def shared_lines_text(seen: Sharing) -> list[str]:
    """A table, then a sentence for each line."""
    if not seen.lines:
        return ["no line of memory moved between CPUs in the window"]
    lines = shared_lines(seen, MOST_LINES)
    rows = [[visible(cell) for cell in shared_line_row(line)] for line in lines]
    table = columns.drawn([HEADS, *rows])
    return [*table, *(visible(line.said) for line in lines), shared_lines_summary(seen)]


def shared_lines(seen: Sharing, most: int) -> tuple[SharedLine, ...]:
    """The lines with a share of the moves that is worth showing."""
    least = LEAST_SHARE_OF_LINES * sum(line.moves for line in seen.lines)
    shown = [line for number, line in enumerate(seen.lines[:most]) if line.moves >= least or number < FEWEST]
    return tuple(shared(line, seen.line) for line in shown)


def shared_line_row(shared_line: SharedLine) -> Sequence[str]:
    line = shared_line.line
    reads, writes = totals(line)
    ways = [sum(cpu.taken[way] for cpu in line.cpus) for way in range(3)]
    figures = (line.moves, *ways, reads, writes)
    return (shared_line.name, f"{line.address:#x}", *(f"{figure:,}" for figure in figures))


def totals(line: MovedLine) -> tuple[int, int]:
    """Reads and writes of all CPUs."""
    reads = sum(touch.reads for cpu in line.cpus for touch in cpu.touches)
    writes = sum(touch.writes for cpu in line.cpus for touch in cpu.touches)
    more = (sum(cpu.more_reads for cpu in line.cpus), sum(cpu.more_writes for cpu in line.cpus))
    return reads + more[0], writes + more[1]


def shared_lines_summary(seen: Sharing) -> str:
    """How many lines there are, and what is missing."""
    moves = counted(sum(line.moves for line in seen.lines), "time")
    told = f"{counted(seen.known, 'line')} of {seen.line} bytes moved in the window, {moves} in all"
    if seen.dropped:
        told += (
            f"; {counted(seen.dropped, 'line')} more were dropped for want of room, none of which moved more "
            f"than {counted(seen.dropped_moves, 'time')}"
        )
    return told + "; accesses are counted from a line's first move on"
