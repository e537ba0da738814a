"""Attribution tables: attribution.md for a session's folder, and a short one for the terminal.

Takes `Table`s; gives text. Pure; does not fail. A bucket that a system does not have is `na`, not 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchgate.base import grouped
from benchgate.base.text import visible
from benchgate.judge.accounts.attribution import PHASES, WHOLE, Table, Thread
from benchgate.render.escape import markdown as safe
from benchgate.render.tables import columns

NA = "na"
MOST_THREADS = 32
MOST_SYMBOLS = 20
HEADING = "# Where the time went, by the guests' own counters (`--measure`)"
LEGEND = (
    "Times are in the unit after the run's name. `na`: this system has no such bucket. "
    f"`{WHOLE}` is the whole window, including the other phases. A run is slower with `--measure` than "
    "without: compare its figures only with those of other runs with `--measure`. No gate uses them."
)


def markdown(tables: Sequence[Table]) -> str:
    """One section per run."""
    if not tables:
        return f"{HEADING}\n\nNo verified run: nothing to attribute.\n"
    return "\n".join([HEADING, "", LEGEND, "", *(line for table in tables for line in _section(table))])


def _section(table: Table) -> list[str]:
    lines = [f"## {safe(table.cell)} (times in {safe(table.unit)})", ""]
    rows = [[name, *(shown(table.value(name, phase)) for phase in PHASES)] for name in table.buckets]
    lines += _grid(("bucket", *PHASES), rows)
    cpus = [f"CPU {cpu}" for cpu in range(table.cpus)]
    counted = {name: values for name, values in table.by_cpu.items() if any(v is not None for v in values)}
    if counted:
        rows = [[name, *map(shown, values)] for name, values in counted.items()]
        lines += [f"By CPU, {safe(WHOLE)}:", "", *_grid(("bucket", *cpus), rows)]
    if table.locks:
        lines += ["Locks:", "", *_locks(table)]
    if table.threads:
        lines += [*_threads(table.threads)]
    if table.samples:
        lines += [*_samples(table)]
    return lines


def _locks(table: Table) -> list[str]:
    every = ((name, *of) for name, phases in table.locks.items() for of in phases.items())
    known = [(name, phase, lock) for name, phase, lock in every if phase in ("work", WHOLE)]
    rows = [[name, phase, *map(shown, (of.takes, of.wait, of.hold))] for name, phase, of in known]
    return _grid(("lock", "phase", "takes", "waited", "held"), rows)


def _threads(threads: Sequence[Thread]) -> list[str]:
    rows = [
        [str(of.number), *map(shown, (of.cpu, of.running, of.runnable, of.blocked, of.lifetime))]
        for of in threads[:MOST_THREADS]
    ]
    more = len(threads) - len(rows)
    head = f"Threads ({len(threads)}" + (f", {more} not shown" if more else "") + "):"
    return [head, "", *_grid(("thread", "CPU", "running", "runnable", "blocked", "lifetime"), rows)]


def _samples(table: Table) -> list[str]:
    whole = sum(table.samples.values())
    rows = [
        [name, str(count), f"{count / whole:.0%}"]
        for name, count in list(table.samples.items())[:MOST_SYMBOLS]
    ]
    return [f"User code at {whole} timer ticks:", "", *_grid(("symbol", "ticks", "share"), rows)]


def _grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(map(safe, heads)) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    return [*lines, *("| " + " | ".join(map(safe, row)) + " |" for row in rows), ""]


def shown(value: int | None) -> str:
    return NA if value is None else f"{value:,}"


def terminal(tables: Sequence[Table], width: int = 80) -> str:
    """The whole window: for each row of cells a column per run, and a line for each bucket that is not 0 or
    `na` in all of its runs; the others share a line."""
    rows = grouped(tables, key=lambda table: (table.cell.rpartition("-smp")[0], table.unit))
    return "\n".join(line for (row, unit), of in rows.items() for line in _of_row(row, unit, of, width))


def _of_row(row: str, unit: str, tables: Sequence[Table], width: int) -> list[str]:
    names = dict.fromkeys(name for table in tables for name in table.buckets)
    kept = [name for name in names if any(table.value(name) for table in tables)]
    zero = [name for name in names if name not in kept and any(table.value(name) == 0 for table in tables)]
    head = max(map(len, ["bucket", *kept]))
    lines = columns.wrapped(f"attribution of {visible(row)}, in {visible(unit)}", width)
    for block in _blocks([_column(table, kept) for table in tables], max(width, 40) - head):
        for number, name in enumerate(["bucket", *kept]):
            cells = "".join(f"  {visible(column[number]):>{_wide(column)}}" for column in block)
            lines.append(f"{visible(name):<{head}}{cells}".rstrip())
    if zero:
        lines += columns.wrapped(f"0 in each: {visible(', '.join(zero))}", width)
    return [*lines, ""]


def _column(table: Table, names: Sequence[str]) -> list[str]:
    return [f"smp{table.cell.rpartition('-smp')[2]}", *(shown(table.value(name)) for name in names)]


def _wide(column: Sequence[str]) -> int:
    return max(map(len, column))


def _blocks(every: Sequence[Sequence[str]], room: int) -> Iterable[Sequence[Sequence[str]]]:
    """Groups of columns that fit side by side; at least one each."""
    block: list[Sequence[str]] = []
    used = 0
    for column in every:
        need = 2 + _wide(column)
        if block and used + need > room:
            yield block
            block, used = [], 0
        block.append(column)
        used += need
    if block:
        yield block
