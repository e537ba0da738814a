"""`benchgate history import`: adds sessions to the history, each once.

It is a command of its own because its words are folders and not a row; cli.py joins the two words.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.commands.shared import declare_history, declare_trusted, say, trusted

NAME = "history-import"
ABOUT = "import sessions into the history (`benchgate history import` is the same)"


def declare(parser: argparse.ArgumentParser) -> None:
    parser.prog = "benchgate history import"
    parser.add_argument(
        "folders", nargs="+", metavar="DIR", help="a session's folder, such as reports/latest"
    )
    declare_history(parser)
    parser.add_argument(
        "--unverified", action="store_true", help="also a session that cannot be verified, marked as such"
    )
    declare_trusted(parser)


def run(words: argparse.Namespace) -> int:
    """Every folder is tried; the status is that of the last one that was not imported."""
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
