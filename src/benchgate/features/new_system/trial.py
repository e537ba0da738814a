"""One run of a new system on the instruction clock, judged as in a session.

Takes the system and a CPU count; gives why the run is no result, or what the machine counted in it. Fails
with BenchgateError if there is no QEMU or no instruction clock here.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.system.systems import SELFTEST, System
from benchgate.base.text import counted
from benchgate.insn.plugin import prepare
from benchgate.judge.judged_run import judge_run
from benchgate.judge.verify import verify_on
from benchgate.plan.catalog import SELFTEST_WORKLOAD
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.run import attempt
from benchgate.run.argv import BootOptions
from benchgate.session.measuring_host import ThisHost
from benchgate.session.thread_report import report_witness
from benchgate.session.workbench import Workbench

Say = Callable[[str], None]


def counted_run(qemu: Path | None, system: System, cpus: int, say: Say) -> tuple[str, str]:
    """Boots the system on the instruction clock; gives why the run is no result, or an empty text and what
    report_witness says of it."""
    bench = Workbench(Options(qemu=qemu), ThisHost(), say)
    bench.emulators.fetch([system])
    bench.emulators.emulate(system, prepare(bench.emulators.qemus[system.emulator]))
    cell = Cell(system.name, SELFTEST, SELFTEST_WORKLOAD.mode, (), cpus)
    planned = PlannedCell(cell, system, SELFTEST_WORKLOAD, Seats(Lane.INSN, Placement.VIRTUAL, ()))
    say(f"booting with {counted(cpus, 'CPU')} on the instruction clock, to count what the machine sees")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "runs", f"0001-{cell.id}")
        folder.mkdir(parents=True)
        raw = attempt.execute(bench.request(planned, BootOptions(secrets.token_hex(8), seed=1), folder))
        judged = judge_run(raw, lambda run: verify_on(run, SELFTEST_WORKLOAD, system))
        if judged.verified is None:
            say(f"that run is no result: {judged.reason}")
            return judged.reason, ""
        return "", report_witness(folder)
