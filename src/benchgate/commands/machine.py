"""`benchgate machine`: shows or checks a machine file, and calibrates one from this host.

Takes an action and a file; prints a table, or what is wrong. Exit status 1 if a file disagrees with its
curve, also one that was just calibrated, 4 for a file that contradicts itself and for a usage error.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchgate.commands.shared import say


def declare(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    show = actions.add_parser("show", help="print a machine as a table")
    show.add_argument("machine", metavar="NAME|FILE", help="a shipped machine, or a YAML file")
    show.set_defaults(command=_show)
    check = actions.add_parser("check", help="check a YAML file, and with --curve against a measured curve")
    check.add_argument("file", type=Path, metavar="FILE")
    check.add_argument("--curve", type=Path, metavar="CSV", help="the CSV file that calibrate wrote")
    check.set_defaults(command=_check)
    calibrate = actions.add_parser("calibrate", help="measure this host and write its YAML, CSV and SVG")
    about = "default: host.yaml"
    calibrate.add_argument("--out", type=Path, default=Path("host.yaml"), metavar="FILE", help=about)
    calibrate.add_argument("--quick", action="store_true", help="fewer sizes and passes: seconds, and rough")
    calibrate.set_defaults(command=_calibrate)


def _show(words: argparse.Namespace) -> int:
    from benchgate.plan import catalog
    from benchgate.render.tables.machine import machine_table

    machine = catalog.load_machine(words.machine)
    ideal = f"{words.machine}: no memory system; one instruction takes 1 ns"
    print(machine_table(machine) if machine else ideal)
    return 0


def _check(words: argparse.Namespace) -> int:
    from benchgate.session import calibration

    wrong = calibration.check(words.file, words.curve)
    for text in wrong:
        print(f"{words.file}: {text}", file=sys.stderr)
    if not wrong:
        print(f"{words.file} is good" + (f", and agrees with {words.curve}" if words.curve else ""))
    return 1 if wrong else 0


def _calibrate(words: argparse.Namespace) -> int:
    from benchgate.session import calibration

    done = calibration.calibrate(words.out, quick=words.quick, say=say)
    print(done.text)
    return 0 if done.agrees else 1
