"""`benchgate fleet certificates`: makes the certificates with which a fleet speaks outside of one machine.

Takes a new folder; writes one folder for each role into it. Exit status 0.
"""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "certificates"
ABOUT = "make the certificates of a fleet's scheduler, workers and clients"


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="a new folder; it holds the authority's key, so it must stay private")
    parser.add_argument(
        "--days", type=_days, default=825, metavar="N", help="valid for N days (default: 825)"
    )


def run(words: argparse.Namespace) -> int:
    from benchgate.fleet import certificates

    folder = Path(words.folder)
    certificates.make(folder, words.days)
    for role in certificates.ROLES:
        print(f"{folder / role}: for --certificates on each machine that is a {role}")
    kept = folder / certificates.AUTHORITY / certificates.KEY
    print(f"{kept}: makes further certificates; keep it here, and copy it nowhere")
    return 0


def _days(word: str) -> int:
    from benchgate.fleet.certificates import MOST_DAYS

    if not (word.isascii() and word.isdecimal() and len(word) < 6 and 1 <= int(word) <= MOST_DAYS):
        raise argparse.ArgumentTypeError(f"`{word:.40}` is not a whole number from 1 to {MOST_DAYS}")
    return int(word)
