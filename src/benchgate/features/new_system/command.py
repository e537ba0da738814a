"""`benchgate new-system`: boots an unknown kernel and writes its YAML.

Takes a kernel and what is known of it; prints what it saw. Fails with BenchgateError, which says what to
try next.
"""

from __future__ import annotations

import argparse

from benchgate.commands.shared import say


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", help="the kernel, or a disk or CD image with its boot loader")
    parser.add_argument("--out", metavar="FILE", help="the YAML file to write (default: NAME.yaml here)")
    parser.add_argument("--name", help="the system's name (default: from the file's name)")
    parser.add_argument("--arch", default="", help="if the file does not say it: x86_64, riscv64, aarch64")
    parser.add_argument("--disk", action="append", default=[], metavar="IMAGE", help="a disk; repeatable")
    parser.add_argument("--initrd", metavar="FILE", help="an initrd, or a multiboot module")
    parser.add_argument("--append", default="", metavar="WORDS", help="the kernel command line")
    parser.add_argument("--machine", default="", help="QEMU's machine type (default: several are tried)")
    parser.add_argument("--cpu", default="", help="QEMU's CPU model (default: the best, then a plain one)")
    parser.add_argument("--firmware", default="", help="none, default, or a file (-bios)")
    parser.add_argument("--memory", default="256M", help="memory (default: 256M)")
    about = "type this at its prompt; {workers}: CPUs"
    parser.add_argument("--send", action="append", default=[], metavar="LINE", help=about)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each boot and line (default: 60)")
    parser.add_argument("--qemu", metavar="PATH", help="use this QEMU instead of the pinned one")
    parser.add_argument("--force", action="store_true", help="replace the YAML file")


def run(words: argparse.Namespace) -> int:
    from benchgate.features.new_system import first_contact

    print(first_contact.run(vars(words), say, _show), end="")
    return 0


def _show(text: str) -> None:
    print(text, end="", flush=True)
