"""The table of what the instruction clock needs for a guest of each architecture.

Takes an architecture; gives its `ClockGuest`: QEMU's arguments for an exact run, and the probe guest of the
trial with the figures that it must print.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from benchgate.base.system.arch import AARCH64, RISCV64, X86_64, Architecture


@dataclass(frozen=True, slots=True)
class Range:
    low: int
    high: int
    what: str
    needs_second: bool = False
    """Whether the figure is measured only with a second CPU."""


_SLEEP = Range(9_990_000, 10_050_000, "the CPU's clock over a sleep of 10,000,000 ns")
_TOGETHER = "the CPU's clock while another CPU started and executed 2,000,000 instructions"
_SECOND = Range(11_990_000, 12_100_000, _TOGETHER, needs_second=True)


def _figures(loop: str, name: str, low: int, high: int, what: str) -> Mapping[str, Range]:
    """What a probe prints: of its loop, of another timer of its machine, and what all have."""
    in_loop = Range(2_000_000, 2_000_200, f"{loop} during 2,000,000 instructions")
    timer = Range(low, high, f"{what} during 12,000,000 instructions")
    return MappingProxyType({"loop": in_loop, name: timer, "sleep": _SLEEP, "ap": _SECOND})


@dataclass(frozen=True, slots=True)
class Probe:
    """The guest of the trial; it ends QEMU with status 33. `marked`: the instructions between its marks."""

    source: str
    flags: tuple[str, ...]
    machine: str
    extra: tuple[str, ...]
    marked: int
    figures: Mapping[str, Range]
    """The figures in the order in which the probe prints them."""
    hooks: tuple[str, ...]
    """The hooks of the clock that QEMU must use, by their names in the log."""

    def read(self, console: bytes) -> dict[str, int] | None:
        words = " ".join(rf"{name}=([0-9]{{1,10}})" for name in self.figures)
        match = re.search(rf"probe {words}\r?\n".encode(), console)
        return dict(zip(self.figures, map(int, match.groups()), strict=True)) if match else None


@dataclass(frozen=True, slots=True)
class ClockGuest:
    arguments: tuple[str, ...]
    machine_options: tuple[tuple[str, str], ...]
    """Pairs of a pattern for machine types and an option that they get unless the user sets it."""
    linux_words: tuple[str, ...]
    """The kernel parameters that a Linux guest needs."""
    to_file: tuple[str, ...]
    """QEMU's arguments for a guest that writes to the file `{}` (kallsyms.c)."""
    probe: Probe


_LINUX = (
    "cryptomgr.notests",  # otherwise the self-tests share a CPU with the workload
    "nokaslr",  # symbols stay at their link addresses
)
_LINUX_X86 = (
    "lpj=4000000",  # skips the calibration of the delay loop on each CPU
    "no_timer_check",  # the check compares that delay loop with a timer, which may follow host time
    "tsc=reliable",  # all CPUs share one clock, so no watchdog needs to compare it
    "clocksource=tsc",
    "hpet=disable",  # emulating the RTC with the HPET re-arms a timer 41,000 times at boot
)

_SEMIHOSTING = (
    *("-chardev", "file,id=symbols,path={}"),
    *("-semihosting-config", "enable=on,userspace=on,chardev=symbols"),
)

_MAIN_HOOKS = ("main_clock", "main_polls", "vcpu_clock", "notes")
_LINK = ("-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none", "-Wl,-e,start")

_GUESTS: Mapping[str, ClockGuest] = {
    X86_64.name: ClockGuest(
        ("-global", "apic.vapic=off"),
        ((r"(pc|q35)\b", "hpet=off"),),
        (*_LINUX, *_LINUX_X86),
        ("-debugcon", "file:{}"),
        Probe(
            "probe.S",
            ("-m32", *_LINK, "-Wl,-Ttext=0x100000"),
            "q35",
            (),
            2_000_002,
            _figures("the TSC", "pit", 14_290, 14_350, "the PIT"),
            (*_MAIN_HOOKS, "tsc_traps"),
        ),
    ),
    RISCV64.name: ClockGuest(
        (),
        (),
        _LINUX,
        _SEMIHOSTING,
        Probe(
            "probe_riscv.S",
            (*_LINK, "-Wl,-Ttext=0x80000000"),
            "virt",
            ("-bios", "none"),
            2_000_003,
            _figures("mcycle", "timer", 119_900, 120_200, "the machine timer"),
            (*_MAIN_HOOKS, "tsc_traps"),
        ),
    ),
    AARCH64.name: ClockGuest(
        (),
        (),
        _LINUX,
        _SEMIHOSTING,
        Probe(
            "probe_arm.S",
            (*_LINK, "-Wl,-Ttext=0x40080000"),
            "virt",
            ("-semihosting-config", "enable=on"),
            2_000_002,
            _figures("the virtual counter", "timer", 11_990_000, 12_020_000, "the physical counter"),
            _MAIN_HOOKS,
        ),
    ),
}


def clock_guest(guest: Architecture) -> ClockGuest:
    return _GUESTS[guest.name]


def linux_words(guest: Architecture) -> tuple[str, ...]:
    return _GUESTS[guest.name].linux_words


def exact_arguments(guest: Architecture, machine: str) -> tuple[str, ...]:
    """More QEMU arguments, with which a guest on this machine type repeats exactly and boots faster."""
    row = _GUESTS[guest.name]
    added = [
        option
        for pattern, option in row.machine_options
        if re.match(pattern, machine) and f"{option.partition('=')[0]}=" not in machine
    ]
    return (*row.arguments, *(word for option in added for word in ("-machine", option)))
