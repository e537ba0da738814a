"""`benchgate machine`: shows or checks a machine file.

Takes an action and a file; prints a table, or that the file is good. Exit status 4 for a file that
contradicts itself and for a usage error.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def declare(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    show = actions.add_parser("show", help="print a machine as a table")
    show.add_argument("machine", metavar="NAME|FILE", help="a shipped machine, or a YAML file")
    show.set_defaults(command=_show)
    check = actions.add_parser("check", help="check whether a YAML file contradicts itself")
    check.add_argument("file", type=Path, metavar="FILE")
    check.set_defaults(command=_check)


def _show(words: argparse.Namespace) -> int:
    from benchgate.plan import catalog
    from benchgate.render.tables.machine import machine_table

    machine = catalog.load_machine(words.machine)
    ideal = f"{words.machine}: no memory system; one instruction takes 1 ns"
    print(machine_table(machine) if machine else ideal)
    return 0


def _check(words: argparse.Namespace) -> int:
    from benchgate.plan import machinefile

    machinefile.load(words.file)
    print(f"{words.file} is good")
    return 0
