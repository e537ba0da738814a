"""Typing at a real guest on the instruction clock: guest time stands still meanwhile, so that a boot repeats
whatever the host does.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest

from benchgate.base.cells import Accel, Lane
from benchgate.base.runs import BootSpec, Deadlines
from benchgate.base.system.qemu import CONTROLLED, command, guest_name
from benchgate.build.fetch import inputs
from benchgate.insn.arguments import ClockRun, arguments
from benchgate.insn.log_reader import read_log
from benchgate.insn.plugin import prepare
from benchgate.run.clock_console import ClockConsole
from benchgate.run.guest import RunningGuest, boot_interactive
from tests.kernelkit import talker
from tests.machines import NONCE, PATIENCE_S
from tests.ternkit import LIGHT
from tools.clock_lab import burning

MS = 1_000_000
QUIET_NS, BYTE_NS = 1_000_000, 100_000
"""What a system has that states nothing else (design of `input`)."""

Pause = Callable[[], None]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talker(tmp_path_factory.mktemp("talker"))


def spec(kernel: Path, folder: Path, cpus: int, words: str = "") -> BootSpec:
    folder.mkdir()
    qemu = inputs.qemu()
    run = ClockRun(folder / "clock.log", seed=1, cpus=cpus, machine=LIGHT, marked=False, talks=True)
    clock = arguments(prepare(qemu), run)
    argv = command(
        qemu,
        machine=LIGHT,
        accel=Accel.TCG,
        cpu="max",
        memory="64M",
        smp=str(cpus),
        console=CONTROLLED,
        kernel=kernel,
        append=words,
        extra=clock.argv_extra,
        name=guest_name(NONCE),
    )
    environment = {**qemu.environment, **clock.environment}
    deadlines = Deadlines(boot_s=20, run_s=20)
    return BootSpec(argv, environment, Lane.INSN, cpus, (), deadlines, talks=True)


@contextlib.contextmanager
def booted(made: BootSpec, folder: Path) -> Iterator[tuple[RunningGuest, ClockConsole]]:
    with boot_interactive(made, mark=NONCE, folder=folder) as guest:
        assert isinstance(guest.console, ClockConsole)
        yield guest, guest.console


def conversation(made: BootSpec, folder: Path, pause: Pause = lambda: None) -> int | None:
    with booted(made, folder) as (guest, console):
        console.expect_exact("\n$ ")
        for line in ("cpus", f"primes {made.cpus} 20000", "primes 1 5000"):
            pause()
            console.send(line[:3])
            pause()
            console.sendline(line[3:])
            console.expect(r"\n\$ $")
        assert re.search(rb"hi=5000 workers=1 count=669 ", console.before)
        pause()
        console.sendline("halt")
        console.expect(pexpect.EOF)
        assert guest.child.wait(PATIENCE_S)
        return guest.exit_status


def digests(folder: Path) -> tuple[str, ...]:
    """The digests of the console, and of the clock's log without the lines that depend on the host."""
    log = (folder / "clock.log").read_bytes().splitlines()
    kept = [line for line in log if not line.startswith((b"host ", b"beat "))]
    serial = (folder / "serial.log").read_bytes()
    return tuple(hashlib.sha256(content).hexdigest() for content in (serial, b"\n".join(kept)))


@pytest.mark.parametrize(
    ("cpus", "words"),
    [
        pytest.param(1, "", marks=pytest.mark.long),
        (2, "input=poll"),
        pytest.param(4, "", marks=pytest.mark.long),
    ],
)
def test_a_conversation_repeats_bit_for_bit(kernel: Path, tmp_path: Path, cpus: int, words: str) -> None:
    def slowly() -> None:
        time.sleep(random.random() / 5)

    seen = set()
    for number in range(5):
        folder = tmp_path / str(number)
        busy = burning(len(os.sched_getaffinity(0))) if number >= 3 else contextlib.nullcontext()
        with busy:
            made = spec(kernel, folder, cpus, words)
            assert conversation(made, folder, slowly if number else lambda: None) == 33
        seen.add(digests(folder))
    assert len(seen) == 1
    assert read_log(tmp_path / "0" / "clock.log").closed


def test_input_arrives_at_the_stated_guest_times(kernel: Path, tmp_path: Path) -> None:
    """Five bytes after a quiet moment: the echo's line ends four bytes' time later."""
    folder = tmp_path / "run"
    with booted(spec(kernel, folder, 1), folder) as (_, console):
        console.expect_exact("\n$ ")
        typed_at = console.time_ns
        console.sendline("cpus")
        console.expect_exact("$ ")
    lines = read_log(folder / "clock.log").lines
    prompt_after, echoed = lines[1], lines[2]
    assert prompt_after.time + QUIET_NS < typed_at < prompt_after.time + QUIET_NS + 10_000
    assert echoed.time == pytest.approx(typed_at + 4 * BYTE_NS, abs=10_000)


def test_guest_time_stands_still_between_reads(kernel: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with booted(spec(kernel, folder, 1, "input=poll"), folder) as (guest, console):
        console.expect_exact("\n$ ")
        before = console.time_ns, (folder / "clock.log").stat().st_size, cpu_time(guest.child.pid)
        for _ in range(5):
            guest.qmp.execute("query-status")  # QEMU itself is alive
        assert (console.time_ns, (folder / "clock.log").stat().st_size) == before[:2]


def cpu_time(pid: int) -> int:
    return sum(int(word) for word in Path(f"/proc/{pid}/stat").read_text().split()[13:15])


def test_a_timeout_is_guest_time_and_the_guest_goes_on(kernel: Path, tmp_path: Path) -> None:
    """A polling guest is never halted."""
    folder = tmp_path / "run"
    with booted(spec(kernel, folder, 1, "input=poll"), folder) as (_, console):
        console.expect_exact("\n$ ")
        before = console.time_ns
        with pytest.raises(pexpect.TIMEOUT, match="the guest's time is"):
            console.expect_exact("never", timeout=0.02)
        assert before + 20 * MS <= console.time_ns < before + 20 * MS + 10_000
        console.sendline("cpus")
        console.expect_exact("cpus: 1 up")


def test_a_guest_that_waits_for_input_that_never_comes_is_named_at_once(kernel: Path, tmp_path: Path) -> None:
    """An hour of guest time, in which nothing runs."""
    folder = tmp_path / "run"
    with booted(spec(kernel, folder, 2), folder) as (_, console):
        console.expect_exact("\n$ ")
        with pytest.raises(pexpect.TIMEOUT, match="may wait for input that never comes"):
            console.expect_exact("never", timeout=3600)
        console.sendline("cpus")
        console.expect_exact("cpus: 2 up")


def test_a_guest_that_never_stops_printing_is_read_meanwhile(kernel: Path, tmp_path: Path) -> None:
    folder, most = tmp_path / "run", 5000
    with booted(spec(kernel, folder, 2, "lie=dots"), folder) as (_, console):
        got = console.read_nonblocking(1 << 16, PATIENCE_S)
        assert 4096 <= len(got) < most
        assert len(console.read_nonblocking(1 << 16, PATIENCE_S)) < most


def test_a_long_line_is_not_lost(kernel: Path, tmp_path: Path) -> None:
    """More than the FIFO of the serial port and than one message hold; the guest echoes all."""
    folder, line = tmp_path / "run", "x" * 5000
    with booted(spec(kernel, folder, 1), folder) as (_, console):
        console.expect_exact("\n$ ")
        console.sendline(line)
        console.expect_exact(line)
        console.expect_exact("$ ")
