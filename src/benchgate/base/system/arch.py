"""The processor architectures of guests: what differs between them, as one table of data.

Takes a name such as `riscv64`; gives its frozen `Architecture`. Whoever needs something that depends on the
architecture asks a row of this table, so that a new architecture is a new row. `named` fails with ValueError.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Architecture:
    name: str
    """The name that QEMU and `uname -m` use."""
    debian: str
    """The name that Debian and Ubuntu use."""
    elf_machine: int
    """The value of e_machine in an ELF file's header."""
    machine: str
    """QEMU's machine type, unless a system's YAML names one."""
    probe_machine: str
    """The machine type on which the probe guest starts fastest."""
    console: str
    """Linux's name of the first serial port."""
    exit_device: tuple[str, ...]
    """The arguments for a device by which a guest ends QEMU with a status; empty if the machine has one."""
    exit_code: int
    """QEMU's exit status when a guest reports success through that device, or turns the machine off."""
    qemu_packages: tuple[str, ...]
    """Debian's packages with QEMU and with what it needs to boot a guest, QEMU's own first."""
    linux: Mapping[str, str] = field(hash=False)
    """Maps a family of distributions to the package that depends on its newest kernel for guests."""
    linux_since: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Maps a release without packages for this architecture to the release whose kernel is used instead."""
    image_magic: tuple[int, bytes] = (0, b"")
    """The offset and the bytes that mark a Linux image (in Linux: Documentation/arch/*/boot*)."""
    image_words: str = "an uncompressed Image, or an ELF file"
    waits_by: str = "`pause`"
    """The instructions in a loop by which the instruction clock knows that it waits for another CPU."""
    clock_step_ns: int = 1
    """How long QEMU's clock of this processor stands still between two of its ticks, at most."""
    turn: int = 4
    """The instructions of a turn of `bench_turns` (guest/work.h): a multiplication, an addition, a
    subtraction and a jump. No compiler needs fewer."""

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Callable[[str], Architecture], tuple[str]]:
        """What another process sends back is this object again: architectures are compared by identity."""
        return named, (self.name,)

    @property
    def qemu(self) -> str:
        return f"qemu-system-{self.name}"

    @property
    def triple(self) -> str:
        """The prefix of the tools that compile for it."""
        return f"{self.name}-linux-gnu"

    @property
    def is_host(self) -> bool:
        """Whether programs of it run on this machine."""
        return platform.machine() == self.name

    def kind(self, word: str) -> str:
        """The name of the lock file and of the cache's folders for something of this architecture."""
        return word if self is X86_64 else f"{word}-{self.name}"


X86_64 = Architecture(
    name="x86_64",
    debian="amd64",
    elf_machine=62,
    machine="q35",
    probe_machine="microvm",
    console="ttyS0",
    exit_device=("-device", "isa-debug-exit,iobase=0xf4,iosize=4"),
    exit_code=33,
    qemu_packages=("qemu-system-x86", "qemu-system-data", "seabios", "ipxe-qemu"),
    linux={"debian": "linux-image-cloud-amd64", "ubuntu": "linux-image-virtual"},
    image_magic=(0x202, b"HdrS"),
    image_words="a bzImage, or an ELF file with a PVH note",
)
RISCV64 = Architecture(
    name="riscv64",
    debian="riscv64",
    elf_machine=243,
    machine="virt",
    probe_machine="virt",
    console="ttyS0",
    exit_device=(),  # virt has the SiFive test device, by which Linux also turns the machine off
    exit_code=0,
    qemu_packages=("qemu-system-riscv", "qemu-system-data", "opensbi", "ipxe-qemu"),
    linux={"debian": "linux-image-riscv64"},
    linux_since={"bookworm": "trixie"},
    image_magic=(0x38, b"RSC\x05"),
    waits_by="`pause` (Zihintpause) or `wfi`",
    clock_step_ns=100,  # 10 MHz
)
AARCH64 = Architecture(
    name="aarch64",
    debian="arm64",
    elf_machine=183,
    machine="virt,gic-version=3",  # version 2 has at most 8 CPUs
    probe_machine="virt",
    console="ttyAMA0",
    exit_device=(),  # PSCI's SYSTEM_OFF turns the machine off
    exit_code=0,
    qemu_packages=("qemu-system-arm", "qemu-system-data", "ipxe-qemu"),
    linux={"debian": "linux-image-cloud-arm64"},
    image_magic=(0x38, b"ARMd"),
    waits_by="`yield` or `wfe`",
    clock_step_ns=16,  # 62.5 MHz
    turn=3,  # one instruction multiplies and adds
)
ARCHITECTURES: Mapping[str, Architecture] = {one.name: one for one in (X86_64, RISCV64, AARCH64)}


def named(name: str) -> Architecture:
    if name not in ARCHITECTURES:
        raise ValueError(f"`{name}` is not an architecture; choose one of {', '.join(ARCHITECTURES)}")
    return ARCHITECTURES[name]
