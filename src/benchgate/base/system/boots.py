"""Types for how a system boots: machine, files and build commands, how the boot is watched, and how it ends.

Takes the values of `boot`, `qemu` and `build`, which plan/systemfile/boot.py reads, and of `console`, `end`
and `smoke`, which console.py reads there; gives them as frozen types. Nothing fails.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from benchgate.base.runs import Deadlines
from benchgate.base.snapshots import StartKind
from benchgate.base.system.qemu import CARD, GOOD_EXIT, SERIAL, Disk

DEFAULT_FIRMWARE = "default"
"""The firmware that QEMU has for its machine: SeaBIOS, OpenSBI, or none."""
NO_FIRMWARE = "none"
FETCHED_LINUX = "fetch:linux"
BUILT_LINUX = "build"
"""The kernel is built from `boot.source`."""
WORKLOAD_INITRD = "workload"
CPUS = "{n}"
"""The placeholder for the CPU count, in what is booted and in a build's commands."""
SOURCE = "{source}"
"""The placeholder for the path of the workload's C file in a build's commands."""
REPEAT_BYTES = 64 << 10
"""A console that repeats one byte or a few lines for this long is stopped (0: never). A progress bar of 64 Ki
dots, or 1,600 equal lines of 40 bytes, is still taken for progress."""
DEADLINES = Deadlines(boot_s=60.0, run_s=120.0)


class SettingDisplay(StrEnum):
    """How a file of the kernel shows a value."""

    TEXT = "text"  # as it was asked for, or marked by ( ) or [ ] among others
    WORDS = "words"  # among other words
    CPUS = "cpus"  # as a list of CPUs, such as 1-3


@dataclass(frozen=True, slots=True)
class SettingFile:
    """A file of the kernel that must show what a setting asks for, while the workload runs."""

    setting: str
    """The setting with its value, as the user gave them."""
    path: str
    value: str
    """What it must show."""
    is_written: bool
    """Whether PID 1 writes it; else the kernel has it from its command line."""
    shown: SettingDisplay
    needs: str
    """What the kernel must be built with to have it."""

    @property
    def name(self) -> str:
        return self.setting.partition("=")[0]


@dataclass(frozen=True, slots=True)
class WaitingKernel:
    """What a warm start loads: a kernel that prints `benchwaits` where it waits for its command line."""

    kernel: str
    program: str = ""
    """The file that it gets besides; {workload} is replaced by the workload's name. Empty: none."""

    def at(self, cpus: int) -> WaitingKernel:
        """The kernel for this CPU count."""
        return WaitingKernel(_at(self.kernel, cpus), _at(self.program, cpus))


@dataclass(frozen=True, slots=True)
class BootDefinition:
    """The files and words that QEMU boots; empty where the YAML file says nothing."""

    kernel: str = ""
    initrd: str = ""
    append: str = ""
    symbols: str = ""
    """The ELF file that resolves sampled addresses; {workload} is replaced by the workload's name."""
    disks: tuple[Disk, ...] = ()
    firmware: str = DEFAULT_FIRMWARE
    """DEFAULT_FIRMWARE, NO_FIRMWARE or the path of a file, which may contain {out}."""
    start: StartKind = StartKind.COLD
    """Where its runs begin."""
    is_linux: bool = False
    """Whether its kernel is Linux: the fetched one, a built one, or one that a setting puts in its place."""
    source: str = ""
    """The source of Linux that `kernel` is built from; empty if it is not."""
    config: str = ""
    """The parts of its configuration."""
    scheduler: str = ""
    """The program, with its arguments, that loads a scheduler in BPF before the guest is ready."""
    kernel_files: tuple[SettingFile, ...] = ()
    """The files of the kernel that settings write, and that show what became of them."""
    warm: WaitingKernel | None = None
    """None: its kernel cannot wait for its command line."""

    @property
    def waiting(self) -> WaitingKernel | None:
        """The kernel that waits, if its runs start warm."""
        return self.warm if self.start is StartKind.WARM else None

    @property
    def loaded(self) -> str:
        """The kernel that QEMU loads."""
        return self.kernel if self.waiting is None else self.waiting.kernel

    @property
    def takes_words(self) -> bool:
        """Whether its guest gets the words of its command line after its start."""
        ours = self.start is StartKind.WARM and self.initrd == WORKLOAD_INITRD
        return ours or self.waiting is not None

    @property
    def tuning(self) -> str:
        """What PID 1 does in each boot before the guest is ready; empty if nothing."""
        if self.scheduler:
            return "its scheduler in BPF takes charge in each boot"
        return f"{self.kernel_files[0].setting} is set in each boot" if self.kernel_files else ""

    def at(self, cpus: int) -> BootDefinition:
        """The definition with the files for this CPU count."""
        return replace(
            self,
            kernel=_at(self.kernel, cpus),
            initrd=_at(self.initrd, cpus),
            symbols=_at(self.symbols, cpus),
            disks=tuple(replace(disk, image=_at(disk.image, cpus)) for disk in self.disks),
            firmware=_at(self.firmware, cpus),
            warm=self.warm and self.warm.at(cpus),
        )


