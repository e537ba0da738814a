"""The QEMU arguments and environment variables that the instruction clock needs. Pure.

Takes a compiled plugin and the options of a run; gives `ClockArguments`. Fails with UsageError if an option
is out of range or if the dynamic loader cannot preload the plugin's path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from benchgate.base.arch import X86_64, Architecture
from benchgate.base.errors import UsageError
from benchgate.base.qemu import comma_safe
from benchgate.insn.guests import exact_arguments
from benchgate.insn.log import ClockMode, Level, Order
from benchgate.insn.records import NO_RECORDS, Records
from benchgate.insn.talk import TALK_DESCRIPTOR

QUANTUM = 5_000
"""How many ns a vCPU may be ahead of the slowest one in the timed window. The quantum can grow (LOCKSTEP_CALM
in c/lockstep.h)."""
FINE = 100
"""The same limit while a vCPU spins. A value that is handed over through memory is seen up to this much late
or early."""
PARALLEL_QUANTUM = 10_000
"""The quantum in parallel mode, which is not exact and is chosen for speed."""
COUNT_QUANTUM = 20_000
COUNT_FINE = 2_000
"""Both limits at level count, where nothing is exact and closer lockstep only costs time."""
RUSH = 25
"""Both limits are multiplied by this outside the marked window, to reach the window sooner."""
SKIP = 100_000
"""How many ns a loop that polls the TSC may skip at once outside the window. Each read is a trap, which costs
the host up to 10 us, and in each boot Linux calibrates its timers in such loops for 0.2 s."""
DISK_OBJECT = ("-object", "main-loop,id=main-loop,thread-pool-min=1,thread-pool-max=1")
"""One thread does QEMU's jobs for disks, one after the other, and never ends (c/pool.h)."""


@dataclass(frozen=True, slots=True)
class ClockArguments:
    argv_extra: tuple[str, ...]
    environment: Mapping[str, str]
    """Added to QEMU's own environment; these values take precedence."""
    one_insn: bool = False
    """For `base.qemu.command`: strict order is an order of instructions, so each must be a block."""


@dataclass(frozen=True, slots=True)
class ClockConfig:
    """The instruction clock of one QEMU."""

    plugin: Path
    level: Level
    mode: ClockMode


@dataclass(frozen=True, slots=True)
class ClockRun:
    """What the clock is told of one run."""

    log: Path
    seed: int = 0
    cpus: int = 1
    guest: Architecture = X86_64
    machine: str = ""
    """QEMU's -machine."""
    disks: bool = False
    """The guest has drives, so QEMU has a thread that reads and writes their images."""
    marked: bool = True
    """The guest brackets its window with marks, so the lockstep may be looser during boot. A system without
    marks may measure at any time, so the lockstep is tight throughout and no loop is skipped; and the log
    says when each line of the console ended."""
    talks: bool = False
    """Something is typed at the guest's console; the plugin's socket is TALK_DESCRIPTOR."""
    records: Records = NO_RECORDS
    shape: Path | None = None
    """The file that says what the machine's memory system is (insn/machine_shape.py); None: the ideal one."""
    order: Order = Order.UNSAID
    """Whether accesses in the wrong order are watched, or prevented; with a shape they are watched at
    least."""
    explore: Path | None = None
    """The file that says where vCPUs are stalled (base/exploring.py); None: nowhere."""
    patience_s: int = 60
    quantum: int | None = None
    fine: int | None = None
    rush: int | None = None
    """None of these three: what the level and the mode need."""


