"""Compiles the clock's plugin into the cache, once per plugin interface.

Takes a QEMU; gives the path of a shared object. Fails with BuildError if there is no compiler, if
the host is not x86-64 Linux with glibc, or if QEMU is linked statically.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
from functools import cache
from pathlib import Path

from benchgate.base.errors import BuildError
from benchgate.base.system.qemu import Qemu
from benchgate.build.cache import entry
from benchgate.build.toolchain import compiler, run_all

SOURCE = Path(__file__).parent / "c"
"""The folder of the plugin's sources. No two files below it have the same name."""
_SOURCES = (
    *("lockstep.c", "clock_state.c", "clock_time.c", "clock_errands.c", "clock_watch.c", "clock_grants.c"),
    *("clock_moment.c", "clock_main.c", "clock_vcpu.c", "carrier.c", "switch.c"),
    *("arch_x86.c", "arch_riscv.c", "arch_arm.c", "blocks.c", "outer.c", "mmio.c"),
    *("access.c", "access_fetch.c", "access_books.c", "contention.c", "ram.c"),
    *("counter.c", "spin.c", "journal.c", "marks.c", "console.c", "profile.c", "plugin.c"),
    *("activity.c", "events.c", "tree.c", "stacks.c", "sharing.c", "lines.c", "explore.c", "delays.c"),
    *("memory_model.c", "memory_late.c", "memory_leave.c", "memory_wait.c", "memory_setup.c"),
    *("memory_books.c", "memory_cache.c", "memory_directory.c", "memory_queue.c", "memory_tlb.c"),
    *("memory_shape.c", "memory_keep.c", "libc.c", "tsc.c", "thunk.c", "pool.c", "talk.c", "typist.c"),
    *("device_tree.c", "parking.c", "inherited.c", "kept_back.c", "forks.c", "places.c", "rehearsal.c"),
    *("threads.c", "threads_guest.c", "threads_hooks.c", "threads_known.c", "threads_program.c"),
    *("threads_trail.c", "threads_stays.c", "threads_text.c", "tally.c", "polls.c"),
    *("counts.c", "counts_spans.c", "callees.c", "layout.c", "divert.c", "given.c"),
    *("operations.c", "operators.c", "operators_waits.c", "spans.c", "returns.c", "exchanges.c"),
)
FLAGS = (
    *("-std=c11", "-O3", "-shared", "-fPIC", "-fvisibility=hidden", "-ffile-prefix-map=.=insn"),
    *("-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wstrict-prototypes", "-Wmissing-declarations"),
)
_WHOLE = "-flto"
"""With -O3 this makes a guest with a memory system 3% to 5% cheaper. clang does not get it, because it would
need another linker."""
_PT_INTERP = 3
INLINE_API = 3
"""The plugin interface since QEMU 9.1: per-vCPU counters in translated code, conditional callbacks."""
_DATA_API = 7
"""The plugin interface since QEMU 11.1, which takes no older one: callbacks have other arguments."""


def api_of(qemu: Qemu) -> int:
    """The plugin interface version to request from this QEMU."""
    if qemu.version >= (11, 1, 0):
        return _DATA_API
    if qemu.version >= (9, 1, 0):
        return INLINE_API
    return 2 if qemu.version >= (9, 0, 0) else 1


def prepare(qemu: Qemu) -> Path:
    """The compiled plugin for this QEMU."""
    if problem := _host_problem() or _qemu_problem(qemu):
        raise BuildError(f"the instruction clock is not available: {problem}")
    return build(api_of(qemu))


def c_file(name: str) -> Path:
    """Finds the file of the plugin with this name, in any folder."""
    (path,) = SOURCE.rglob(name)
    return path


def c_folders() -> tuple[Path, ...]:
    """The folders that have the plugin's headers."""
    return tuple(sorted({path.parent for path in SOURCE.rglob("*.h")}))


def build(api: int, *more: str) -> Path:
    """Gives the plugin for an interface from the cache, and builds it if necessary. `more`: flags."""
    define = f"-DINSN_API={api}"
    name = f"benchgate-insn-{api}.so"
    flags = (*FLAGS, *more) if "clang" in compiler().version else (*FLAGS, _WHOLE, *more)
    key = {"compiler": compiler().identity, "flags": " ".join((*flags, define, *_SOURCES))}
    key |= {"sources": source_digest(), "name": name}

    def make(files: Path) -> None:
        work = files / "c"
        shutil.copytree(SOURCE, work)
        headers = [f"-I{folder.relative_to(SOURCE)}" for folder in c_folders()]
        paths = [str(c_file(source).relative_to(SOURCE)) for source in _SOURCES]
        argv = [*compiler().argv, *flags, define, *headers, *paths, "-o", str(files / name)]
        run_all([[*argv, "-lpthread", "-ldl"]], work, f"insn-{api}", 600.0)
        shutil.rmtree(work)

    return entry("insn", key, make) / name


@cache
def source_digest() -> str:
    """The digest of all C files of the plugin; it identifies the clock in a run's record."""
    combined = hashlib.sha256()
    for path in sorted(SOURCE.rglob("*.[ch]"), key=lambda path: path.name):
        combined.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return combined.hexdigest()


def _host_problem() -> str:
    """Why this host cannot have the clock; empty if it can."""
    machine, system = platform.machine(), platform.system()
    if system != "Linux" or machine not in ("x86_64", "amd64"):
        return f"it needs an x86-64 Linux host, and this is {machine} {system}"
    if platform.libc_ver()[0] != "glibc":
        return "it replaces functions of glibc, and this host has another C library"
    return ""


def _qemu_problem(qemu: Qemu) -> str:
    """Why this QEMU cannot load the plugin, or empty. Only the trial shows whether the clock works in it."""
    try:
        dynamic = is_dynamic(qemu.binary)
    except OSError as error:
        return f"{qemu.binary}: {error.strerror}"
    if not dynamic:
        return f"{qemu.binary} is linked statically and cannot load a plugin; use a distribution's own QEMU"
    return ""


def is_dynamic(program: Path) -> bool:
    """Whether an ELF64 program names a dynamic loader. A wrapper script counts as dynamic."""
    with program.open("rb") as stream:
        head = stream.read(64)
        if head[:5] != b"\x7fELF\x02" or len(head) < 64:
            return True
        offset = int.from_bytes(head[32:40], "little")
        size, count = (int.from_bytes(head[at : at + 2], "little") for at in (54, 56))
        stream.seek(offset)
        table = stream.read(size * count)
    places = range(0, len(table), size or 1)
    return any(int.from_bytes(table[at : at + 4], "little") == _PT_INTERP for at in places)