@dataclass(frozen=True, slots=True)
class QemuWords:
    """What a system says of QEMU's command line; `{n}` is the CPU count."""

    machine: str = "q35"
    cpu: str = ""
    memory: str = "256M"
    smp: str = "{n}"
    arguments: tuple[str, ...] = ()
    network: str = CARD
    """The network card of a system with `ports`."""
    console: str = SERIAL
    """The device that the guest prints on, one of CONSOLES."""
    binary: str = ""
    """The path of a QEMU for this system alone; empty for the session's QEMU of its architecture."""


@dataclass(frozen=True, slots=True)
class Build:
    """Commands that build the kernel. They never run inside a measurement."""

    commands: tuple[tuple[str, ...], ...]
    folder: Path
    sources: tuple[Path, ...]
    """Everything that the result depends on; its digest is part of the cache key."""
    revision: str = ""
    """The git commit that is built; empty for the files as they are in the folder."""
    files: tuple[Path, ...] = ()
    """The files in the commands that settings chose. A default file is one of the sources."""
    part: tuple[tuple[str, ...], ...] = ()
    """The commands that build one part of a mix, into the same `{out}` as the other parts."""
    mix: tuple[tuple[str, ...], ...] = ()
    """The commands that then build a kernel with these programs and a conductor; empty if it has none."""

    def at(self, cpus: int) -> Build:
        """The build with the commands for this CPU count."""
        commands, part, mix = (
            tuple(tuple(_at(word, cpus) for word in command) for command in each)
            for each in (self.commands, self.part, self.mix)
        )
        return replace(self, commands=commands, part=part, mix=mix)

    @property
    def per_workload(self) -> bool:
        """Whether the build uses the workload's C source, so that each workload needs its own build."""
        return any(SOURCE in word for command in self.commands for word in command)


def _at(word: str, cpus: int) -> str:
    return word.replace(CPUS, str(cpus))


@dataclass(frozen=True, slots=True)
class ConsoleWords:
    """The patterns that are matched while the guest prints; empty where the file has none."""

    ready: str = ""
    failures: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    """Patterns of lines that look like a panic and are none."""
    repeat_bytes: int = REPEAT_BYTES
    online: str = ""
    """A pattern whose group (?P<n>...) is the number of online CPUs; empty if the begin line has it."""
    by_clock: bool = False
    """Whether, in place of a pattern, the instruction clock must show that each vCPU worked in the window."""
    online_lines: str = ""
    """A pattern that matches one line for each CPU that came up, as another way to count them."""

    @property
    def counts_cpus(self) -> bool:
        """Whether a line says how many CPUs came up; the wire format says it without a pattern."""
        return bool(self.online or self.online_lines)


class EndBy(StrEnum):
    EXIT = "exit"  # the guest ends QEMU; `exit_codes` lists the statuses that mean success
    KILL = "kill"  # QEMU is killed after the guest has printed its last result


@dataclass(frozen=True, slots=True)
class End:
    """The ways in which a boot ends well."""

    by: EndBy = EndBy.EXIT
    exit_codes: tuple[int, ...] = (GOOD_EXIT,)
    may_reset: bool = False
    """Whether the guest may end by a reset. A triple fault is a reset too."""


@dataclass(frozen=True, slots=True)
class Smoke:
    """A boot without a workload. It must pass once per CPU count before any figure of that count is valid."""

    append: str
    passes: str
    """The regular expression that its console must match."""
