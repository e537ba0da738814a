"""Views with something in every part of the page, without boots."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.gates import Arm, CapacityBound, Gate
from benchgate.base.runs import Ending, Outcome, Resolution
from benchgate.base.statistics.histogram import Histogram, bucket_of
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.evidence.rows import RunRow
from benchgate.insn.activity import Activity, Column, Wakes
from benchgate.insn.log_reader import read_log
from benchgate.insn.threads_log import read_thread_events
from benchgate.judge.accounts.attribution import Table, table
from benchgate.judge.accounts.distributions import distributions
from benchgate.judge.accounts.memory_books import RunBooks
from benchgate.judge.accounts.thread_sketch import sketch
from benchgate.judge.accounts.thread_timeline import (
    ALL_BOXES,
    FEWEST_BOXES,
    MOST_BOXES,
    MOST_LATE,
    ThreadTimeline,
    named_threads,
)
from benchgate.judge.accounts.threads.accounting import conserved, thread_books
from benchgate.judge.accounts.timeline import Timeline, WorkerSpan
from benchgate.judge.decide import decide
from benchgate.judge.judged_run import JudgedRun, Recording
from benchgate.judge.noise import RunNoise
from benchgate.judge.wire import parse
from benchgate.render.view import SessionView
from tests import schedulesim
from tests.unit.factories import POLICY, arm, cell, raw_run, rows, run_row, scaled_view, verified, view
from tests.unit.memory_logs import LOG, ONE_CPU
from tests.unit.moved_lines import sharing
from tests.wirekit import NONCE, console, recorded, unframed

P99 = Metric("wake_p99", MetricKind.PERCENTILE, MetricDirection.LESS, "ns", of="wake", at=99.0)
VOID_WHY = "run delay 6% (limit 2%)"


def full_view(**changes: object) -> SessionView:
    """Two systems, every outcome, a metric with its histogram, and noise of the host."""
    first = scaled_view()
    given: list[RunRow] = list(first.rows)
    for cpus, work in ((1, 1_200_000_000), (2, 640_000_000), (4, 350_000_000)):
        given += rows(
            cell(cpus, system="kernel"), [work + n * 1_000_000 for n in range(5)], first=20 + 5 * cpus
        )
    given = [
        replace(row, lead=400, metrics=((P99, 5000.0 + row.run),) if row.counts else ()) for row in given
    ]
    void = replace(rows(cell(2), [900_000_000], first=60)[0], outcome=Outcome.VOID, reason=VOID_WHY)
    broken = run_row(raw_run(cell(4), attempt=61, ending=Ending.FAILED), None, "worker 0 reports a wrong sum")
    replayed = rows(cell(1, system="own"), [77], first=62, lane=Lane.INSN, unit="insn")
    noise = {row.run: RunNoise(1.5 * row.run, 1.2, {"run_delay": 0.004, "steal": 0.0}, ()) for row in given}
    noise[60] = RunNoise(95.0, 1.9, {"run_delay": 0.06, "steal": 0.01}, ("run_delay",))
    facts: dict[str, object] = {
        "verdicts": first.verdicts,
        "capacity": {2: CapacityBound(Lane.TCG, 2, 1.94, 1.90, 1.97)},
        "noise": noise,
        "distributions": distributions([judged_with_histogram()], {"primes-linux": {"wake_p99": P99}}),
        "merged": {"primes-linux-smp1": {"wake_p99": 6000.0}},
        "envelope": (("cpu model", "Example"), ("kernel", "6.12")),
        "attributions": (attributed(),),
        "void_rule": "run delay 2%",
        "books": booked(),
        "moved_lines": (Recording("primes-linux-smp2", 7, "runs/0007-primes-linux-smp2", sharing(8)),),
    }
    return view(*given, void, broken, *replayed, **{**facts, **changes})  # type: ignore[arg-type]


def attributed() -> Table:
    plain = [line for line in unframed(recorded("good-linux-primes-smp2")) if not line.startswith("measure")]
    said = parse(console(*plain, "measure phase=work cpu=0 name=busy_time value=4100"), nonce=NONCE)
    return table("primes-linux-smp2", said)


def booked() -> tuple[RunBooks, ...]:
    """The books of the two cells of a row on a machine with memory."""
    result = []
    with tempfile.TemporaryDirectory() as folder:
        for cpus, text in ((1, ONE_CPU), (2, LOG)):
            path = Path(folder) / f"{cpus}.log"
            path.write_text(text, encoding="ascii")
            log = read_log(path)
            assert log.memory is not None
            names = (f"primes-linux-smp{cpus}", "primes-linux")
            result.append(RunBooks(cpus, *names, cpus, 7, log.memory, log.orders, 12_000, is_median=True))
    return tuple(result)


def judged_with_histogram() -> JudgedRun:
    values = [900, 1000, 1100, 1100, 9000]
    buckets = {bucket_of(value): values.count(value) for value in sorted(values)}
    seen = Histogram(len(values), sum(values), min(values), max(values), buckets)
    raw = raw_run(cell(1))
    return JudgedRun(raw, replace(verified(raw, 10_000), histograms={"wake": seen}, hz=1_000_000_000))


def threads_view(*cpus: int, **changes: object) -> SessionView:
    """A view like `scaled_view` with pictures of threads, of a simulated schedule for each CPU count."""
    return replace(scaled_view(), threads=tuple(simulated(count) for count in cpus), **changes)  # type: ignore[arg-type]


def simulated(cpus: int, *, boxes: int = MOST_BOXES) -> ThreadTimeline:
    name = f"primes-linux-smp{min(cpus, 2)}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "threads.txt"
        path.write_text(schedulesim.recorded(cpus, looks=0.7, length=20_000_000), encoding="ascii")
        books = thread_books(read_thread_events(path), explained=MOST_LATE)
    return ThreadTimeline(
        cell=name,
        cpus=cpus,
        run=3,
        folder=f"runs/0003-{name}",
        seed=5,
        which="median",
        work=books.end - books.begin,
        unit="insn",
        threads=named_threads(books),
        count=len(books.threads),
        by_cpu=books.cpus,
        conserved=conserved(books),
        longest_wait=books.wait_lengths[-1],
        is_cut=False,
        sketch=sketch(books, boxes),
        begin=books.begin,
        late=books.waits,
        names={book.thread: book.name for book in books.threads},
    )


def long_view(runs: int) -> SessionView:
    """That many runs, half of them void with a reason."""
    arms = [rows(cell(2 ** (n % 4), system=f"sys{n % 5}"), [10**9 + n], first=n + 1)[0] for n in range(runs)]
    halves = [
        row if row.run % 2 else replace(row, outcome=Outcome.VOID, reason=VOID_WHY, lane=Lane.INSN)
        for row in arms
    ]
    noise = {
        row.run: RunNoise(1.5, 1.0, {"run_delay": 0.01, "steal": 0.0, "migrations": 0.0}, ()) for row in arms
    }
    return view(*halves, noise=noise)


LONG_NAME = "a_workload_with_a_long_name.parameter-4294967296.another_parameter-with-a-long-value.threads-128"


def long_names_view() -> SessionView:
    """Rows, systems, metrics and threads whose names are longer than any column."""
    given = wide_view(2, 2, 3)
    long_metric = replace(P99, name=f"a_percentile_of_{'many_' * 12}words")
    names = {"linux": "linux:a_setting=a_long_value,another_setting=4294967296", "primes": LONG_NAME}

    def named(of: Cell) -> Cell:
        system, workload = names.get(of.system, of.system), names.get(of.workload, of.workload)
        return replace(of, system=system, workload=workload, label=workload)

    made = tuple(
        replace(
            row, cell=named(row.cell), metrics=((long_metric, 1000.0 * row.cell.cpus),) if row.counts else ()
        )
        for row in given.rows
    )
    verdicts = tuple(
        replace(
            one,
            system=names.get(one.system, one.system),
            workload=names.get(one.workload, one.workload),
            reason=one.reason.replace("primes", LONG_NAME),
        )
        for one in given.verdicts
    )
    cells = {row.cell.id: named(row.cell).id for row in given.rows}
    threads = tuple(
        replace(
            of,
            cell=cells[of.cell],
            threads=tuple(
                replace(named_thread, name=f"a thread with a {'very ' * 9}long name")
                for named_thread in of.threads
            ),
        )
        for of in given.threads
    )
    timelines = tuple(replace(of, cell=cells[of.cell]) for of in given.timelines)
    return replace(given, rows=made, verdicts=verdicts, threads=threads, timelines=timelines)


WIDE = ("primes", "primes.split-one", "pipe", "wake", "mutex", "walk", "checksum", "matmul", "sort", "spawn")
"""Names of rows; `primes.split-one` is a negative control."""
COUNTS = (1, 2, 4, 8, 16)
FAILED, UNDECIDED, INVALID_ROW, UNGATED = "pipe", "mutex", "wake", "walk"
"""The rows in which larger counts fail, are not decided, or have no right answer, or have no threshold."""


def wide_view(workloads: int, systems: int, counts: int, runs: int = 5, **changes: object) -> SessionView:
    """Rows by systems and CPU counts on the instruction clock, with timelines and the guests' counters."""
    made: list[RunRow] = []
    gates: list[Gate] = []
    cells = [
        _wide_cell(name, system, cpus)
        for cpus in COUNTS[:counts]
        for name in WIDE[:workloads]
        for system in ("linux", "kernel", "own", "other", "fifth")[:systems]
    ]
    for number in range(runs):
        made += [_wide_run(one, len(made) + 1 + place, number) for place, one in enumerate(cells)]
    arms = {one.id: _wide_arm(one, [row for row in made if row.cell == one]) for one in cells}
    for one in cells:
        gates.append(Gate(f"{one.id}-verified", "verified", None, one, "work"))
        base = replace(one, cpus=1)
        if one.cpus > 1 and one.workload != UNGATED:
            is_control = "split" in one.workload
            kind, limit = ("control", 1.1) if is_control else ("speedup", round(0.9 * one.cpus, 1))
            least, most = (None, limit) if is_control else (limit, None)
            gates.append(Gate(f"{one.id}-{kind}", kind, base, one, "work", least, most))
    facts: dict[str, object] = {
        "verdicts": decide(gates, arms, POLICY).verdicts,
        "timelines": tuple(_wide_timeline(one, made) for one in cells),
        "threads": tuple(_wide_threads(one, len(cells)) for one in cells),
        "attributions": tuple(replace(attributed(), cell=one.id) for one in cells),
        "resolutions": {one.id: Resolution(40_000, 12, 90_000) for one in cells},
        "envelope": tuple((f"fact {number}", "a value of the host") for number in range(80)),
    }
    return view(*made, **{**facts, **changes})  # type: ignore[arg-type]


