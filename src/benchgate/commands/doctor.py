"""`benchgate doctor`: what this host can be used for.

Takes a QEMU, if not the pinned one; prints a row per fact. Exit status 0; a row that failed says so itself. A
report about KVM that was asked for and cannot be written is an error.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--qemu", metavar="PATH", help="use this QEMU instead of the pinned one")
    about = "also write what was found of KVM, as JSON that names neither host nor user"
    parser.add_argument("--kvm-report", metavar="FILE", help=about)


def run(words: argparse.Namespace) -> int:
    from benchgate.session import doctor

    qemu = None if words.qemu is None else Path(words.qemu).absolute()
    report = None if words.kvm_report is None else Path(words.kvm_report).absolute()
    print(doctor.report(qemu, kvm_report=report))
    if report is not None:
        print(f"report about KVM: {report}")
    return 0
