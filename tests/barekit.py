"""Boots the guest without a kernel of tests/data/bare on the instruction clock, on RISC-V and AArch64.

Takes an architecture, a case and a number of CPUs; gives a `Bare`. A test is skipped if QEMU or the compiler
for that architecture cannot be had.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from benchgate.base.cells import Accel
from benchgate.base.errors import FetchError
from benchgate.base.system.arch import AARCH64, RISCV64, Architecture
from benchgate.base.system.qemu import ON_STDIO, Qemu, command
from benchgate.build.fetch import cross, inputs
from benchgate.build.toolchain import Compiler
from benchgate.insn.arguments import ClockRun, arguments
from benchgate.insn.guests import clock_guest
from benchgate.insn.log import ClockLog, MarkKind
from benchgate.insn.log_reader import read_log
from benchgate.insn.plugin import prepare
from tests.machines import PATIENCE_S

SOURCE = Path(__file__).parent / "data" / "bare"
GUESTS = (RISCV64, AARCH64)
GOOD = 33
_FLAGS = (
    *(
        "-std=gnu11",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-ffreestanding",
        "-fno-pic",
        "-fno-stack-protector",
    ),
    *("-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none", "-Wl,-z,noexecstack"),
    *("-Wl,--no-warn-rwx-segments", f"-Wl,-T,{SOURCE / 'bare.ld'}"),
)


@dataclass(frozen=True)
class _Port:
    name: str
    flags: tuple[str, ...]
    base: int
    """The address it is linked at. It finds its order (struct order in bare.h) 15 MiB above the start of the
    RAM."""
    order: int


_PORTS = {
    RISCV64.name: _Port("riscv", ("-march=rv64gc", "-mabi=lp64d", "-mcmodel=medany"), 0x80000000, 0x80F00000),
    AARCH64.name: _Port(
        "arm", ("-mgeneral-regs-only", "-mstrict-align", "-mno-outline-atomics"), 0x40080000, 0x40F00000
    ),
}


@dataclass(frozen=True)
class Bare:
    status: int
    console: str
    errors: str
    log: ClockLog

    @property
    def took(self) -> int:
        match = re.search(r"^bare \w+ took=(\d+)$", self.console, re.MULTILINE)
        assert match, self.console + self.errors
        return int(match[1])

    @property
    def repeatable(self) -> tuple[int, str, object]:
        return self.status, self.console, self.log.repeatable

    @property
    def spans(self) -> dict[int, int]:
        """The time between the marks of each vCPU."""
        ends = {mark.vcpu: mark.time for mark in self.log.marks if mark.kind == MarkKind.WORK_END}
        begins = {mark.vcpu: mark.time for mark in self.log.marks if mark.kind == MarkKind.WORK_BEGIN}
        return {vcpu: end - begins[vcpu] for vcpu, end in ends.items()}

    def each(self, key: str) -> list[int]:
        """The value of each CPU, in order."""
        return [int(value) for value in re.findall(rf"^bare cpu=.* {key}=(\d+)", self.console, re.MULTILINE)]


@dataclass(frozen=True)
class Case:
    """`expected`: its duration in ns, from the number of CPUs, if arithmetic gives it."""

    name: str
    number: int
    expected: Callable[[int], float] | None = None


def _sleeps(cpus: int) -> float:
    return 20e6 if cpus == 1 else 80e6


# In the order of `cases` in cases.c.
CASES = (
    Case("perfect", 0, lambda cpus: 80e6 / cpus),
    Case("triple", 1, lambda cpus: 3 * 80e6 / (cpus + 2)),
    Case("barrier", 2, lambda cpus: 20 * 3 * 4e6 / (cpus + 2)),
    Case("lock", 3, lambda cpus: cpus * 50 * 12_000),
    Case("swap", 4, lambda cpus: cpus * 50 * 12_000),
    Case("sleeps", 5, _sleeps),
    Case("ticks", 6, lambda _: 10e6),
    Case("relay", 7),
    Case("spins", 8, lambda _: 10e6),
    Case("clocks", 9, lambda _: 20e6),
    Case("shootdown", 10),
    Case("alternate", 11),
    Case("devices", 12),
    Case("programs", 13),
)
NAMED = {case.name: case for case in CASES}


def qemu_for(guest: Architecture) -> Qemu:
    try:
        return inputs.qemu(guest=guest)
    except FetchError as error:
        pytest.skip(f"no QEMU for {guest}: {error}")


def compiler_for(guest: Architecture) -> Compiler:
    try:
        return cross.compiler(guest)
    except FetchError as error:
        pytest.skip(f"no compiler for {guest}: {error}")


@cache
def kernel(guest: Architecture, folder: Path) -> Path:
    port, made = _PORTS[guest.name], folder / f"bare-{guest}.elf"
    sources = (SOURCE / text for text in (f"{port.name}.S", f"{port.name}.c", "main.c", "cases.c"))
    argv = [*compiler_for(guest).argv, *_FLAGS, *port.flags, f"-Wl,--defsym=BASE={port.base:#x}"]
    subprocess.run([*argv, *map(str, sources), "-o", str(made)], check=True, timeout=PATIENCE_S)
    return made


def boot(
    guest: Architecture,
    image: Path,
    folder: Path,
    case: Case,
    cpus: int,
    *,
    seed: int = 7,
    explore: Path | None = None,
) -> Bare:
    qemu, port, probe = qemu_for(guest), _PORTS[guest.name], clock_guest(guest).probe
    log = folder / "clock.log"
    run = ClockRun(
        log,
        seed=seed,
        cpus=cpus,
        guest=guest,
        machine=probe.machine,
        marked=False,
        lengths={64: 2},
        explore=explore,
    )
    clock = arguments(prepare(qemu), run)
    order = (
        word
        for at, value in ((port.order, case.number), (port.order + 4, cpus))
        for word in ("-device", f"loader,addr={at:#x},data={value},data-len=4")
    )
    argv = command(
        qemu,
        machine=probe.machine,
        console=ON_STDIO,
        accel=Accel.TCG,
        cpu="max",
        memory="64M",
        smp=str(cpus),
        kernel=image,
        extra=(*probe.extra, *order, *clock.argv_extra),
    )
    done = subprocess.run(
        argv,
        env={**os.environ, **qemu.environment, **clock.environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return Bare(done.returncode, done.stdout, done.stderr, read_log(log))
