"""`benchgate verify`: checks a session folder against itself.

The exit status is that of evidence/check.py, or 15 if a threshold is not that of its test.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.commands.shared import declare_tests, declare_trusted, print_notes, trusted

NAME = "verify"
ABOUT = "check a session folder: hashes, verifiers, statistics, verdicts"


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="reports/runs/..., or reports/latest")
    declare_trusted(parser)
    declare_tests(parser)


def run(words: argparse.Namespace) -> int:
    from benchgate.evidence import check
    from benchgate.session import rejudge, remarks, thresholds

    folder, files = Path(words.folder), trusted(words)
    report = check.verify_session(folder, lambda of: rejudge.recompute(of, files))
    print(report.text)
    if report.exit_code not in (check.INTACT, check.MISMATCH):
        return report.exit_code
    differing = thresholds.of_session(folder, words.tests)
    print_notes(remarks.remarks(folder, files, differing))
    return report.exit_code or (thresholds.STATUS if differing else 0)
