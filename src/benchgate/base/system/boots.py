"""Types for what a system boots: machine, files, and build commands. plan/systemfile/boot.py reads it.

Takes the values of `boot`, `qemu` and `build`; gives them as frozen types. Nothing fails.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from benchgate.base.system.disks import Disk
from benchgate.base.system.network import CARD
from benchgate.base.system.qemu import SERIAL

DEFAULT_FIRMWARE = "default"
"""The firmware that QEMU has for its machine: SeaBIOS, OpenSBI, or none."""
NO_FIRMWARE = "none"
FETCHED_LINUX = "fetch:linux"
WORKLOAD_INITRD = "workload"
CPUS = "{n}"
"""The placeholder for the CPU count, in what is booted and in a build's commands."""
SOURCE = "{source}"
"""The placeholder for the path of the workload's C file in a build's commands."""


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
    is_linux: bool = False
    """Whether its kernel is Linux: the fetched one, or one that a setting puts in its place."""

    def at(self, cpus: int) -> BootDefinition:
        """The definition with the files for this CPU count."""
        return replace(
            self,
            kernel=_at(self.kernel, cpus),
            initrd=_at(self.initrd, cpus),
            symbols=_at(self.symbols, cpus),
            disks=tuple(replace(disk, image=_at(disk.image, cpus)) for disk in self.disks),
            firmware=_at(self.firmware, cpus),
        )


@dataclass(frozen=True, slots=True)
class QemuWords:
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
