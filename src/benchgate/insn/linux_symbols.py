"""The symbols of a Linux image, printed by the kernel itself.

Takes a QEMU and a kernel image; gives a file of text symbols in the format of System.map, kept in the cache.
A distribution's kernel has its symbols in /proc/kallsyms only. So the kernel is booted once with one small
program (plain TCG, without the clock) that prints them. Fails with BuildError. The addresses are valid for
boots with `nokaslr`.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from benchgate.base.cells import Accel
from benchgate.base.errors import BootError, BuildError
from benchgate.base.files import file_digest
from benchgate.base.process import capture
from benchgate.base.qemu import GOOD_EXIT, Qemu, comma_safe, command
from benchgate.build.cache import entry
from benchgate.build.fetch import cross
from benchgate.build.programs import compiled, initramfs
from benchgate.insn.guests import clock_guest
from benchgate.insn.plugin import SOURCE
from benchgate.insn.symbols import read_symbols

BOOT_S = 300.0
MIN_SYMBOLS = 1000
"""A Linux kernel has tens of thousands of text symbols."""
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-static")


def linux_symbols(qemu: Qemu, image: Path) -> Path:
    """A file that `read_symbols` can read."""
    guest = qemu.guest
    kind = guest.kind("insn-kallsyms")
    init = compiled(kind, "init", SOURCE, ["kallsyms.c"], _FLAGS, compiler=cross.compiler(guest))
    key = {"kernel": file_digest(image), "init": file_digest(init)}

    def make(files: Path) -> None:
        archive, symbols = files / "initramfs", files / "symbols"
        archive.write_bytes(initramfs({"init": init.read_bytes()}))
        _boot(qemu, image, archive, symbols)
        if len(read_symbols(symbols).names) < MIN_SYMBOLS:
            raise BuildError(f"{image}: /proc/kallsyms has no text symbols; give a vmlinux file instead")
        archive.unlink()

    return entry("insn-symbols", key, make) / "symbols"


def _boot(qemu: Qemu, image: Path, archive: Path, symbols: Path) -> None:
    argv = command(
        qemu,
        machine=qemu.guest.machine,
        accel=Accel.TCG,
        cpu="max",
        memory="512M",
        kernel=image,
        initrd=archive,
        append="nokaslr cryptomgr.notests lpj=4000000 panic=-1 quiet",
        extra=tuple(word.format(comma_safe(str(symbols))) for word in clock_guest(qemu.guest).to_file),
    )
    try:
        done = capture(argv, BOOT_S, {**os.environ, **qemu.environment})
    except (BootError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{image} did not boot to print its symbols: {error}") from error
    if done.returncode != GOOD_EXIT:
        stderr = done.stderr.strip()[:200]
        raise BuildError(f"{image} did not print its symbols (status {done.returncode}) {stderr}")
