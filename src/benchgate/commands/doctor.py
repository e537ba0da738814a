"""`benchgate doctor`: what this host can be used for.

Takes a QEMU, if not the pinned one; prints a row per fact. Exit status 0; a row that failed says so itself.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--qemu", metavar="PATH", help="use this QEMU instead of the pinned one")


def run(words: argparse.Namespace) -> int:
    from benchgate.session import doctor

    print(doctor.report(None if words.qemu is None else Path(words.qemu).absolute()))
    return 0
