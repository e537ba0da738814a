"""Where the time of the window went on a machine with memory: by cell, by CPU and phase, and the accesses.

Takes a PageView; gives the part, or None if nothing was measured on a machine with memory. Does not
fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchgate.base.runs import Disorder
from benchgate.base.text import counted
from benchgate.insn.memory_log import CLASSES, COUNTS, PARTS, PHASES, CpuBooks
from benchgate.judge.accounts.memory_books import RunBooks, Spending, spendings
from benchgate.judge.accounts.sharing import name_of
from benchgate.render.page.html import Html, join
from benchgate.render.page.page_view import PageView
from benchgate.render.page.tables import NOTHING, listed, more, table, used
from benchgate.render.tables import memory
from benchgate.render.view import SessionView

TITLE = "What the CPUs waited for in the window"
ORDER = 30
IS_WHY = True
MOST_CPUS = 32
ORDER_HEADS = (
    *("cell", "accesses", "of these writes before a write", "worst, ns", "all, ns"),
    "the worst one's line",
)
BALANCE = (
    "The books balance, or the run is invalid: each vCPU's time is its start and what it executed, paused, "
    "skipped, was halted and stalled, to the ns; stalled is the sum of the classes, and what instructions of "
    "a small CPU took beyond 1 ns each; accesses are the sum of the places that served them. What a CPU "
    "waits for a line that is just being served to another one (`busy`) and for copies that are taken from "
    "others (`upgrade`) counts as shared lines."
)
ORDER_TOLD = (
    "A vCPU may be ahead of another by up to the step. An access is out of order if another vCPU has already "
    "done at a later time what should have come after it; so it saw or missed a value too early or too late, "
    "by the time in the table at most. The table has the worst run of each cell. `none` means that the order "
    "of all accesses is that of their times.".replace("`", "")
)


def about(page: PageView) -> str:
    books = f"{memory.ABOUT} {BALANCE}".replace("`", "") if page.view.books else ""
    return " ".join(filter(None, (books, ORDER_TOLD if _orders(page.view) else "")))


def body(page: PageView) -> Html | None:
    result = spendings(page.view.books)
    if not result:
        return _order(page.view)
    heads, rows = used(memory.heads(), [list(memory.row_of(spending)) for spending in result])
    said = memory.sentences(page.view)
    whole = table("Shares of the time of all CPUs, median run of each cell", heads, rows)
    return join([whole, listed(said) if said else None, _order(page.view), *map(_cell, result)])


def _orders(view: SessionView) -> Mapping[str, Disorder]:
    return {cell: resolution.order for cell, resolution in view.resolutions.items() if resolution.order}


def _order(view: SessionView) -> Html | None:
    """How many accesses were out of order, and at which line the worst one was."""
    cells = {row.cell.id: (row.cell.row, row.cell.cpus) for row in view.rows}
    disorders, rows = _orders(view), []
    for cell in sorted(disorders, key=lambda cell: cells.get(cell, (cell, 0))):
        disorder = disorders[cell]
        figures = (disorder.count, disorder.crossed, disorder.worst_ns, disorder.total_ns)
        line = _line(view, cell, disorder) if disorder.count else NOTHING
        rows.append([cell, *(f"{figure:,}" for figure in figures), line])
    return table("Accesses out of order", ORDER_HEADS, rows, prose=1) if rows else None


def _line(view: SessionView, cell: str, seen: Disorder) -> str:
    """The line of memory, with its variables if it is among those whose moves were recorded."""
    lines = (line for of in view.moved_lines if of.cell == cell for line in of.content.lines)
    known = next((line for line in lines if line.physical == seen.worst_line), None)
    where = f"physical {seen.worst_line:#x}"
    return f"{name_of(known)}, {where}" if known else where


def _cell(spending: Spending) -> Html:
    run = spending.of
    name = f"{run.cell}, run {run.run:04}: by phase and CPU"
    tables = [made for phase in PHASES for made in _phase(run, phase)]
    return more(name, *tables)


def _phase(run: RunBooks, phase: str) -> list[Html]:
    every = run.books.phases[phase]
    shown = every[:MOST_CPUS]
    cut = f"; the first {MOST_CPUS} of {counted(len(every), 'CPU')}" if len(every) > MOST_CPUS else ""
    parts = (
        ("time in ns", PARTS, [_spent(books) for books in shown]),
        ("stalled for, in ns", CLASSES, [books.stalls for books in shown]),
        ("accesses and events", COUNTS, [books.counts for books in shown]),
    )
    return [
        _by_cpu(f"Phase {phase}: {what}{cut}", names, values)
        for what, names, values in parts
        if any(any(of.values()) for of in values)
    ]


def _spent(books: CpuBooks) -> Mapping[str, int]:
    return {part: getattr(books.spent, part) for part in PARTS}


def _by_cpu(caption: str, names: Sequence[str], values: Sequence[Mapping[str, int]]) -> Html:
    rows = [
        [f"CPU {cpu}", *(f"{of[name]:,}" if of[name] else NOTHING for name in names)]
        for cpu, of in enumerate(values)
    ]
    heads, kept = used(("CPU", *names), rows)
    return table(caption, heads, kept)
