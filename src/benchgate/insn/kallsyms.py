"""The symbols of a distribution's Linux, which has them in /proc/kallsyms only.

Takes a Linux image; boots it once with one small program (plain TCG, without the clock) that prints them, and
keeps the file in the cache: `read_symbols` can read it. The addresses are valid for boots with `nokaslr`.
Fails with BuildError.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from benchgate.base.cells import Accel
from benchgate.base.errors import BootError, BuildError
from benchgate.base.files import file_digest
from benchgate.base.process import capture
from benchgate.base.system.qemu import GOOD_EXIT, Qemu, comma_safe, command
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
    init = compiled(kind, "init", SOURCE / "guests", ["kallsyms.c"], _FLAGS, compiler=cross.compiler(guest))
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
        # no_timer_check: on a busy host the check fails, and the kernel panics (fixtures/systems/linux.yaml).
        append="nokaslr cryptomgr.notests lpj=4000000 no_timer_check panic=-1 quiet",
        extra=tuple(word.format(comma_safe(str(symbols))) for word in clock_guest(qemu.guest).to_file),
    )
    try:
        done = capture(argv, BOOT_S, {**os.environ, **qemu.environment})
    except (BootError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{image} did not boot to print its symbols: {error}") from error
    if done.returncode != GOOD_EXIT:
        stderr = done.stderr.strip()[:200]
        raise BuildError(f"{image} did not print its symbols (status {done.returncode}) {stderr}")
