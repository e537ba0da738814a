"""The QEMU arguments and environment variables that the instruction clock needs. Pure.

Takes a compiled plugin, the options of a run and what the clock shall record besides its log; gives
`ClockArguments`. Fails with UsageError if an option is out of range or if the dynamic loader cannot preload
the plugin's path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType

from benchgate.base.errors import UsageError
from benchgate.base.system.arch import X86_64, Architecture
from benchgate.base.system.qemu import comma_safe
from benchgate.insn.guests import exact_arguments
from benchgate.insn.log import AccessOrder, TurnedClock
from benchgate.insn.talk import TALK_DESCRIPTOR


@dataclass(frozen=True, slots=True)
class Records:
    """The records besides the log (None: not made). They cost host time, but the guest sees no change."""

    profile: Path | None = None
    """The file for the window's instructions by block of code (insn/profile.py)."""
    events: Path | None = None
    """The file for the window's turns, halts and wake-ups (insn/events.py)."""
    stacks: Path | None = None
    """The file for the window's instructions by call stack (insn/profile.py)."""
    sharing: Path | None = None
    """The file for memory lines that moved between CPUs (insn/sharing.py), on a machine with memory only."""

    threads: Path | None = None
    """The file for what the guest's threads did, from its first instruction on (insn/threads_log.py)."""
    observe: Path | None = None
    """The file that says how they are seen, and which functions are counted (insn/observe/). `threads` needs
    it; one without threads is enough to count."""
    window: tuple[int, int] | None = None
    """The sizes of the console, in bytes, at which the window of profile and stacks begins and ends: they are
    ends of lines that the clock has logged. None if the window lies between marks."""

    def options(self) -> dict[str, object]:
        named = {one.name: getattr(self, one.name) for one in fields(self)}
        named["window"] = self.window and ":".join(map(str, self.window))
        return {name: value for name, value in named.items() if value is not None}


NO_RECORDS = Records()


QUANTUM = 5_000
"""A vCPU may be this many ns ahead of the slowest one in the timed window. The quantum can grow
(LOCKSTEP_CALM in c/clock/lockstep.h)."""
FINE = 100
"""The same limit while a vCPU spins. A value that is handed over through memory is seen up to this much late
or early."""
RUSH = 25
"""Both limits are multiplied by this outside the marked window, to reach the window sooner."""
SKIP = 100_000
"""A loop that polls the TSC may skip this many ns at once outside the window. In each boot Linux calibrates
its timers in such loops for 0.2 s."""
DISK_OBJECT = ("-object", "main-loop,id=main-loop,thread-pool-min=1,thread-pool-max=1")
"""One thread does QEMU's jobs for disks, one after the other, and never ends (c/qemu/pool.h)."""


@dataclass(frozen=True, slots=True)
class ClockArguments:
    argv_extra: tuple[str, ...]
    environment: Mapping[str, str]
    """Variables that are added to QEMU's environment, and take precedence."""
    one_insn: bool = False
    """Whether each instruction must be its own block, as strict order requires (base.qemu.command)."""


@dataclass(frozen=True, slots=True)
class ClockRun:
    """The facts about one run that the clock needs."""

    log: Path
    seed: int = 0
    cpus: int = 1
    guest: Architecture = X86_64
    machine: str = ""
    """The value of QEMU's option -machine."""
    disks: bool = False
    """Whether the guest has drives, so that a thread of QEMU reads and writes their images."""
    marked: bool = True
    """Whether the guest brackets its window with marks, so that the lockstep may be looser during boot. A
    system without marks may measure at any time, so the lockstep is tight throughout and no loop is
    skipped; and the log says when each line of the console ended."""
    lengths: Mapping[int, int] = field(default_factory=dict)
    """Maps the number of each system call that moves bytes to its argument that says how many."""
    talks: bool = False
    """Whether something is typed at the guest's console. The plugin's socket is TALK_DESCRIPTOR."""
    records: Records = NO_RECORDS
    shape: Path | None = None
    """The file of the machine's memory system (insn/machine_shape.py); None for one without."""
    capacities: str = ""
    """The speed of each CPU (insn/machine_shape.py), as the plugin takes it; empty if all have the same."""
    order: AccessOrder = AccessOrder.UNSAID
    """What is done about accesses in the wrong order. With a shape they are at least watched."""
    start: tuple[int, int] | None = None
    """The guest's time, and the bytes on its console, at which a snapshot was taken; None if it boots."""
    caches: Path | None = None
    """The file for the state of the machine's caches at that moment; None on the ideal machine."""
    explore: Path | None = None
    """The file that says where vCPUs are stalled (base/exploration.py); None if they are not."""
    turn: TurnedClock | None = None
    """The other rules of the clock, and from when on; None: its rules stay."""
    patience_s: int = 60
    carrier: str = ""
    """How the vCPUs are run: one of log.CARRIERS. Empty: the first of them that works here."""
    quantum: int | None = None
    fine: int | None = None
    rush: int | None = None
    """Each of these three has its usual value if it is None."""


def arguments(plugin: Path, run: ClockRun) -> ClockArguments:
    """The caller must add `-accel tcg,thread=multi`, and must send no QMP command after `cont`."""
    _check(run.cpus, run.seed)
    usual = {"quantum": QUANTUM, "fine": FINE, "rush": RUSH if run.marked else 1}
    some: dict[str, object] = {"machine": run.shape, "order": run.order.value, "explore": run.explore}
    some |= {"disks": int(run.disks), "caches": run.caches, "capacities": run.capacities}
    some |= {"carrier": run.carrier, "turn": run.turn and run.turn.option}
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
        **({"start": ":".join(map(str, run.start))} if run.start else {}),
        **({"bytes": _pairs(run.lengths)} if run.lengths else {}),
    }
    argv = (
        *_plugin(plugin, options),
        *(DISK_OBJECT if run.disks else ()),
        *("-rtc", "base=2024-01-01T00:00:00,clock=vm", "-seed", "1"),
        *exact_arguments(run.guest, run.machine),
    )
    environment = MappingProxyType({"LD_PRELOAD": _preload(plugin)})
    return ClockArguments(argv, environment, one_insn=run.order is AccessOrder.STRICT)


_TURN = re.compile(r",turn=([0-9]{1,20}(?::[0-9]{1,20}){4})(?:,|$)")


def turn_asked(argv: Sequence[str]) -> TurnedClock | None:
    """The rules to which the clock of this command line turns; None: it does not."""
    found = next((match for word in argv if ",out=" in word and (match := _TURN.search(word))), None)
    return TurnedClock(*map(int, found[1].split(":"))) if found else None


def _pairs(lengths: Mapping[int, int]) -> str:
    return ":".join(f"{call}:{argument}" for call, argument in sorted(lengths.items()))


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
