"""The QEMU arguments and environment variables that the instruction clock needs. Pure.

Takes a compiled plugin, the options of a run and what the clock shall record besides its log; gives
`ClockArguments`. Fails with UsageError if an option is out of range or if the dynamic loader cannot preload
the plugin's path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType

from benchgate.base.errors import UsageError
from benchgate.base.system.arch import X86_64, Architecture
from benchgate.base.system.qemu import comma_safe
from benchgate.insn.guests import exact_arguments
from benchgate.insn.log import AccessOrder
from benchgate.insn.talk import TALK_DESCRIPTOR


@dataclass(frozen=True, slots=True)
class Records:
    """None: not recorded. None of them changes what the guest sees, but each costs time on the host."""

    profile: Path | None = None
    """Instructions of the window by block of code (insn/profile.py)."""
    events: Path | None = None
    """Its turns, halts and wake-ups (insn/events.py)."""
    stacks: Path | None = None
    """Its instructions by call stack (insn/stacks.py)."""
    sharing: Path | None = None
    """The lines of memory that moved between CPUs (insn/sharing.py); only on a machine with memory."""

    window: tuple[int, int] | None = None
    """How many bytes the console has where the window of the profile and of the stacks begins, and where it
    ends: at ends of lines that the clock has logged. None: it lies between marks."""

    def options(self) -> dict[str, object]:
        """For the plugin."""
        named = {one.name: getattr(self, one.name) for one in fields(self)}
        named["window"] = self.window and ":".join(map(str, self.window))
        return {name: value for name, value in named.items() if value is not None}


NO_RECORDS = Records()


QUANTUM = 5_000
"""How many ns a vCPU may be ahead of the slowest one in the timed window. The quantum can grow (LOCKSTEP_CALM
in c/clock/lockstep.h)."""
FINE = 100
"""The same limit while a vCPU spins. A value that is handed over through memory is seen up to this much late
or early."""
RUSH = 25
"""Both limits are multiplied by this outside the marked window, to reach the window sooner."""
SKIP = 100_000
"""How many ns a loop that polls the TSC may skip at once outside the window. Each read is a trap, which costs
the host up to 10 us, and in each boot Linux calibrates its timers in such loops for 0.2 s."""
DISK_OBJECT = ("-object", "main-loop,id=main-loop,thread-pool-min=1,thread-pool-max=1")
"""One thread does QEMU's jobs for disks, one after the other, and never ends (c/qemu/pool.h)."""


@dataclass(frozen=True, slots=True)
class ClockArguments:
    argv_extra: tuple[str, ...]
    environment: Mapping[str, str]
    """Added to QEMU's own environment; these values take precedence."""
    one_insn: bool = False
    """For `base.qemu.command`: strict order is an order of instructions, so each must be a block."""


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
    order: AccessOrder = AccessOrder.UNSAID
    """Whether accesses in the wrong order are watched, or prevented; with a shape they are watched at
    least."""
    explore: Path | None = None
    """The file that says where vCPUs are stalled (base/exploration.py); None: nowhere."""
    patience_s: int = 60
    quantum: int | None = None
    fine: int | None = None
    rush: int | None = None
    """None of these three: the usual one."""


def arguments(plugin: Path, run: ClockRun) -> ClockArguments:
    """The caller adds `-accel tcg,thread=multi`. On this lane no QMP command may be sent after `cont`."""
    _check(run.cpus, run.seed)
    usual = {"quantum": QUANTUM, "fine": FINE, "rush": RUSH if run.marked else 1}
    some = {"machine": run.shape, "order": run.order.value, "explore": run.explore, "disks": int(run.disks)}
    options: dict[str, object] = {
        "out": run.log,
        "seed": run.seed,
        **{name: value if (own := getattr(run, name)) is None else own for name, value in usual.items()},
        "skip": SKIP,
        "patience": run.patience_s,
        "lines": int(not run.marked),
        **run.records.options(),
        **{name: value for name, value in some.items() if value},
        **({"talk": TALK_DESCRIPTOR} if run.talks else {}),
    }
    argv = (
        *_plugin(plugin, options),
        *(DISK_OBJECT if run.disks else ()),
        *("-rtc", "base=2024-01-01T00:00:00,clock=vm", "-seed", "1"),
        *exact_arguments(run.guest, run.machine),
    )
    environment = MappingProxyType({"LD_PRELOAD": _preload(plugin)})
    return ClockArguments(argv, environment, one_insn=run.order is AccessOrder.STRICT)


def _check(cpus: int, seed: int) -> None:
    if not 1 <= cpus <= 256:
        raise UsageError(f"the instruction clock supports 1 to 256 CPUs, not {cpus}")
    if not 0 <= seed < 2**64:
        raise UsageError(f"the seed of the instruction clock must be from 0 to 2**64 - 1, not {seed}")


def _plugin(plugin: Path, options: Mapping[str, object]) -> tuple[str, str]:
    words = (f"{name}={comma_safe(str(value))}" for name, value in options.items())
    return "-plugin", ",".join((comma_safe(str(plugin)), *words))


def _preload(plugin: Path) -> str:
    if any(character in str(plugin) for character in " :\t\n"):
        raise UsageError(
            f"the dynamic loader cannot preload {plugin}: the path contains a space or a colon; "
            "set BENCHGATE_CACHE to a folder whose path has neither"
        )
    return str(plugin)
