"""`benchgate rejudge`: decides the verdicts again from a session's files.

Takes a session's folder and the programs that its user trusts; prints the summary. The exit status is that
of the verdicts (session/exit_codes.py).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.commands.shared import declare_tests, declare_trusted, print_notes, trusted


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="a session folder, or a results.csv (without verdicts)")
    declare_trusted(parser)
    declare_tests(parser)


def run(words: argparse.Namespace) -> int:
    from benchgate.session import remarks
    from benchgate.session.rejudging import rejudge, thresholds

    folder = Path(words.folder)
    files = trusted(words, folder)
    text, code = rejudge.show(folder, files)
    print(text)
    print_notes(remarks.remarks(folder, files, thresholds.of_session(folder, words.tests)))
    return code
