"""memory.csv: the books of every counted run on a machine with memory, a line for each phase and CPU.

Takes a SessionView; gives CSV, or None on the ideal machine. Does not fail. The columns are those of
reports/schema/memory-1.json: times of `spent` in ns, then counts, then what the vCPU stalled for, in ns.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchgate.base.text import csv_field
from benchgate.insn.memory_log import CLASSES, COUNTS, PARTS, PHASES
from benchgate.judge.accounts.memory_books import RunBooks
from benchgate.render.view import SessionView

NAME = "memory.csv"
COLUMNS = (
    *("run", "cell", "cpus", "seed", "machine", "phase", "cpu"),
    *(f"{part}_ns" for part in PARTS),
    *COUNTS,
    *(f"stall_{name}_ns" for name in CLASSES),
    *("out_of_order", "out_of_order_worst_ns", "out_of_order_total_ns", "out_of_order_line"),
)
"""The last four are of the whole phase, and stand in the lines of CPU 0."""


def render(view: SessionView) -> str | None:
    if not view.books:
        return None
    lines = (",".join(csv_field(field) for field in one) for run in view.books for one in _lines(run))
    return "".join(f"{line}\n" for line in (",".join(COLUMNS), *lines))


def _lines(run: RunBooks) -> Iterator[list[str]]:
    for phase in PHASES:
        order = run.orders.get(phase)
        late = [order.count, order.worst_ns, order.total_ns, f"{order.worst_line:x}"] if order else [""] * 4
        for cpu, one in enumerate(run.books.phases[phase]):
            fields = (
                *(run.run, run.cell, run.cpus, run.seed, run.books.machine, phase, cpu),
                *(getattr(one.spent, part) for part in PARTS),
                *(one.counts[name] for name in COUNTS),
                *(one.stalls[name] for name in CLASSES),
                *(late if cpu == 0 else [""] * 4),
            )
            yield [str(field) for field in fields]
