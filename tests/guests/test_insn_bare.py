"""The instruction clock under guests without a kernel, which do what Linux seldom does. Their durations are
known by arithmetic.

These guests set no marks: they may measure at any time, so every TSC tick counts.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.system.qemu import Disk, Interface, disk_options
from benchgate.insn.arguments import FINE, QUANTUM
from benchgate.insn.log import AccessOrder, ClockLog
from benchgate.insn.log_reader import read_log
from benchgate.insn.symbols import read_symbols
from tests.kernelkit import stress
from tests.memory_reference import Level, Place, Range, Shape
from tools.clock_lab import BOOT_S, Debugger, burning, errands
from tools.clock_lab import light_lab as lab

SOCKETS = Shape(
    l1d=Level(64, 8, 1),
    l1i=Level(64, 8, 1),
    l2=Level(512, 8, 5),
    l3=Level(4096, 16, 17),
    cpus=(Place(0, 0, 0), Place(1, 1, 1)),
    ranges=(Range(0, 512 << 20, 0),),
    socket=127,
)
"""Two CPUs, each in a socket of its own."""
INCREMENTS, AWAY = 600, 500
"""The increments of one CPU, and the instructions for which the other one is away
(tests/data/stress/lines.c)."""
TOGETHER, ALONE = 3 * SOCKETS.socket, 5
"""What an increment takes: three services of the line; without the other CPU its five instructions."""


@dataclass(frozen=True)
class Result:
    status: int
    console: str
    log: ClockLog

    @property
    def took(self) -> int:
        match = re.search(r"^stress \w+ took=(\d+)$", self.console, re.MULTILINE)
        assert match, self.console
        return int(match[1])

    def each(self, key: str) -> list[int]:
        """The value of each CPU, in order."""
        return [int(value) for value in re.findall(rf"^stress \w+ cpu=.* {key}=(\d+)", self.console, re.M)]


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stress(tmp_path_factory.mktemp("stress"))


def boot(
    guest: Path,
    folder: Path,
    case: str,
    cpus: int,
    drive: tuple[str, ...] = (),
    *,
    disks: bool = True,
    explore: Path | None = None,
    shape: Path | None = None,
    order: AccessOrder = AccessOrder.UNSAID,
    capacities: str = "",
    steps: int = 0,
    debugger: Debugger | None = None,
) -> Result:
    """`disks`: false for drives of which benchgate does not know. `explore`: the file of an exploration.
    `shape`: that of a machine with memory."""
    log, console = folder / "clock.log", folder / "console"
    told: dict[str, Any] = {"explore": explore, "shape": shape, "order": order, "capacities": capacities}
    setup = lab(marked=False, disks=disks and bool(drive), **told)
    argv, environment = setup.line(cpus, log, seed=7)
    argv += drive
    words = f"case={case} cpus={cpus} steps={steps}"
    argv += ["-serial", f"file:{console}", "-kernel", str(guest), "-append", words]
    if debugger is not None:
        argv += ["-S", "-gdb", f"unix:{folder}/gdb,server=on,wait=off"]
    with subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            if debugger is not None:
                debugger(folder / "gdb")
            process.wait(BOOT_S)
        finally:
            process.kill()
    return Result(process.returncode, console.read_text(), read_log(log))


@pytest.mark.parametrize(
    "cpus", [pytest.param(1, marks=pytest.mark.long), 2, pytest.param(4, marks=pytest.mark.long)]
)
def test_a_disk_is_done_at_a_time_that_does_not_depend_on_the_host(
    guest: Path, tmp_path: Path, cpus: int
) -> None:
    """The guest counts how often it must ask the disk, and how much the other CPUs do meanwhile."""
    image = tmp_path / "image"
    image.write_bytes(bytes(range(256)) * 8192)
    ide = disk_options([Disk("image", interface=Interface.VIRTIO)], [image])[:2]
    drive = (*ide, "-device", "piix3-ide,id=ide", "-device", "ide-hd,drive=disk0,bus=ide.0")
    quiet = [boot(guest, tmp_path, "disk", cpus, drive) for _ in range(2)]
    with burning(2):
        loaded = [boot(guest, tmp_path, "disk", cpus, drive) for _ in range(2)]
    assert quiet[0].status == 33
    assert len({result.console for result in (*quiet, *loaded)}) == 1
    assert [result.log.repeatable for result in (*quiet, *loaded)] == [quiet[0].log.repeatable] * 4
    assert image.read_bytes() == bytes(range(256)) * 8192  # the guest's own writes went to a snapshot


def test_a_written_disk_does_not_hold_up_the_end(guest: Path, tmp_path: Path) -> None:
    """At the end QEMU waits for the host to flush what the guest wrote, and no vCPU may run meanwhile: the
    next one that needs QEMU's big lock would wait for ever. The drive may be one in `qemu.arguments`."""
    image, before = tmp_path / "image", bytes(range(256)) * 8192
    image.write_bytes(before)
    drive = ("-drive", f"if=none,id=disk0,format=raw,file={image}")
    devices = ("-device", "piix3-ide,id=ide", "-device", "ide-hd,drive=disk0,bus=ide.0")
    result = boot(guest, tmp_path, "disk", 2, (*drive, *devices), disks=False)
    assert result.status == 33
    assert result.log.closed
    assert image.read_bytes() != before


