"""`benchgate history`: imports sessions into the history, lists its rows, draws the course of one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from benchgate.commands.shared import declare_trusted, say, trusted

if TYPE_CHECKING:
    from benchgate.history.place import Place

NAME = "history"
ABOUT = "import sessions into the history; draw the course of a row, with its changes"

IMPORT = "import"
"""No row has this name: a row's name ends with its system's."""


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="*",
        metavar="ROW | import DIR...",
        help="a row or cell, as primes-linux-smp2; `import` and sessions' folders; nothing: list the rows",
    )
    parser.add_argument(
        "--db",
        default="",
        metavar="PATH|URL",
        help="the history (default: $BENCHGATE_HISTORY, else the user's)",
    )
    parser.add_argument("--metric", default="work", metavar="NAME", help="of this metric (default: work)")
    parser.add_argument("--lane", default="", metavar="NAME", help="only on this lane")
    parser.add_argument(
        "--last", type=_count, default="1000", metavar="N", help="the newest N sessions (at most 1000)"
    )
    parser.add_argument(
        "--error",
        type=_error,
        default="0.05",
        metavar="P",
        help="at most this probability that a course without a change shows one (default: 0.05)",
    )
    parser.add_argument(
        "--width", type=_count, default=None, metavar="N", help="columns (default: the screen's)"
    )
    parser.add_argument("--html", type=Path, default=None, metavar="FILE", help="write the course as a page")
    parser.add_argument(
        "--unverified",
        action="store_true",
        help="import: also a session that cannot be verified, marked as such",
    )
    declare_trusted(parser)


def run(words: argparse.Namespace) -> int:
    import os

    from benchgate.base.errors import UsageError
    from benchgate.history import place

    where = place.find(words.db, os.environ)
    if words.what[:1] == [IMPORT]:
        return _import(words, where)
    if len(words.what) > 1:
        raise UsageError(f"history draws one row at a time, not {' '.join(words.what)}")
    return _show(words, where)


def _show(words: argparse.Namespace, where: Place) -> int:
    import shutil

    from benchgate.session import histories

    if not words.what:
        print(histories.rows_text(where))
        return 0
    wanted = histories.Wanted(words.what[0], words.metric, words.lane, words.last, words.error)
    if words.html:
        print(f"wrote {histories.write_page(where, wanted, words.html)}")
        return 0
    print(histories.courses_text(where, wanted, words.width or shutil.get_terminal_size().columns))
    return 0


def _import(words: argparse.Namespace, where: Place) -> int:
    """Every folder is tried; the status is that of the last one that was not imported."""
    from benchgate.base.errors import BenchgateError, NeedsFilesError, UsageError
    from benchgate.session import history_import

    if not words.what[1:]:
        raise UsageError("history import needs sessions' folders, such as reports/latest")
    status, files = 0, trusted(words)
    for folder in words.what[1:]:
        try:
            print(history_import.import_session(Path(folder), where, files, unverified=words.unverified))
        except BenchgateError as error:
            say(str(error))
            status = NeedsFilesError.status if isinstance(error, NeedsFilesError) else 4
    return status


def _count(word: str) -> int:
    if not (word.isascii() and word.isdecimal() and len(word) < 6 and 1 <= int(word) <= 1000):
        raise argparse.ArgumentTypeError(f"`{word}` is not a whole number from 1 to 1000")
    return int(word)


def _error(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not 1e-6 <= value <= 0.5:
        raise argparse.ArgumentTypeError(f"`{word}` is not a probability from 0.000001 to 0.5")
    return value
