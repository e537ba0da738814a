"""The lines of memory that moved most between CPUs, for a terminal, and as rows of a table.

Takes the moved lines of a run; gives text. Does not fail.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchgate.base.text import counted, visible
from benchgate.insn.sharing import MovedLine, Sharing
from benchgate.judge.accounts.sharing import SharedLine, shared
from benchgate.render.tables import columns

MOST_LINES = 12
FEWEST, LEAST_SHARE = 3, 0.005
"""So many lines are shown in any case; others need at least this share of all moves."""
HEADS = ("line of", "address", "moved", "in a cluster", "across", "between sockets", "read", "written")


def text(seen: Sharing, most: int = MOST_LINES) -> list[str]:
    """A table, then a sentence for each line."""
    if not seen.lines:
        return ["no line of memory moved between CPUs in the window"]
    found = shared_lines(seen, most)
    rows = [[visible(cell) for cell in row(one)] for one in found]
    table = columns.drawn([HEADS, *rows])
    return [*table, *(visible(one.said) for one in found), summary(seen)]


def shared_lines(seen: Sharing, most: int) -> tuple[SharedLine, ...]:
    """The lines with a share of the moves that is worth showing."""
    least = LEAST_SHARE * sum(one.moves for one in seen.lines)
    shown = [one for number, one in enumerate(seen.lines[:most]) if one.moves >= least or number < FEWEST]
    return tuple(shared(one, seen.line) for one in shown)


def row(one: SharedLine) -> Sequence[str]:
    line = one.line
    reads, writes = totals(line)
    ways = [sum(cpu.taken[way] for cpu in line.cpus) for way in range(3)]
    figures = (line.moves, *ways, reads, writes)
    return (one.name, f"{line.address:#x}", *(f"{figure:,}" for figure in figures))


def totals(line: MovedLine) -> tuple[int, int]:
    """Reads and writes of all CPUs."""
    reads = sum(touch.reads for cpu in line.cpus for touch in cpu.touches)
    writes = sum(touch.writes for cpu in line.cpus for touch in cpu.touches)
    return (
        reads + sum(cpu.more_reads for cpu in line.cpus),
        writes + sum(cpu.more_writes for cpu in line.cpus),
    )


def summary(seen: Sharing) -> str:
    """How many lines there are, and what is missing."""
    moves = counted(sum(one.moves for one in seen.lines), "time")
    told = f"{counted(seen.known, 'line')} of {seen.line} bytes moved in the window, {moves} in all"
    if seen.dropped:
        told += (
            f"; {counted(seen.dropped, 'line')} more were dropped for want of room, none of which moved more "
            f"than {counted(seen.dropped_moves, 'time')}"
        )
    return told + "; accesses are counted from a line's first move on"