def test_one_shot_timers_on_every_cpu_come_when_they_are_due(guest: Path, tmp_path: Path) -> None:
    result = boot(guest, tmp_path, "oneshot", 4)
    assert result.status == 33
    assert result.each("ticks") == [200] * 4
    assert max(result.each("worst")) < 1_000
    assert result.took == pytest.approx(200 * 20_000, rel=0.01)


def test_a_short_timed_section_takes_its_full_time(guest: Path, tmp_path: Path) -> None:
    """1,000 times 100 instructions between two reads of the TSC. The reads take at most 12 more."""
    (spent,) = boot(guest, tmp_path, "micro", 1).each("sum")
    assert 1000 * 100 <= spent <= 1000 * 112


def test_the_same_section_takes_as_much_longer_on_a_small_cpu(guest: Path, tmp_path: Path) -> None:
    """As above, 1024 / 462 ns an instruction. Each of the 1,000 times is a whole number of ns."""
    result = boot(guest, tmp_path, "micro", 1, capacities="462")
    (spent,) = result.each("sum")
    assert 1000 * 100 * 1024 / 462 - 1000 <= spent <= 1000 * 112 * 1024 / 462 + 1000
    (all_of_it,) = result.log.totals
    counted = all_of_it.executed + all_of_it.paused
    assert all_of_it.stalled == counted * 1024 // 462 - counted


def test_a_wait_for_the_clock_ends_on_time_and_is_cheap(guest: Path, tmp_path: Path) -> None:
    result = boot(guest, tmp_path, "tscspin", 4)
    assert max(result.each("worst")) < 500_000 // 1000 + QUANTUM
    assert result.took == pytest.approx(20 * 500_000, rel=0.01)
    assert result.log.checks["tsc_traps"] < 1_000_000  # 6,700,000 without skips to the end of a spin


def test_a_lock_that_spins_without_pause_is_held_by_one_at_a_time(guest: Path, tmp_path: Path) -> None:
    result = boot(guest, tmp_path, "rudelock", 4)
    assert result.each("x") == [50] * 4
    assert result.took == pytest.approx(4 * 50 * 12_000, rel=0.01)


@pytest.mark.parametrize("case", ["shootdown", "alternate"])
def test_short_work_and_a_wait_in_turn_take_as_long_as_the_work(
    guest: Path, tmp_path: Path, case: str
) -> None:
    """1,000 pieces of 1,000 instructions. Interrupts and their handlers take 60 ns of 2,000."""
    assert boot(guest, tmp_path, case, 2).took == pytest.approx(1_030_000, rel=0.05)


def test_a_loop_of_system_calls_sees_a_store_within_one_call(guest: Path, tmp_path: Path) -> None:
    """1,000 pieces of 1,000 instructions. The CPU that waits looks once in 210 instructions, and is at most
    the fine quantum and a block ahead."""
    result = boot(guest, tmp_path, "yielding", 2)
    assert 1_000_000 < result.took < 1000 * (1_000 + 210 + FINE + 110)


def test_the_log_bounds_what_hand_overs_cost(guest: Path, tmp_path: Path) -> None:
    """The pieces take 1,000,000 instructions, and all else is delay at 1,000 hand-overs. The start of the
    CPUs has some more."""
    result = boot(guest, tmp_path, "alternate", 2)
    print(result.took, result.log.checks)
    assert 1_000 <= result.log.checks["handovers"] < 2_000
    assert result.took - 1_000_000 < result.log.checks["late"] < 2_000 * 2 * FINE


def test_interrupts_between_halted_cpus_arrive_without_delay(guest: Path, tmp_path: Path) -> None:
    result = boot(guest, tmp_path, "relay", 8)
    assert min(result.each("ipis")) == 200
    assert 8 * 10 < max(result.each("worst")) < 8 * 100


