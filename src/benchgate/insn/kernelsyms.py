"""The symbols of a Linux image, from the kernel itself.

Takes a QEMU and a kernel image; gives a file of text symbols as in System.map, kept in the cache. A
distribution's kernel has its symbols in /proc/kallsyms only, so a guest of one small program is booted once
(plain TCG, without the clock) and prints them. Fails with BuildError. The addresses hold for boots with
`nokaslr`.
"""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

from benchgate.build import initramfs
from benchgate.cache import entry
from benchgate.errors import BuildError
from benchgate.files import file_digest
from benchgate.host.probe import Emulator
from benchgate.host.quirks import cpu_words
from benchgate.insn.attribution import Symbols, read_symbols
from benchgate.insn.plugin import SOURCE
from benchgate.model import Accel
from benchgate.toolchain import compiler, hear, run_all

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
    cpu = cpu_words("max", Accel.TCG, qemu.version)
    argv += ["-M", "q35", "-m", "512M", "-cpu", cpu, "-accel", "tcg", "-nodefaults", "-display", "none"]
    argv += ["-nic", "none", "-no-reboot", "-debugcon", f"file:{symbols}".replace(",", ",,")]
    argv += ["-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-kernel", str(image), "-initrd", str(archive)]
    argv += ["-append", "nokaslr cryptomgr.notests lpj=4000000 panic=-1 quiet"]
    try:
        done = hear(argv, BOOT_S, {**os.environ, **qemu.environment})
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{image} did not boot to print its symbols: {error}") from error
    if done.returncode != 33:
        said = done.stderr.strip()[:200]
        raise BuildError(f"{image} did not print its symbols (status {done.returncode}) {said}")


def symbol_file(symbols: Symbols) -> bytes:
    """An ELF64 file that holds nothing but these text symbols, as debuggers take them (System V ABI,
    chapter 4)."""
    names, table = bytearray(b"\0"), bytearray(24)
    for name, address in zip(symbols.names, symbols.addresses, strict=True):
        table += struct.pack("<IBBHQQ", len(names), 0x12, 0, 1, address, 0)  # a global function in section 1
        names += name.encode("ascii", "replace") + b"\0"
    sections = b"\0.text\0.symtab\0.strtab\0"
    low, high = symbols.addresses[0], symbols.addresses[-1] + 1
    at_table, at_names = 64, 64 + len(table)
    at_sections = at_names + len(names)
    at_headers = at_sections + len(sections)
    headers = (
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (1, 8, 6, low, 64, high - low, 0, 0, 16, 0),  # the code itself is in the guest only
        (7, 2, 0, 0, at_table, len(table), 3, 1, 8, 24),
        (15, 3, 0, 0, at_names, len(names), 0, 0, 1, 0),
        (15, 3, 0, 0, at_sections, len(sections), 0, 0, 1, 0),
    )
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, low, 0, at_headers, 0, 64, 0, 0, 64, len(headers), 4)
    tail = b"".join(struct.pack("<IIQQQQIIQQ", *header) for header in headers)
    return head + table + names + sections + tail