def arguments(clock: ClockConfig, run: ClockRun) -> ClockArguments:
    """The caller adds `-accel tcg,thread=multi`. On this lane no QMP command may be sent after `cont`."""
    _check(clock.level, run)
    options: dict[str, object] = {
        "out": run.log,
        "seed": run.seed,
        **_limits(clock, run),
        "skip": SKIP,
        "serial": int(clock.mode is ClockMode.SERIAL),
        "patience": run.patience_s,
        "lines": int(not run.marked),
        **run.records.options(),
        **_memory_system(clock, run),
        **_explore(clock, run.explore),
        **_talk(clock.level, talks=run.talks),
    }
    if clock.level is Level.COUNT:
        return ClockArguments(_plugin(clock.plugin, options), MappingProxyType({}))
    if run.disks:
        options["disks"] = 1
    argv = (
        *_plugin(clock.plugin, options),
        *(DISK_OBJECT if run.disks else ()),
        *("-rtc", "base=2024-01-01T00:00:00,clock=vm", "-seed", "1"),
        *exact_arguments(run.guest, run.machine),
    )
    environment = MappingProxyType({"LD_PRELOAD": _preload(clock.plugin)})
    return ClockArguments(argv, environment, one_insn=run.order is Order.STRICT)


def _check(level: Level, run: ClockRun) -> None:
    if level is Level.NONE:
        raise UsageError("the instruction clock does not work with this QEMU: use --clock wall")
    if not 1 <= run.cpus <= 256:
        raise UsageError(f"the instruction clock supports 1 to 256 CPUs, not {run.cpus}")
    if not 0 <= run.seed < 2**64:
        raise UsageError(f"the seed of the instruction clock must be from 0 to 2**64 - 1, not {run.seed}")


def _limits(clock: ClockConfig, run: ClockRun) -> dict[str, int]:
    usual = {"quantum": COUNT_QUANTUM, "fine": COUNT_FINE}
    if clock.level is Level.FULL:
        quantum = QUANTUM if clock.mode is ClockMode.SERIAL else PARALLEL_QUANTUM
        usual = {"quantum": quantum, "fine": FINE}
    usual["rush"] = RUSH if run.marked else 1
    given = {name: getattr(run, name) for name in usual}
    return {**usual, **{name: value for name, value in given.items() if value is not None}}


def _talk(level: Level, *, talks: bool) -> dict[str, object]:
    if talks and level is not Level.FULL:
        raise UsageError(
            "nothing can be typed at a guest's console at level count of the instruction clock, because "
            "input would arrive at times that the host chooses; use a QEMU that supports level full, or "
            "--clock wall"
        )
    return {"talk": TALK_DESCRIPTOR} if talks else {}


def _plugin(plugin: Path, options: Mapping[str, object]) -> tuple[str, str]:
    words = (f"{name}={comma_safe(str(value))}" for name, value in options.items())
    return "-plugin", ",".join((comma_safe(str(plugin)), *words))


def _memory_system(clock: ClockConfig, run: ClockRun) -> dict[str, object]:
    if run.shape is None and run.order is Order.UNSAID:
        return {}
    if clock.level is not Level.FULL:
        raise UsageError(
            "a machine with a memory system needs level full of the instruction clock: at level count time "
            "is the host's; use a QEMU that supports level full (`benchgate doctor`)"
        )
    if clock.mode is not ClockMode.SERIAL:
        raise UsageError(
            "a machine with a memory system needs --clock-mode serial: in parallel mode the accesses of "
            "different CPUs have no one order"
        )
    named = {"machine": run.shape, "order": run.order.value}
    return {name: value for name, value in named.items() if value}


def _explore(clock: ClockConfig, file: Path | None) -> dict[str, object]:
    if file is not None and (clock.level is not Level.FULL or clock.mode is not ClockMode.SERIAL):
        raise UsageError(
            "exploration needs level full and the serial mode of the instruction clock, because else no run "
            "could be made again; `benchgate doctor` shows the level of each QEMU"
        )
    return {} if file is None else {"explore": file}


def _preload(plugin: Path) -> str:
    if any(character in str(plugin) for character in " :\t\n"):
        raise UsageError(
            f"the dynamic loader cannot preload {plugin}: the path contains a space or a colon; "
            "set BENCHGATE_CACHE to a folder whose path has neither"
        )
    return str(plugin)