@pytest.mark.parametrize(
    ("case", "least", "most"),
    [
        ("compute", 15_000, 20_000),
        ("poke", QUANTUM, QUANTUM),
        ("measure", QUANTUM, QUANTUM),
    ],
)
def test_the_quantum_grows_while_cpus_do_not_interact(
    guest: Path, tmp_path: Path, case: str, least: int, most: int
) -> None:
    """It grows to 1/1000 of the 20 ms without interaction. If a CPU interrupts another or reads the time, the
    quantum stays short."""
    result = boot(guest, tmp_path, case, 2)
    assert result.took == pytest.approx(20_000_000, rel=0.05)
    assert result.each("ipis") == [0, 20 if case == "poke" else 0]
    assert least <= result.log.checks["longest"] <= most


def test_background_jobs_of_qemu_do_not_influence_the_guest(guest: Path, tmp_path: Path) -> None:
    """QEMU wakes vCPUs for its own jobs, at times of the host. They must not run out of turn."""
    plain = boot(guest, tmp_path, "oneshot", 4)
    disturbed = boot(guest, tmp_path, "oneshot", 4, errands(tmp_path, every_us=20), disks=False)
    assert (disturbed.status, disturbed.console) == (plain.status, plain.console)
    assert disturbed.log.repeatable == plain.log.repeatable
    assert disturbed.log.host["errands"] > 100


def increments(guest: Path, folder: Path, case: str, order: AccessOrder) -> Result:
    shape = folder / "shape"
    shape.write_text(SOCKETS.text(order), encoding="ascii")
    return boot(guest, folder, case, 2, shape=shape, order=order, steps=INCREMENTS)


@pytest.mark.parametrize(
    "order", [AccessOrder.WATCH, pytest.param(AccessOrder.STRICT, marks=pytest.mark.long)]
)
def test_increments_of_two_sockets_take_what_arithmetic_says(
    guest: Path, tmp_path: Path, order: AccessOrder
) -> None:
    done = increments(guest, tmp_path, "increments", order)
    assert done.each("sum")[0] == pytest.approx(INCREMENTS * TOGETHER, rel=0.001)
    assert order is AccessOrder.WATCH or done.log.orders["window"].count == 0


@pytest.mark.long
def test_while_the_other_cpu_is_away_increments_cost_their_instructions_only(
    guest: Path, tmp_path: Path
) -> None:
    """This is why loops in which a timer's interrupt falls take less (tools/memory_lab.py sharing)."""
    alone = AWAY // ALONE
    done = increments(guest, tmp_path, "interrupted", AccessOrder.STRICT)
    assert done.each("sum")[0] == pytest.approx((INCREMENTS - alone) * TOGETHER + AWAY, rel=0.01)
    assert done.log.orders["window"].count == 0


def repeats(guest: Path, tmp_path: Path, case: str, cpus: int) -> bool:
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    first, second = (boot(guest, folder, case, cpus) for folder in folders)
    assert first.status == 33, first.console
    return (first.console, first.log.repeatable) == (second.console, second.log.repeatable)


@pytest.mark.parametrize("case", ["handover", "splitlock", "nmi"])
def test_a_run_of_bare_cpus_repeats_bit_for_bit(guest: Path, tmp_path: Path, case: str) -> None:
    assert repeats(guest, tmp_path, case, 4)


def test_a_stop_in_a_debugger_does_not_change_the_time(guest: Path, tmp_path: Path) -> None:
    """A second of the host's time, at the first interrupt that a CPU takes from another one."""
    symbols = read_symbols(guest)
    debugger = Debugger(dict(zip(symbols.names, symbols.addresses, strict=True))["on_ipi"], pause_s=1)
    first = boot(guest, tmp_path, "poke", 3)
    stopped = boot(guest, tmp_path, "poke", 3, debugger=debugger)
    assert debugger.stops == 1
    assert stopped.each("ipis") == first.each("ipis") == [0, 0, 20]
    assert stopped.took == pytest.approx(first.took, rel=0.002)


@pytest.mark.soak
@pytest.mark.parametrize("cpus", [1, 8, 32])
@pytest.mark.parametrize(
    "case", ["alone", "clocks", "copy", "faults", "nothing", "oneshot", "registers", "selfmod", "tscspin"]
)
def test_every_bare_run_repeats_bit_for_bit(guest: Path, tmp_path: Path, case: str, cpus: int) -> None:
    assert repeats(guest, tmp_path, case, cpus)


def test_a_triple_fault_ends_the_run_without_a_result(guest: Path, tmp_path: Path) -> None:
    result = boot(guest, tmp_path, "triple", 2)
    assert result.status == 0
    assert "took=" not in result.console
    assert not result.log.stuck
