"""`benchgate sign`: signs a session's manifest with an SSH key.

The exit status is 0, or that of evidence/check.py if the hashes or the chain do not agree.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.base.errors import UsageError


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="reports/runs/..., or reports/latest")
    about = "a private SSH key, or a public one whose private key is in an ssh-agent"
    parser.add_argument("--key", metavar="FILE", required=True, help=about)


def run(words: argparse.Namespace) -> int:
    from benchgate.evidence import chain, check, files

    folder = Path(words.folder)
    report = check.verify_session(folder)
    if report.exit_code != check.INTACT:
        print(report.text)
        return report.exit_code
    if chain.has_signature(folder):
        raise UsageError(f"{folder / files.SIGNATURE} exists; remove it to sign again")
    files.write_whole(folder / files.SIGNATURE, chain.sign_manifest(folder, Path(words.key)))
    print(f"wrote {folder / files.SIGNATURE}; next: benchgate verify {folder} --signers FILE")
    return 0
