"""A run is refused if its command line, its shape or its log is of another machine than its session's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import VerifyError
from benchgate.base.runs import RawRun
from benchgate.base.systems import System
from benchgate.insn import machine_shape
from benchgate.insn.memory_log import CLASSES, COUNTS
from benchgate.judge.machine_agreement import check_machine
from benchgate.judge.run_files import RunFiles
from benchgate.plan import catalog
from tests.unit.factories import cell, raw_run
from tests.unit.machines import duo
from tests.wirekit import write_argv

LINUX = catalog.load_system("linux")
ON_DUO = LINUX.on(duo())
CPUS = 2
HEADER = """insn-clock 1
level full
mode serial
seed 7
quantum 5000
fine 100
rush 25
vcpus 2
api 3 2 4
"""
SERVED = {"l2": 5, "l3": 4, "local": 3, "remote": 2, "transfer_cluster": 6, "transfer_socket": 7, "atomic": 9}
SERVED |= {"walk": 8, "interrupt": 1}
WAITED = {"l2": 5 * 2, "l3": 4 * 10, "local": 3 * 49, "remote": 2 * 84, "transfer_cluster": 6 * 19}
WAITED |= {"transfer_socket": 7 * 89, "atomic": 9 * 4, "walk": 8 * 15, "interrupt": 700, "queue": 123}


def books() -> str:
    """The log's lines of two phases: each access has cost what tests/unit/machines.py says."""
    words = []
    for phase in ("boot", "window"):
        for cpu in range(CPUS):
            counts = " ".join(f"{name} {SERVED.get(name, 0)}" for name in COUNTS)
            stalls = " ".join(f"{name} {WAITED.get(name, 0)}" for name in CLASSES)
            words.append(f"spent {phase} {cpu} executed 1 paused 0 skipped 0 halted 0 stalled 0")
            words += [f"memory {phase} {cpu} {counts}", f"stall {phase} {cpu} {stalls}"]
    totals = [f"vcpu {cpu} time 9 executed 9 paused 0 skipped 0 halted 0 stalled 0" for cpu in range(CPUS)]
    return "\n".join(
        [*totals, *words, "order boot 0 0 0 0 0", "order window 0 0 0 0 0", "end 9", "closed", ""]
    )


@pytest.fixture
def run(tmp_path: Path) -> RawRun:
    """A run on the machine of tests/unit/machines.py, as it is recorded."""
    log = tmp_path / "clock.log"
    log.write_text(f"{HEADER}machine duo\n{books()}")
    (tmp_path / machine_shape.FILE).write_text(machine_shape.shape_of(ON_DUO, CPUS))
    write_argv(tmp_path, ["qemu", "-plugin", f"insn.so,out={log},machine={tmp_path / machine_shape.FILE}"])
    made = raw_run(cell(CPUS, system="linux-duo"), lane=Lane.INSN, placement=Placement.VIRTUAL)
    return replace(made, folder=tmp_path, clock_log=log)


def test_a_run_on_its_sessions_machine_is_accepted(run: RawRun) -> None:
    check_machine(RunFiles(run), ON_DUO)


def test_a_run_on_the_ideal_machine_has_nothing_of_a_machine(run: RawRun) -> None:
    (run.folder / machine_shape.FILE).unlink()
    (run.folder / "clock.log").write_text(HEADER)
    write_argv(run.folder, ["qemu", "-plugin", "insn.so,out=clock.log"])
    check_machine(RunFiles(run), LINUX)


def drop_argument(folder: Path) -> None:
    write_argv(folder, ["qemu", "-plugin", "insn.so,out=clock.log"])


def edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (drop_argument, r"argv\.json of "),
        (edit(machine_shape.FILE, "local_ns 50", "local_ns 51"), r"machine\.shape of "),
        (edit("clock.log", "machine duo", "machine trio"), r"clock\.log of "),
        (edit("clock.log", f"local {3 * 49}", f"local {3 * 50}"), r"clock\.log of "),
        (edit("clock.log", f"atomic {9 * 4}", f"atomic {9 * 5}"), r"clock\.log of "),
        (edit("clock.log", f"walk {8 * 15}", f"walk {8 * 16}"), r"clock\.log of "),
    ],
)
def test_each_file_of_another_machine_refuses_the_run(
    run: RawRun, change: Callable[[Path], None], said: str
) -> None:
    change(run.folder)
    with pytest.raises(VerifyError, match=f"{said}.* is not of machine duo as the session records it"):
        check_machine(RunFiles(run), ON_DUO)


@pytest.mark.parametrize("other", [LINUX.on(duo(atomic_ns="5")), LINUX])
def test_a_session_that_records_another_machine_refuses_the_run(run: RawRun, other: System) -> None:
    with pytest.raises(VerifyError, match="the run was made on another machine"):
        check_machine(RunFiles(run), other)


def test_a_changed_session_and_shape_do_not_fit_the_log(run: RawRun) -> None:
    """A forger who changes both still has the times that the clock charged."""
    forged = LINUX.on(duo(memory="{local_ns: 60, remote_ns: 85, bandwidth_gb_s: 32}"))
    (run.folder / machine_shape.FILE).write_text(machine_shape.shape_of(forged, CPUS))
    with pytest.raises(VerifyError, match=r"clock\.log of .* is not of machine duo"):
        check_machine(RunFiles(run), forged)
