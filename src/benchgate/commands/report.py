"""`benchgate report`: makes a session's page again. The exit status is 0 if it is written.

Takes a session's folder; writes one HTML file and prints its path.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.commands.shared import declare_trusted, trusted

NAME = "report"
ABOUT = "make the HTML page of a session again from its files; boots nothing"


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="a session folder, or a results.csv (without verdicts)")
    about = "the file to write (default: report-SESSION.html in this folder)"
    parser.add_argument("--out", metavar="FILE", help=about)
    declare_trusted(parser)


def run(words: argparse.Namespace) -> int:
    from benchgate.session import report

    print(report.write(Path(words.folder), Path(words.out) if words.out else None, trusted(words)))
    return 0
