"""tern for real: hostile programs are killed, books balance, and each defect on demand is seen by something.

Each test boots the kernel once or twice with plain TCG and reads its console and exit status.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchgate import build, catalog, fetch, oracle, wire
from benchgate.data import data_root
from benchgate.errors import VerifyError
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

    def boot(self, cpus: int, append: str, deadline_s: float = DEADLINE_S) -> tuple[int | None, bytes]:
        """Exit status and console; None where it did not end in time."""
        argv = [str(self.qemu.binary)]
        for folder in self.qemu.data:
            argv += ["-L", str(folder)]
        argv += ["-machine", "q35", "-cpu", "max", "-accel", "tcg,thread=multi", "-m", "128M"]
        argv += ["-smp", str(cpus), "-display", "none", "-nodefaults", "-no-user-config", "-no-reboot"]
        argv += ["-serial", "stdio", "-device", "isa-debug-exit,iobase=0xf4,iosize=4"]
        argv += ["-kernel", str(self.image), "-append", append]
        try:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=dict(self.qemu.environment),
                timeout=deadline_s,
                check=False,
            )
        except subprocess.TimeoutExpired as stopped:
            return None, stopped.stdout or b""
        return done.returncode, done.stdout

    def run(self, cpus: int, words: str = "") -> wire.Transcript:
        """One small measured run of checksum, whole on the wire."""
        params, _ = catalog.fill(catalog.load_workload("checksum"), SMALL)
        asked = " ".join(f"bench.{key}={value}" for key, value in params)
        status, console = self.boot(
            cpus,
            f"bench.workload=checksum bench.mode=thread bench.workers={cpus} bench.cpus={cpus} "
            f"bench.nonce={NONCE} bench.measure=1 {asked} {words}",
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


def test_an_unknown_word_is_refused(tern: Tern) -> None:
    status, console = tern.boot(1, "sched=best")
    assert status == PANIC
    assert b"panic: cpu=0 why=option word=sched=best known=global,rr,wfq" in console


def test_stale_translations_are_seen(tern: Tern) -> None:
    words = "selftest=stress only=stress-shootdown"
    assert tern.boot(2, words)[0] == GOOD
    status, console = tern.boot(2, f"{words} fault=skip-shootdown")
    assert status == FAILED
    assert b"selftest: stress-shootdown FAILED" in console


def test_unfair_weights_are_seen(tern: Tern) -> None:
    words = "sched=wfq selftest=stress only=stress-fair fault=unfair-weight"
    assert tern.boot(1, words)[0] == FAILED


def test_a_lost_wake_ends_at_the_deadline(tern: Tern) -> None:
    status, console = tern.boot(2, "only=park fault=lost-wake:20", deadline_s=8.0)
    assert status is None
    assert b"selftest: park" not in console


def test_a_wrong_checksum_is_caught_by_the_oracle(tern: Tern) -> None:
    workload = catalog.load_workload("checksum")
    check = oracle.load(workload.oracle)
    params, _ = catalog.fill(workload, SMALL)
    good, bad = tern.run(1), tern.run(1, "fault=wrong-checksum:0")
    check(dict(params), good.reports, good.result)
    with pytest.raises(VerifyError, match="wrong answer: worker 0"):
        check(dict(params), bad.reports, bad.result)


def test_dropped_interrupts_are_counted(tern: Tern) -> None:
    good, bad = tern.run(2), tern.run(2, "fault=drop-ipi")
    assert counted(good, "resched_taken") > 0
    assert counted(bad, "resched_sent") > 0
    assert counted(bad, "resched_taken") == 0


def test_a_lock_held_too_long_is_seen(tern: Tern) -> None:
    def mean_hold(said: wire.Transcript) -> float:
        return counted(said, "lock_queue_hold_cycles") / counted(said, "lock_queue_takes")

    good, bad = tern.run(2), tern.run(2, "fault=lock-hold:2000")
    assert mean_hold(bad) > 5 * mean_hold(good)
