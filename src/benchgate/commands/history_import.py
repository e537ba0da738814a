"""`benchgate history import`: adds sessions to the history, each once.

Takes the folders of sessions; prints a line for each. Every folder is tried; the exit status is that of the
last one that was not imported: 14 if files of the session's user must be named, else 4.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.commands.shared import declare_history, declare_trusted, say, trusted


def declare(parser: argparse.ArgumentParser) -> None:
    parser.prog = "benchgate history import"
    about = "a session's folder, such as reports/latest"
    parser.add_argument("folders", nargs="+", metavar="DIR", help=about)
    declare_history(parser)
    about = "also a session that cannot be verified, marked as such"
    parser.add_argument("--unverified", action="store_true", help=about)
    declare_trusted(parser)


def run(words: argparse.Namespace) -> int:
    import os

    from benchgate.base.errors import BenchgateError, NeedsFilesError
    from benchgate.history import place
    from benchgate.session import history_import

    where = place.find(words.db, os.environ)
    status = 0
    for folder in map(Path, words.folders):
        files = trusted(words, folder)
        try:
            print(history_import.import_session(folder, where, files, unverified=words.unverified))
        except BenchgateError as error:
            say(str(error))
            status = NeedsFilesError.status if isinstance(error, NeedsFilesError) else 4
    return status
