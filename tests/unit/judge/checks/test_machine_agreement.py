"""A run is refused if its command line, its shape or its log is of another machine than its session's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base import exploration
from benchgate.base.cells import Lane, Placement
from benchgate.base.errors import VerifyError
from benchgate.base.exploration import Strategy, usual
from benchgate.base.runs import Ending, Outcome, RawRun
from benchgate.base.system.systems import System
from benchgate.insn import machine_shape
from benchgate.insn.memory_log import CLASSES, COUNTS
from benchgate.judge import verify
from benchgate.judge.checks.machine_agreement import check_exploration, check_machine
from benchgate.judge.judged_run import judge_run
from benchgate.judge.run_files import RunFiles
from benchgate.plan import catalog
from tests.unit.factories import cell, raw_run, verified
from tests.unit.judge.checks.test_agreement import CLOCK, LOG
from tests.unit.machines import BOTH, UNEVEN, duo, uneven, with_memory
from tests.wirekit import PRIMES, guest_argv, write_affinity, write_argv

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


def kept_run(folder: Path, system: System, text: str, option: str) -> RawRun:
    """A run with this log, whose plugin was given this option."""
    log = folder / "clock.log"
    log.write_text(f"{HEADER}{text}")
    write_argv(folder, ["qemu", "-plugin", f"insn.so,out={log},{option}"])
    made = raw_run(cell(CPUS, system=system.name), lane=Lane.INSN, placement=Placement.VIRTUAL)
    return replace(made, folder=folder, clock_log=log)


@pytest.fixture
def run(tmp_path: Path) -> RawRun:
    """A run on the machine of tests/unit/machines.py, as it is recorded."""
    (tmp_path / machine_shape.FILE).write_text(machine_shape.shape_of(ON_DUO, CPUS))
    return kept_run(tmp_path, ON_DUO, f"machine duo\n{books()}", f"machine={tmp_path / machine_shape.FILE}")


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


# 1024 / 512 ns for each of 9000 instructions and 101 ns of pauses, on CPU 1
UNEVEN_TOTALS = """vcpu 0 time 5000 executed 4000 paused 1000 skipped 0 halted 0 stalled 0
vcpu 1 time 18402 executed 9000 paused 101 skipped 100 halted 100 stalled 9101
end 18402
closed
"""
CAPACITIES = "capacity 0 1024\ncapacity 1 512\n"
ON_UNEVEN = LINUX.on(uneven())


@pytest.fixture
def bare(tmp_path: Path) -> RawRun:
    """A run on the machine with CPUs of different speed."""
    return kept_run(tmp_path, ON_UNEVEN, f"{CAPACITIES}{UNEVEN_TOTALS}", "capacities=1024:512")


def test_a_run_on_cpus_of_its_machines_speed_is_accepted(bare: RawRun) -> None:
    check_machine(RunFiles(bare), ON_UNEVEN)


def leave_out(folder: Path) -> None:
    """The plugin was not told, and somebody wrote the arguments that it should have had."""
    (folder / "clock.log").write_text(
        f"{HEADER}{UNEVEN_TOTALS.replace(' stalled 0', '').replace(' stalled 9101', '')}"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (drop_argument, r"argv\.json of "),
        (edit("argv.json", "1024:512", "1024:513"), r"argv\.json of "),
        (leave_out, r"clock\.log of "),
        (edit("clock.log", "capacity 1 512", "capacity 1 513"), r"clock\.log of "),
        (edit("clock.log", "stalled 9101", "stalled 9102"), r"clock\.log of "),
        (edit("clock.log", "stalled 9101", "stalled 0"), r"clock\.log of "),
        (edit("clock.log", "executed 9000", "executed 9001"), r"clock\.log of "),
    ],
)
def test_each_file_of_cpus_of_another_speed_refuses_the_run(
    bare: RawRun, change: Callable[[Path], None], said: str
) -> None:
    change(bare.folder)
    with pytest.raises(VerifyError, match=f"{said}.* is not of machine uneven as the session records it"):
        check_machine(RunFiles(bare), ON_UNEVEN)


# ---- a memory system, and CPUs of different speed

ON_BOTH = LINUX.on(with_memory(BOTH, Path("both.yaml")))
WAITS = 2 * sum(WAITED.values())
TAKES_BOTH = f"""\
vcpu 0 time 9 executed 9 paused 0 skipped 0 halted 0 stalled {WAITS}
vcpu 1 time 9 executed 9 paused 5 skipped 0 halted 0 stalled {WAITS + 14}
"""
"""vCPU 1 takes 2 ns for each instruction, and both waited as long in the boot as in the window."""


@pytest.fixture
def both(tmp_path: Path) -> RawRun:
    (tmp_path / machine_shape.FILE).write_text(machine_shape.shape_of(ON_BOTH, CPUS))
    lines = books().splitlines(keepends=True)
    text = f"machine both\n{CAPACITIES}{TAKES_BOTH}{''.join(lines[CPUS:])}"
    return kept_run(tmp_path, ON_BOTH, text, f"machine={tmp_path / machine_shape.FILE},capacities=1024:512")


def test_a_run_with_memory_and_cpus_of_its_machines_speed_is_accepted(both: RawRun) -> None:
    check_machine(RunFiles(both), ON_BOTH)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (drop_argument, r"argv\.json of "),
        (edit("argv.json", ",capacities=1024:512", ""), r"argv\.json of "),
        (edit("argv.json", "machine=", "shape="), r"argv\.json of "),
        (edit(machine_shape.FILE, "local_ns 50", "local_ns 51"), r"machine\.shape of "),
        (edit("clock.log", "capacity 1 512", "capacity 1 513"), r"clock\.log of "),
        (edit("clock.log", f"stalled {WAITS + 14}", f"stalled {WAITS + 13}"), r"clock\.log of "),
        (edit("clock.log", f"stalled {WAITS + 14}", f"stalled {WAITS}"), r"clock\.log of "),
        (edit("clock.log", f"stalled {WAITS}\n", f"stalled {WAITS + 1}\n"), r"clock\.log of "),
        (edit("clock.log", "executed 9 paused 5", "executed 10 paused 5"), r"clock\.log of "),
        (edit("clock.log", f"local {3 * 49}", f"local {3 * 50}"), r"clock\.log of "),
        (edit("clock.log", "queue 123", "queue 124"), r"clock\.log of "),
    ],
)
def test_a_lie_about_memory_or_speed_refuses_the_run(
    both: RawRun, change: Callable[[Path], None], said: str
) -> None:
    change(both.folder)
    with pytest.raises(VerifyError, match=f"{said}.* is not of machine both as the session records it"):
        check_machine(RunFiles(both), ON_BOTH)


@pytest.mark.parametrize("other", [LINUX, ON_DUO, ON_UNEVEN])
def test_a_session_that_records_only_one_of_both_refuses_the_run(both: RawRun, other: System) -> None:
    with pytest.raises(VerifyError, match="the run was made on another machine"):
        check_machine(RunFiles(both), other)


@pytest.mark.parametrize("other", [LINUX.on(uneven(UNEVEN.replace("512", "511"))), LINUX, ON_DUO])
def test_a_session_that_records_other_speeds_refuses_the_run(bare: RawRun, other: System) -> None:
    with pytest.raises(VerifyError, match="the run was made on another machine"):
        check_machine(RunFiles(bare), other)


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


SYNC = usual(Strategy.SYNC, 3)
EXPLORATION_LINUX = catalog.load_system("linux")
Change = Callable[[RawRun], RawRun]


@pytest.fixture
def plain(tmp_path: Path) -> RawRun:
    """A run on the instruction clock as it is recorded."""
    log = tmp_path / "clock.log"
    log.write_text(LOG)
    write_argv(tmp_path, [*guest_argv(2, nonce=f"{1:016x}", cell=cell(2)), *CLOCK])
    write_affinity(tmp_path, [[0, 1], [0, 1]])
    made = raw_run(cell(2), lane=Lane.INSN, placement=Placement.VIRTUAL, ending=Ending.DONE, folder=tmp_path)
    return replace(made, seed=0, pins=(), clock_log=log)


def recorded(run: RawRun) -> RawRun:
    return replace(run, exploration=SYNC)


def asked(run: RawRun) -> RawRun:
    words = [*CLOCK[:-1], f"{CLOCK[-1]},explore={run.folder / exploration.FILE}"]
    write_argv(run.folder, [*guest_argv(2, nonce=f"{1:016x}", cell=cell(2)), *words])
    return run


def kept(run: RawRun) -> RawRun:
    (run.folder / exploration.FILE).write_text(SYNC.text)
    return run


def logged(run: RawRun) -> RawRun:
    (run.folder / "clock.log").write_text(f"{LOG}explore sync 3\n")
    return run


def explored(run: RawRun) -> RawRun:
    return logged(kept(asked(recorded(run))))


def test_a_run_that_nobody_explored_passes(plain: RawRun) -> None:
    check_exploration(RunFiles(plain), None)


@pytest.mark.parametrize("trace", [recorded, asked, kept, logged, explored])
def test_each_trace_of_an_exploration_refuses_a_sample(plain: RawRun, trace: Change) -> None:
    with pytest.raises(VerifyError, match=r"was explored .*: .*such a run is never a sample of a gate"):
        check_exploration(RunFiles(trace(plain)), None)


def test_whoever_asked_for_exactly_this_exploration_gets_its_result(plain: RawRun) -> None:
    check_exploration(RunFiles(explored(plain)), SYNC)
    with pytest.raises(
        VerifyError, match=r"run\.json of .* is not of the exploration with strategy sync, seed 4"
    ):
        check_exploration(RunFiles(explored(plain)), usual(Strategy.SYNC, 4))


@pytest.mark.parametrize("trace", [recorded, asked, kept, logged])
def test_one_trace_alone_is_not_enough(plain: RawRun, trace: Change) -> None:
    with pytest.raises(VerifyError, match="is not of the exploration with strategy sync, seed 3"):
        check_exploration(RunFiles(trace(plain)), SYNC)


def test_in_a_sessions_row_it_is_invalid_and_the_reason_names_it(
    plain: RawRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole verifier, of which all but the agreement of the files says yes."""
    run = explored(plain)
    (run.folder / "serial.log").write_bytes(b"")
    monkeypatch.setattr(verify, "verify", lambda files, *_, **__: verified(files.run, 5))
    monkeypatch.setattr(verify, "require_cpus", lambda *_: None)
    monkeypatch.setattr("benchgate.judge.checks.agreement._check_argv", lambda *_: None)
    monkeypatch.setattr("benchgate.judge.checks.agreement._check_measures", lambda *_: None)
    judged = judge_run(run, lambda one: verify.verify_on(one, PRIMES, EXPLORATION_LINUX))
    assert judged.outcome is Outcome.INVALID
    assert "never a sample of a gate" in judged.reason
    assert verify.verify_on(run, PRIMES, EXPLORATION_LINUX, exploration=SYNC).work == 5
