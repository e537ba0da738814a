"""Types for how a system boots: machine, files and build commands, how the boot is watched, and how it ends.

Takes the values of `boot`, `qemu` and `build`, which plan/systemfile/boot.py reads, and of `console`, `end`
and `smoke`, which console.py reads there; gives them as frozen types. Nothing fails.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from benchgate.base.snapshots import StartKind
from benchgate.base.system.qemu import CARD, CONSOLES, GOOD_EXIT, SERIAL, Disk
from benchgate.base.yaml.keys import (
    Block,
    Blocks,
    Choice,
    Either,
    FilledText,
    Integer,
    Integers,
    Pattern,
    Text,
    Texts,
)

DEFAULT_FIRMWARE = "default"
"""The firmware that QEMU has for its machine: SeaBIOS, OpenSBI, or none."""
NO_FIRMWARE = "none"
FETCHED_LINUX = "fetch:linux"
BUILT_LINUX = "build"
"""The kernel is built from `boot.source`."""
WORKLOAD_INITRD = "workload"
PATTERNS = "regular expressions"
CPUS = "{n}"
"""The placeholder for the CPU count, in what is booted and in a build's commands."""
SOURCE = "{source}"
"""The placeholder for the path of the workload's C file in a build's commands."""
REPEAT_BYTES = 64 << 10
"""A console that repeats one byte or a few lines for this long is stopped (0: never). A progress bar of 64 Ki
dots, or 1,600 equal lines of 40 bytes, is still taken for progress."""


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

    kernel: Annotated[
        str, FilledText("the kernel that prints `benchwaits` and waits for its command line; may be that one")
    ]
    program: Annotated[str, FilledText("a file that it gets besides; may contain {workload}")] = ""

    def at(self, cpus: int) -> WaitingKernel:
        """The kernel for this CPU count."""
        return WaitingKernel(_at(self.kernel, cpus), _at(self.program, cpus))


@dataclass(frozen=True, slots=True)
class BootDefinition:
    """The files and words that QEMU boots; empty where the YAML file says nothing."""

    kernel: Annotated[
        str,
        Text(
            "-kernel: a path, {out}/..., fetch:linux (the pinned Linux) or build (of `source`); "
            "may contain {n}",
            otherwise="`disks` or `firmware`",
        ),
    ] = ""
    source: Annotated[
        str,
        FilledText(
            "the Linux that `kernel: build` builds: a tree, PATH@REVISION or a package (linux-source-6.12)"
        ),
    ] = ""
    config: Annotated[
        str,
        FilledText(
            "with `source`: parts of its configuration (sched_ext, realtime, debug) and files, joined by +",
            default="sched_ext",
        ),
    ] = ""
    scheduler: Annotated[
        str, FilledText("a program, with arguments, that loads a scheduler in BPF before our PID 1 is ready")
    ] = ""
    initrd: Annotated[
        str, FilledText("-initrd: a path, {out}/..., or `workload`: our PID 1 with the workload in it")
    ] = ""
    append: Annotated[str, Text("the command line, before the manifest")] = ""
    symbols: Annotated[
        str, FilledText("an ELF file or a System.map whose symbols name addresses; may contain {workload}")
    ] = ""
    warm: Annotated[
        WaitingKernel | None,
        Block(
            "what is loaded for a warm start, with `ask: cmdline` (`benchgate docs warm`)",
            otherwise="its runs start cold",
        ),
    ] = None
    disks: Annotated[
        tuple[Disk, ...], Blocks("disks, in the order in which the kernel numbers them", Block("a disk"))
    ] = ()
    firmware: Annotated[str, FilledText("-bios: default, none, a path or {out}/...; may contain {n}")] = (
        DEFAULT_FIRMWARE
    )
    start: StartKind = StartKind.COLD
    """Where its runs begin."""
    is_linux: bool = False
    """Whether its kernel is Linux: the fetched one, a built one, or one that a setting puts in its place."""
    kernel_files: tuple[SettingFile, ...] = ()
    """The files of the kernel that settings write, and that show what became of them."""

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

    machine: Annotated[
        str, Text("-machine", otherwise="that of `arch`: q35, virt, or virt,gic-version=3")
    ] = "q35"
    cpu: Annotated[str, Text("-cpu; empty: the best model of the accelerator")] = ""
    memory: Annotated[str, Text("-m")] = "256M"
    smp: Annotated[str, Text("-smp; {n} is the CPU count")] = CPUS
    arguments: Annotated[tuple[str, ...], Texts("more arguments, unchanged")] = ()
    network: Annotated[str, Text("the network card of a system with `ports`")] = CARD
    console: Annotated[str, Choice("what the guest prints on; virtio on wall time only", tuple(CONSOLES))] = (
        SERIAL
    )
    binary: Annotated[str, FilledText("a QEMU for this system alone; empty: the session's")] = ""


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

    ready: Annotated[str, Pattern("ends the boot and its deadline, and starts the run's")] = ""
    failures: Annotated[
        tuple[str, ...],
        Texts("a match overrides any result; a panic does so without them", what=PATTERNS),
    ] = ()
    harmless: Annotated[
        tuple[str, ...], Texts("lines that look like a panic and are none", what=PATTERNS)
    ] = ()
    repeat_bytes: Annotated[
        int,
        Integer("a console that repeats itself is stopped after this many bytes; 0: never", high=1 << 30),
    ] = REPEAT_BYTES
    online: Annotated[
        str,
        Either(
            "proves how many CPUs came up",
            (
                Pattern("a line with their number", default="", groups=("n",)),
                Choice("each must work in the window, on the instruction clock", ("clock",)),
            ),
        ),
    ] = ""
    """Empty if the begin line has the number."""
    by_clock: bool = False
    """Whether, in place of a pattern, the instruction clock must show that each vCPU worked in the window."""
    online_lines: Annotated[
        str, Pattern("in place of `online`: matches one line for each CPU that came up")
    ] = ""

    @property
    def counts_cpus(self) -> bool:
        """Whether a line says how many CPUs came up; the wire format says it without a pattern."""
        return bool(self.online or self.online_lines)


NO_RESET = "failure"


class EndBy(StrEnum):
    EXIT = "exit"  # the guest ends QEMU; `exit_codes` lists the statuses that mean success
    KILL = "kill"  # QEMU is killed after the guest has printed its last result


@dataclass(frozen=True, slots=True)
class End:
    """The ways in which a boot ends well."""

    by: Annotated[EndBy, Choice("the guest ends QEMU itself; or is killed after its last answer")] = (
        EndBy.EXIT
    )
    exit_codes: Annotated[
        tuple[int, ...],
        Integers("QEMU's exit statuses of success", otherwise="[33] on x86_64, else [0]"),
    ] = (GOOD_EXIT,)
    may_reset: Annotated[
        bool,
        Choice("whether the guest may end by a reset", (NO_RESET, "allowed"), default=NO_RESET, key="reset"),
    ] = False
    """A triple fault is a reset too."""


@dataclass(frozen=True, slots=True)
class Smoke:
    """A boot without a workload. It must pass once per CPU count before any figure of that count is valid."""

    append: Annotated[
        str,
        FilledText("the command line of a boot without a workload, before the first figure", default=""),
    ]
    passes: Annotated[
        str,
        Pattern("what that boot prints; otherwise every run at that CPU count is INVALID", key="pass"),
    ]