def _wide_cell(name: str, system: str, cpus: int) -> Cell:
    return replace(cell(cpus, workload=name, system=system), params=(("n", 4096),))


def _wide_run(of: Cell, attempt: int, number: int) -> RunRow:
    lost = {FAILED: 0.35, UNDECIDED: 0.076}.get(of.workload, 0.01) if of.cpus >= 4 else 0.01
    reached = 1.0 if "split" in of.workload else of.cpus ** (1 - lost)
    spread = 0.01 if of.workload == UNDECIDED else 0.0004
    work = int(1_948_523_766 * (1 + len(of.system) / 50) / reached * (1 + spread * ((number * 7) % 5 - 2)))
    raw = raw_run(of, attempt=attempt, lane=Lane.INSN, placement=Placement.VIRTUAL)
    if (of.workload, of.cpus, number) == (INVALID_ROW, 4, 2):
        return run_row(replace(raw, ending=Ending.PANIC), None, "Kernel panic: attempted to kill init")
    return replace(run_row(raw, verified(raw, work, work + 90_000 * of.cpus, unit="insn")), lead=40_000)


def _wide_arm(of: Cell, made: Sequence[RunRow]) -> Arm:
    counted = [row for row in made if row.counts]
    bad = tuple(row.reason for row in made if row.outcome in (Outcome.INVALID, Outcome.CRASHED))
    works = [row.work or 0 for row in counted]
    result = arm(of, works, lane=Lane.INSN, placement=Placement.VIRTUAL, unit="insn", invalid=bad)
    folders = [f"runs/{row.run:04}-{of.id}" for row in made]
    return replace(result, sample=folders[0], culprit=folders[0])


@functools.cache
def _schedule(cpus: int, boxes: int) -> ThreadTimeline:
    return simulated(cpus, boxes=boxes)


def _wide_threads(of: Cell, cells: int) -> ThreadTimeline:
    return replace(_schedule(of.cpus, max(ALL_BOXES // cells, FEWEST_BOXES)), cell=of.id)


def _wide_timeline(of: Cell, made: Sequence[RunRow]) -> Timeline:
    row = next(row for row in made if row.cell == of)
    columns = tuple(tuple(Column(1.0 - 0.01 * (n % 7), 0.0) for n in range(200)) for _ in range(of.cpus))
    length = row.total or 1000
    return Timeline(
        cell=of.id,
        cpus=of.cpus,
        folder=f"runs/{row.run:04}-{of.id}",
        run=row.run,
        seed=7,
        which="median",
        share=1.0,
        work=row.work or 900,
        unit="insn",
        length=length,
        workers=tuple(WorkerSpan(n, n, n, 0, row.work or 900) for n in range(of.cpus)),
        activity=Activity(0, length, length // 200 + 1, columns, (Wakes(0, None, 3, 12),)),
    )
