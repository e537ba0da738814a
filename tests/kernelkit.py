"""Builds the small kernels of tests/data/kernels.

Takes the folder to build in and an architecture; gives the ELF file. Fails with CalledProcessError if the
compiler does, and with FetchError if there is none for that architecture.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchgate.base.system.arch import AARCH64, RISCV64, X86_64, Architecture
from benchgate.build.fetch import cross
from benchgate.build.toolchain import compiler
from tests.machines import PATIENCE_S

DATA = Path(__file__).parent / "data"
GUEST = Path(__file__).parents[1] / "guest"
_TALKER = DATA / "kernels" / "talker"
_FREESTANDING = (
    *("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-fno-pic"),
    *("-fno-stack-protector", "-nostdlib", "-static", "-no-pie"),
    *("-Wl,--build-id=none", "-Wl,-z,noexecstack", "-Wl,--no-warn-rwx-segments"),
)
BARE = (*_FREESTANDING, "-mno-red-zone", "-mgeneral-regs-only", "-mcmodel=small")
"""Flags for a freestanding x86-64 program."""


@dataclass(frozen=True)
class _Port:
    """What the kernel with a prompt needs on one architecture."""

    flags: tuple[str, ...]
    sources: tuple[Path, ...]
    script: Path


def _virt(name: str, base: int, *flags: str) -> _Port:
    """A port to QEMU's virt machine, linked at `base`."""
    own = tuple(_TALKER / text for text in (f"{name}.S", f"{name}.c", "fdt.c"))
    return _Port((*_FREESTANDING, *flags, f"-Wl,--defsym=BASE={base:#x}"), own, _TALKER / "bare.ld")


_PORTS = {
    X86_64: _Port(BARE, (DATA / "stress" / "start.S", _TALKER / "x86.c"), DATA / "stress" / "stress.ld"),
    RISCV64: _virt("riscv", 0x80200000, "-march=rv64imac_zicsr_zifencei", "-mabi=lp64", "-mcmodel=medany"),
    AARCH64: _virt("arm", 0x40200000, "-mgeneral-regs-only", "-mstrict-align", "-mno-outline-atomics"),
}


def stress(folder: Path) -> Path:
    """The kernel of tests/data/stress, in which the clock's cases are."""
    made, source = folder / "stress.elf", DATA / "stress"
    files = (f"-Wl,-T,{source / 'stress.ld'}", *map(str, (source / "start.S", *sorted(source.glob("*.c")))))
    words = [*compiler().argv, *BARE, *files, "-o", str(made)]
    subprocess.run(words, check=True, timeout=PATIENCE_S)
    return made


def talker(folder: Path, guest: Architecture = X86_64, *, cpus: int = 0) -> Path:
    """The kernel with a prompt: tests/data/kernels/talker/talker.h says what it understands. `cpus`: built
    for so many; 0: for as many as there are."""
    made = folder / f"talker-{cpus or guest}.elf"
    made.write_bytes(_talker(guest, cpus))
    made.chmod(0o755)
    return made


@cache
def _talker(guest: Architecture, cpus: int) -> bytes:
    """Built once for all tests of a process, which want it in a folder of their own."""
    port = _PORTS[guest]
    common = (
        _TALKER / f"{name}.c" for name in ("talker", "shell", "primes", "lies", "input", "idle", "disk")
    )
    fixed = (f"-DFIXED_CPUS={cpus}",) if cpus else ()
    words = (*fixed, f"-I{GUEST}", f"-Wl,-T,{port.script}", *map(str, (*port.sources, *common)))
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "talker.elf")
        command = [*cross.compiler(guest).argv, *port.flags, *words, "-o", str(made)]
        subprocess.run(command, check=True, timeout=PATIENCE_S)
        return made.read_bytes()


def answerer(folder: Path) -> Path:
    """The kernel that answers TCP connections (tests/data/kernels/answerer/answerer.h), for x86-64."""
    made, source, start = folder / "answerer.elf", DATA / "kernels" / "answerer", DATA / "stress"
    files = (start / "start.S", *(source / f"{name}.c" for name in ("answerer", "card", "net")))
    words = (f"-Wl,-T,{start / 'stress.ld'}", *map(str, files), "-o", str(made))
    subprocess.run([*cross.compiler(X86_64).argv, *BARE, *words], check=True, timeout=PATIENCE_S)
    return made
