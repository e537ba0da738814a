"""The clock's plugin, compiled once for a level and plugin interface into the cache.

Takes a QEMU and a level; gives the path of a shared object. Fails with BuildError: no compiler, a host that
is not x86-64 Linux with glibc, a QEMU that is linked statically.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
from pathlib import Path

from benchgate.cache import entry
from benchgate.errors import BuildError
from benchgate.host.probe import Emulator
from benchgate.insn.log import Level
from benchgate.toolchain import compiler, run_all

SOURCE = Path(__file__).parent / "c"
_COMMON = (
    *("lockstep.c", "clock.c", "clock_time.c", "clock_vcpu.c", "clock_errands.c", "clock_watch.c"),
    *("counter.c", "spin.c", "placement.c", "journal.c", "marks.c", "attribution.c", "plugin.c"),
)
_FULL = ("libc.c", "tsc.c")
FLAGS = (
    *("-std=c11", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-ffile-prefix-map=.=insn"),
    *("-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wstrict-prototypes", "-Wmissing-declarations"),
)
_PT_INTERP = 3
INLINE_API = 3
"""The plugin interface since QEMU 9.1: counters per vCPU in translated code, conditional callbacks."""


def api_of(qemu: Emulator) -> int:
    """The plugin interface to ask this QEMU for."""
    if qemu.version >= (9, 1, 0):
        return INLINE_API
    return 2 if qemu.version >= (9, 0, 0) else 1


def prepare(qemu: Emulator, level: Level | str) -> Path:
    """The compiled plugin for this QEMU."""
    level = Level(level)
    if level is Level.NONE:
        raise BuildError("there is no plugin for level `none`")
    if trouble := host_trouble(level) or qemu_trouble(qemu):
        raise BuildError(f"the instruction clock cannot be had at level {level}: {trouble}")
    return build(level, api_of(qemu))


def build(level: Level, api: int) -> Path:
    """The plugin for a level and an interface, from the cache."""
    sources = _COMMON + (_FULL if level is Level.FULL else ())
    defines = (f"-DINSN_API={api}", f"-DINSN_FULL={int(level is Level.FULL)}")
    name = f"benchgate-insn-{level}-{api}.so"
    key = {
        "compiler": compiler().identity,
        "flags": " ".join((*FLAGS, *defines, *sources)),
        "sources": source_digest(),
        "name": name,
    }

    def make(files: Path) -> None:
        work = files / "c"
        shutil.copytree(SOURCE, work)
        argv = [*compiler().argv, *FLAGS, *defines, *sources, "-o", str(files / name), "-lpthread", "-ldl"]
        run_all([argv], work, f"insn-{level}-{api}", 120.0)
        shutil.rmtree(work)

    return entry("insn", key, make) / name


def source_digest() -> str:
    """Of all C files; part of what a run was made from."""
    whole = hashlib.sha256()
    for path in sorted(SOURCE.glob("*.[ch]")):
        whole.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()


def host_trouble(level: Level) -> str:
    """Why this host cannot carry the level, or nothing."""
    machine, system = platform.machine(), platform.system()
    if system != "Linux" or machine not in ("x86_64", "amd64"):
        return f"it is made for x86-64 Linux hosts, and this is {machine} {system}"
    if level is Level.FULL and platform.libc_ver()[0] != "glibc":
        return "guest time is made by standing before glibc, and this host has another libc; use level count"
    return ""


def qemu_trouble(qemu: Emulator) -> str:
    """Why this QEMU cannot carry the clock, or nothing; whether it does is for the trial to say."""
    try:
        dynamic = is_dynamic(qemu.binary)
    except OSError as error:
        return f"{qemu.binary}: {error.strerror}"
    if not dynamic:
        return f"{qemu.binary} is linked statically, so it can load no plugin; use a distribution's own QEMU"
    return ""


def is_dynamic(program: Path) -> bool:
    """Whether an ELF64 program names a dynamic loader. A script (a wrapper) counts as dynamic."""
    with program.open("rb") as stream:
        head = stream.read(64)
        if head[:5] != b"\x7fELF\x02" or len(head) < 64:
            return True
        offset = int.from_bytes(head[32:40], "little")
        size, count = (int.from_bytes(head[at : at + 2], "little") for at in (54, 56))
        stream.seek(offset)
        table = stream.read(size * count)
    return any(
        int.from_bytes(table[at : at + 4], "little") == _PT_INTERP for at in range(0, len(table), size or 1)
    )
