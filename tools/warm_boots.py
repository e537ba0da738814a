"""Compares cold and warm starts of the Linux guest; prints tables.

`python -m tools.warm_boots [WORKLOAD ...]` runs rows at 2 CPUs with short parameters: each seed cold, and
each seed from each of five boots, warm. It prints the work window's median of both, how far medians of boots
lie apart, how far seeds of one boot do, and the CPU time that QEMU took for a run; on standard error the
window of each run. WARM_SEEDS says how many seeds (default 5). Snapshots are made, and kept in the cache,
before anything is timed.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.identity import nonce_of
from benchgate.base.snapshots import StartKind
from benchgate.insn.log_reader import read_log
from benchgate.insn.window import window
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.plan.workloadfile import fill
from benchgate.run import attempt
from benchgate.run.argv import BootOptions
from benchgate.run.record import clock_log
from benchgate.session.measuring_host import ThisHost
from benchgate.session.workbench import Workbench

ROWS = (
    *("primes", "checksum", "tasks", "mapreduce", "barrier", "contend", "service", "wake", "stencil"),
    *("schbench", "dynamic", "spawn", "micro"),
)
CPUS = 2
BOOTS = range(1, 6)
SEEDS = range(1, 1 + int(os.environ.get("WARM_SEEDS", "5")))


@dataclass(frozen=True)
class TimedRun:
    work: int
    """The work window, in ns of the guest."""
    cpu_s: float
    """The CPU time of QEMU."""


@dataclass(frozen=True)
class Row:
    name: str
    cold: tuple[TimedRun, ...]
    warm: tuple[tuple[TimedRun, ...], ...]
    """The seeds of each boot."""

    @property
    def each(self) -> str:
        """The windows of all runs."""
        kinds = {
            "cold": self.cold,
            **{f"boot {boot}": runs for boot, runs in zip(BOOTS, self.warm, strict=True)},
        }
        return "\n".join(f"{self.name}, {kind}: {[run.work for run in runs]}" for kind, runs in kinds.items())

    @property
    def text(self) -> str:
        cold = [run.work for run in self.cold]
        boots = [[run.work for run in boot] for boot in self.warm]
        usual = statistics.median(cold)
        every = [work for boot in boots for work in boot]
        between = _spread([statistics.median(boot) for boot in boots], usual)
        within = statistics.median(_spread(boot, usual) for boot in boots)
        took = [statistics.median(run.cpu_s for run in runs) for runs in (self.cold, sum(self.warm, ()))]
        moved = statistics.median(every) / usual - 1
        shares = (f"{moved:+.2%}", *(f"{share:.2%}" for share in (_spread(cold, usual), within, between)))
        times = (f"{took[0]:.2f}", f"{took[1]:.2f}", f"{took[0] / took[1]:.1f}")
        return f"| {' | '.join((self.name, f'{usual:,.0f}', *shares, *times))} |"


def _spread(values: Sequence[float], usual: float) -> float:
    return (max(values) - min(values)) / usual


def _bench(start: StartKind, name: str) -> tuple[Workbench, PlannedCell]:
    system = catalog.load_system("linux", start=start)
    workload = catalog.load_workload(name, system)
    values, label = fill(workload, workload.quick)
    cell = Cell(system.name, name, workload.mode, values, CPUS, label)
    planned = PlannedCell(cell, system, workload, Seats(Lane.INSN, Placement.VIRTUAL, ()))
    bench = Workbench(replace(Options(), clock="insn"), ThisHost(), lambda text: print(text, file=sys.stderr))
    bench.prepare([planned])
    bench.choose()
    return bench, planned


def _timed(bench: Workbench, planned: PlannedCell, seed: int, boot: int | None) -> TimedRun:
    with tempfile.TemporaryDirectory(prefix="benchgate-warm-") as name:
        folder = Path(name)
        options = BootOptions(nonce_of(f"warm {planned.cell.id} {seed}"), seed=seed, boot=boot)
        made = bench.request(planned, options, folder)
        before = _children_s()
        raw = attempt.execute(made)
        took = _children_s() - before
        if raw.exit_status != planned.system.end.exit_codes[0]:
            raise SystemExit(f"{planned.cell.id}: the run ended with {raw.ending}: {raw.detail}")
        log = read_log(clock_log(folder))
        return TimedRun(window(log, sum(mark.kind == 1 for mark in log.marks)).work, took)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(name: str) -> Row:
    bench, planned = _bench(StartKind.WARM, name)
    warm = tuple(tuple(_timed(bench, planned, seed, boot) for seed in SEEDS) for boot in BOOTS)
    bench, planned = _bench(StartKind.COLD, name)
    return Row(name, tuple(_timed(bench, planned, seed, None) for seed in SEEDS), warm)


def main(names: Sequence[str]) -> int:
    for boot in BOOTS:  # the first run from a snapshot makes it
        _timed(*_bench(StartKind.WARM, ROWS[0]), 1, boot)
    print(
        "| workload | cold, ns | warm | cold seeds | seeds of a boot | boots | cold, CPU s | warm | ratio |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name in names or ROWS:
        row = measured(name)
        print(row.text, flush=True)
        print(row.each, file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
