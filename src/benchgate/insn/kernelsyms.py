"""The symbols of a Linux image, from the kernel itself.

Takes a QEMU and a kernel image; gives a file of text symbols as in System.map, kept in the cache. A
distribution's kernel has its symbols in /proc/kallsyms only, so a guest of one small program is booted once
(plain TCG, without the clock) and prints them. Fails with BuildError. The addresses hold for boots with
`nokaslr`.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from benchgate.build import initramfs
from benchgate.cache import entry
from benchgate.errors import BuildError
from benchgate.files import file_digest
from benchgate.host.probe import Emulator
from benchgate.insn.attribution import read_symbols
from benchgate.insn.plugin import SOURCE
from benchgate.toolchain import compiler, run_all

BOOT_S = 300.0
FEWEST = 1000
"""A Linux kernel has tens of thousands of text symbols."""
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-static")


def linux_symbols(qemu: Emulator, image: Path) -> Path:
    """A file for `read_symbols`."""
    source = SOURCE / "kallsyms.c"
    key = {"kernel": file_digest(image), "source": file_digest(source)}

    def make(files: Path) -> None:
        init, archive = files / "init", files / "initramfs"
        run_all([[*compiler().argv, *_FLAGS, str(source), "-o", str(init)]], files, "kallsyms", 60.0)
        archive.write_bytes(initramfs({"init": init.read_bytes()}))
        symbols = files / "symbols"
        _boot(qemu, image, archive, symbols)
        if len(read_symbols(symbols).names) < FEWEST:
            raise BuildError(
                f"{image}: its /proc/kallsyms shows no text symbols; name a vmlinux file instead"
            )
        init.unlink()
        archive.unlink()

    return entry("insn-symbols", key, make) / "symbols"


def _boot(qemu: Emulator, image: Path, archive: Path, symbols: Path) -> None:
    argv = [str(qemu.binary)]
    for data in qemu.data:
        argv += ["-L", str(data)]
    argv += ["-M", "q35", "-m", "512M", "-cpu", "max", "-accel", "tcg", "-nodefaults", "-display", "none"]
    argv += ["-nic", "none", "-no-reboot", "-debugcon", f"file:{symbols}".replace(",", ",,")]
    argv += ["-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-kernel", str(image), "-initrd", str(archive)]
    argv += ["-append", "nokaslr cryptomgr.notests lpj=4000000 panic=-1 quiet"]
    try:
        done = subprocess.run(
            argv,
            env={**os.environ, **qemu.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=BOOT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{image} did not boot to print its symbols: {error}") from error
    if done.returncode != 33:
        said = done.stderr.decode("utf-8", "replace").strip()[:200]
        raise BuildError(f"{image} did not print its symbols (status {done.returncode}) {said}")
