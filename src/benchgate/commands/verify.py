"""`benchgate verify`: checks a session folder against itself.

The exit status is that of evidence/check.py (MEANINGS).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from benchgate.base.errors import UsageError
from benchgate.commands.shared import declare_tests, declare_trusted, print_notes, trusted

if TYPE_CHECKING:
    from benchgate.base.ssh_signatures import Signers


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="reports/runs/..., or reports/latest")
    about = "whose signature is accepted, in the format of ssh-keygen(1); without one the exit status is 16"
    parser.add_argument("--signers", metavar="FILE", help=about)
    parser.add_argument("--identity", metavar="NAME", default="", help="the one signer who must have signed")
    declare_trusted(parser)
    declare_tests(parser)


def run(words: argparse.Namespace) -> int:
    from benchgate.evidence import check
    from benchgate.session import remarks
    from benchgate.session.rejudging import rejudge, thresholds

    folder, signers = Path(words.folder), _signers(words)
    files = trusted(words, folder)
    report = check.verify_session(folder, lambda of: rejudge.recompute(of, files), signers)
    print(report.text)
    if report.exit_code not in (check.INTACT, check.MISMATCH):
        return report.exit_code
    differing = thresholds.of_session(folder, words.tests)
    print_notes(remarks.remarks(folder, files, differing))
    return report.exit_code or (check.OTHER_THRESHOLD if differing else 0)


def _signers(words: argparse.Namespace) -> Signers | None:
    from benchgate.base.ssh_signatures import Signers

    if words.signers is None and words.identity:
        raise UsageError(f"--identity {words.identity} names one of the signers; add --signers FILE")
    return None if words.signers is None else Signers(Path(words.signers), words.identity)
