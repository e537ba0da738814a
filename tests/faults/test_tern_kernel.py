"""tern's debug profile for real: its lock ranks, deadlines and assertions hold while programs misbehave and
books are kept, and it leaves as it should when it is told nonsense. Plain TCG, console and exit status only;
what finds each defect on demand is in test_tern_faults.py and test_tern_gates.py.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchgate import build, catalog, fetch, wire
from benchgate.data import data_root
from benchgate.fetch import Qemu

NONCE = "0123456789abcdef"
DEADLINE_S = 60.0
GOOD, FAILED, PANIC = 33, 35, 37
KILLED = re.compile(
    rb"killed: process=\d+ thread=\d+ cpu=\d+ why=[a-z0-9-]+ vector=\d+ address=[0-9a-f]+ ip=[0-9a-f]+"
)
HOSTILE_CHILDREN = 30
SMALL = {"blocks": 4096, "rounds": 8}
PHASES = ("spawn_ready", "work", "shutdown")


@dataclass(frozen=True)
class Tern:
    qemu: Qemu
    image: Path

    def boot(self, cpus: int, append: str) -> tuple[int, bytes]:
        """Exit status and console."""
        argv = [str(self.qemu.binary)]
        for folder in self.qemu.data:
            argv += ["-L", str(folder)]
        argv += ["-machine", "q35", "-cpu", "max", "-accel", "tcg,thread=multi", "-m", "128M"]
        argv += ["-smp", str(cpus), "-display", "none", "-nodefaults", "-no-user-config", "-no-reboot"]
        argv += ["-serial", "stdio", "-device", "isa-debug-exit,iobase=0xf4,iosize=4"]
        argv += ["-kernel", str(self.image), "-append", append]
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(self.qemu.environment),
            timeout=DEADLINE_S,
            check=False,
        )
        return done.returncode, done.stdout

    def run(self, cpus: int) -> wire.Transcript:
        """One small measured run of checksum, whole on the wire."""
        params, _ = catalog.fill(catalog.load_workload("checksum"), SMALL)
        asked = " ".join(f"bench.{key}={value}" for key, value in params)
        status, console = self.boot(
            cpus,
            f"bench.workload=checksum bench.mode=thread bench.workers={cpus} bench.cpus={cpus} "
            f"bench.nonce={NONCE} bench.measure=1 {asked}",
        )
        assert status == GOOD, console[-400:]
        return wire.parse(console, nonce=NONCE)


@pytest.fixture(scope="module")
def tern() -> Tern:
    root = data_root()
    out = build.run_build(
        [["make", "PROFILE=debug", "OUT={out}"]],
        root / "kernel",
        [root / "kernel", root / "guest"],
        name="tern-debug",
    )
    return Tern(fetch.qemu(), out / "tern.elf")


def counted(said: wire.Transcript, name: str, phase: str = "final_total") -> int:
    found = [m.value for m in said.measures if m.phase == phase and m.name == name]
    assert found, f"no measure line has phase={phase} name={name}"
    return sum(value for value in found if value is not None)


def test_smokes_and_hostile_programs(tern: Tern) -> None:
    status, console = tern.boot(2, "selftest=hostile")
    assert status == GOOD, console[-400:]
    assert b"selftest: done failed=0" in console
    lines = [line for line in console.splitlines() if line.startswith(b"killed:")]
    assert len(lines) >= HOSTILE_CHILDREN
    assert all(KILLED.fullmatch(line) for line in lines)
    status, console = tern.boot(2, "selftest=quick")
    assert status == GOOD, console[-400:]


def test_books_balance_and_phases_add_up(tern: Tern) -> None:
    said = tern.run(2)
    names = [book.name for book in said.balances]
    assert names == ["thread_0", "thread_1", "queue_0", "queue_1", "cpu_0", "cpu_1"]
    assert all(book.left == book.right > 0 for book in said.balances if not book.name.startswith("queue"))
    assert all(book.left == book.right for book in said.balances)
    for name in ("syscalls", "switches", "busy_cycles", "lock_queue_takes"):
        assert sum(counted(said, name, phase) for phase in PHASES) == counted(said, name)


def test_a_panic_has_its_line_and_its_exit_status(tern: Tern) -> None:
    status, console = tern.boot(2, "fault=panic:1")
    assert status == PANIC
    assert re.search(rb"^panic: cpu=1 why=fault$", console, re.MULTILINE)


@pytest.mark.parametrize("cpus", [1, 4])
def test_an_unknown_word_is_refused(tern: Tern, cpus: int) -> None:
    """Before the other processors are up: to stop one that still is the firmware's would reset the machine,
    which looks like a shutdown that was asked for."""
    status, console = tern.boot(cpus, "sched=best")
    assert status == PANIC
    assert b"panic: cpu=0 why=option word=sched=best known=global,rr,wfq" in console


@pytest.mark.parametrize("words", ["selftest=nosuch", "only=nosuch"])
def test_checks_that_do_not_exist_have_not_passed(tern: Tern, words: str) -> None:
    status, console = tern.boot(1, words)
    assert status == FAILED
    assert b"selftest: FAILED: no check has that name" in console
    assert b"selftest: done failed=1" in console
