"""`python -m contrib.calibration`: measures this host into a machine file, or holds a file against a curve.

Takes an action and paths; prints what was measured, or what is wrong. Exit status 1 if a file disagrees with
its curve, also one that was just measured, 2 for words that are not known, and 4, with one sentence, for a
file that contradicts itself, for a place that cannot be written and for a host that cannot be measured.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchgate import cli
from benchgate.commands.shared import say
from contrib.calibration import calibration

PROG = "python -m contrib.calibration"


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=PROG, description=__doc__)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    measure = actions.add_parser("measure", help="measure this host and write its YAML, CSV and SVG")
    about = "default: host.yaml"
    measure.add_argument("--out", type=Path, default=Path("host.yaml"), metavar="FILE", help=about)
    measure.add_argument("--quick", action="store_true", help="fewer sizes and passes: seconds, and rough")
    measure.set_defaults(command=_measure)
    check = actions.add_parser("check", help="are the curve's steps where a machine file says they are?")
    check.add_argument("file", type=Path, metavar="FILE")
    check.add_argument("curve", type=Path, metavar="CSV", help="the CSV file that `measure` wrote")
    check.set_defaults(command=_check)
    words = parser.parse_args(given)
    return cli.status_of(PROG, lambda: int(words.command(words)))


def _measure(words: argparse.Namespace) -> int:
    done = calibration.calibrate(words.out, quick=words.quick, say=say)
    print(done.text)
    return 0 if done.agrees else 1


def _check(words: argparse.Namespace) -> int:
    wrong = calibration.check(words.file, words.curve)
    for text in wrong:
        print(f"{words.file}: {text}", file=sys.stderr)
    if not wrong:
        print(f"{words.file} is good, and agrees with {words.curve}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
