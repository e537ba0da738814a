"""What a QEMU command line and its environment need for the instruction clock. Pure.

Takes a compiled plugin and the run's choices; gives a `Launch`. Fails with UsageError where a path cannot be
written in QEMU's or the loader's syntax.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from benchgate.errors import UsageError
from benchgate.insn.log import ClockMode, Level

QUANTUM = 5_000
"""In the timed window nobody is further ahead of the slowest vCPU than this many ns, or than it has grown to
(LOCKSTEP_CALM in c/lockstep.h) ..."""
FINE = 100
"""... or, while a vCPU spins, this many. What is handed over through memory is seen that late or early."""
PARALLEL_QUANTUM = 10_000
"""The first of them in parallel mode, which is not exact anyway and there to be fast."""
COUNT_QUANTUM = 20_000
COUNT_FINE = 2_000
"""The same at level count, where nothing is exact and keeping vCPUs closer only costs."""
RUSH = 25
"""Outside the marked window both are this many times as long, to get there sooner."""
LINUX_WORDS = (
    "cryptomgr.notests",  # else self-tests share a CPU with the workload
    "lpj=4000000",  # spares each CPU the calibration of its delay loop
    "no_timer_check",  # a delay by that loop, against a timer on the host's time where that is the guest's
    "tsc=reliable",  # the clock is one for all CPUs; no watchdog needs to compare it
    "clocksource=tsc",
    "hpet=disable",  # emulating the RTC by HPET makes 41,000 timer re-arms at boot
    "nokaslr",  # so that symbols are where they are linked
)
"""What a Linux guest's command line needs on this lane."""


@dataclass(frozen=True, slots=True)
class Launch:
    argv_extra: tuple[str, ...]
    environment: Mapping[str, str]
    """To be laid over the environment that QEMU gets anyway."""


def arguments(  # noqa: PLR0913 - one run has this many choices
    plugin: Path,
    *,
    level: Level | str,
    mode: ClockMode | str,
    log: Path,
    seed: int,
    quantum: int | None = None,
    fine: int | None = None,
    rush: int | None = None,
    marked: bool = True,
    attribution: Path | None = None,
    cpus: int = 1,
    machine: str = "",
    patience_s: int = 60,
) -> Launch:
    """`-accel tcg,thread=multi` is the caller's; no QMP command may be sent after `cont` on this lane.

    `marked`: the guest brackets its window with marks, so the boot may run in looser step. A system without
    marks may measure at any time, so it is kept in close step, and no loop is cut short.
    """
    level, mode = Level(level), ClockMode(mode)
    if level is Level.NONE:
        raise UsageError("this QEMU cannot carry the instruction clock: use --clock wall")
    if not 1 <= cpus <= 256:
        raise UsageError(f"the instruction clock carries 1 to 256 CPUs, not {cpus}")
    if not 0 <= seed < 2**64:
        raise UsageError(f"a seed of the instruction clock is a number from 0 to 2**64 - 1, not {seed}")
    usual = (COUNT_QUANTUM, COUNT_FINE)
    if level is Level.FULL:
        usual = (QUANTUM if mode == ClockMode.SERIAL else PARALLEL_QUANTUM, FINE)
    words: dict[str, object] = {
        "out": log,
        "seed": seed,
        "quantum": usual[0] if quantum is None else quantum,
        "fine": usual[1] if fine is None else fine,
        "rush": (RUSH if marked else 1) if rush is None else rush,
        "serial": int(mode is ClockMode.SERIAL),
        "patience": patience_s,
    }
    if attribution is not None:
        words["attribution"] = attribution
    options = ",".join(f"{name}={_comma(str(value))}" for name, value in words.items())
    argv = ["-plugin", f"{_comma(str(plugin))},{options}"]
    if level is Level.COUNT:
        return Launch(tuple(argv), MappingProxyType({}))
    argv += ["-rtc", "base=2024-01-01T00:00:00,clock=vm", "-seed", "1", "-global", "apic.vapic=off"]
    if re.match(r"(pc|q35)\b", machine) and "hpet=" not in machine:
        argv += ["-machine", "hpet=off"]
    return Launch(tuple(argv), MappingProxyType({"LD_PRELOAD": _preload(plugin)}))


def _comma(text: str) -> str:
    """QEMU's option syntax: a comma inside a value is doubled."""
    return text.replace(",", ",,")


def _preload(plugin: Path) -> str:
    if any(character in str(plugin) for character in " :\t\n"):
        raise UsageError(
            f"the dynamic loader cannot preload {plugin}: its path holds a space or a colon; "
            "set BENCHGATE_CACHE to a folder without them"
        )
    return str(plugin)
