"""memory.csv: the books of every counted run on a machine with memory, a line for each phase and CPU.

Takes a SessionView; gives CSV, or None on the ideal machine. Does not fail. After
the times of `spent`, in ns, come counts, and then what the vCPU stalled for, in ns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchgate.base.text import csv_field
from benchgate.evidence.rows import POSITIVE, WORD, CsvColumn, words_column
from benchgate.insn.memory_log import CLASSES, COUNTS, PARTS, PHASES
from benchgate.judge.accounts.memory_books import RunBooks
from benchgate.render.view import SessionView

NAME = "memory.csv"
_COUNT, _LATE = CsvColumn("^(0|[1-9][0-9]*)$"), CsvColumn("^(|0|[1-9][0-9]*)$")
_ABOUT = {
    "executed_ns": "instructions; one is 1 ns",
    "paused_ns": "what `pause` counts beyond one instruction each",
    "skipped_ns": "skipped in loops that poll the clock",
    "stalled_ns": "waited for the machine's memory, the sum of the columns stall_..._ns; and what "
    "instructions of a small CPU took beyond 1 ns each",
    "reads": "of data, without atomics",
    "writes": "of data, without atomics",
    "fetches": "of lines of code",
    "atomics": "reads and writes of atomic instructions",
    "l1": "accesses that it served",
    "local": "by the own node's memory",
    "remote": "by another node's memory",
    "transfer_cluster": "served by another cache of the cluster",
    "transfer_across": "by one of another cluster",
    "transfer_socket": "by one of another socket",
    "upgrade": "writes to a line of which others had copies",
    "busy": "waits for a line that was being served to another CPU",
    "queue": "waits for the bandwidth of a node",
    "atomic": "atomic instructions that were charged",
    "walk": "page walks",
    "interrupt": "interrupts between CPUs",
    "invalidations": "copies that this CPU's writes took from others",
    "written_back": "modified lines that left an L2 or L3",
    "outside": "accesses outside of memory; in no sum",
}
_COUNTED = (*(f"{part}_ns" for part in PARTS), *COUNTS, *(f"stall_{name}_ns" for name in CLASSES))
COLUMNS: Mapping[str, CsvColumn] = {
    "run": POSITIVE.saying("the run's number, as in results.csv"),
    "cell": WORD,
    "cpus": POSITIVE,
    "seed": _COUNT,
    "machine": CsvColumn("^[A-Za-z0-9][A-Za-z0-9_.-]*$"),
    "phase": words_column(PHASES).saying("boot: all that lies outside the window"),
    "cpu": _COUNT,
    **{name: _COUNT.saying(_ABOUT.get(name, "")) for name in _COUNTED},
    "out_of_order": _LATE.saying(
        "accesses of the phase, of all CPUs; this and the following three stand in the line of CPU 0, if the "
        "order was watched"
    ),
    "out_of_order_worst_ns": _LATE,
    "out_of_order_total_ns": _LATE,
    "out_of_order_line": CsvColumn("^[0-9a-f]*$", about="guest-physical address of the worst one's line"),
}


def render(view: SessionView) -> str | None:
    if not view.books:
        return None
    lines = (",".join(csv_field(field) for field in line) for run in view.books for line in _lines(run))
    return "".join(f"{line}\n" for line in (",".join(COLUMNS), *lines))


def _lines(run: RunBooks) -> Iterator[list[str]]:
    for phase in PHASES:
        order = run.orders.get(phase)
        late = [order.count, order.worst_ns, order.total_ns, f"{order.worst_line:x}"] if order else [""] * 4
        for cpu, books in enumerate(run.books.phases[phase]):
            fields = (
                *(run.run, run.cell, run.cpus, run.seed, run.books.machine, phase, cpu),
                *(getattr(books.spent, part) for part in PARTS),
                *(books.counts[name] for name in COUNTS),
                *(books.stalls[name] for name in CLASSES),
                *(late if cpu == 0 else [""] * 4),
            )
            yield [str(field) for field in fields]
