"""Builds the small kernels of tests/data/kernels.

Takes the folder to build in; gives the ELF file. Fails with CalledProcessError if the compiler does.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from benchgate.build.toolchain import compiler
from tests.machines import PATIENCE_S

DATA = Path(__file__).parent / "data"
REPO = Path(__file__).parents[1]
BARE = (
    *("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-fno-pic"),
    *("-fno-stack-protector", "-mno-red-zone", "-mgeneral-regs-only", "-mcmodel=small", "-nostdlib"),
    *("-static", "-no-pie", "-Wl,--build-id=none", "-Wl,-z,noexecstack", "-Wl,--no-warn-rwx-segments"),
)
"""Flags for a freestanding x86-64 program."""


def talker(folder: Path) -> Path:
    """The kernel with a prompt: tests/data/kernels/talker/talker.h says what it understands."""
    made, own, start = folder / "talker.elf", DATA / "kernels" / "talker", DATA / "stress"
    sources = [start / "start.S", *sorted(own.glob("*.c"))]
    words = (f"-I{REPO / 'guest'}", f"-Wl,-T,{start / 'stress.ld'}", *map(str, sources))
    subprocess.run([*compiler().argv, *BARE, *words, "-o", str(made)], check=True, timeout=PATIENCE_S)
    return made
