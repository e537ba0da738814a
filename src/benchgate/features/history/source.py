"""Sessions of the history for the commands `compare` and `report` (hooks.SessionSource).

Takes a session or a row, and the words of the command; gives a side, or the page that it wrote. Fails with
HistoryError and UsageError as histories.py does.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchgate.evidence.figures_file import ComparisonSide


def declare(parser: argparse.ArgumentParser) -> None:
    about = "the history (default: $BENCHGATE_HISTORY, else the user's own)"
    parser.add_argument("--db", default="", metavar="PATH|URL", help=about)


def side(word: str, words: argparse.Namespace) -> ComparisonSide:
    from benchgate.features.history import histories

    return histories.read_side(word, words.db)


def write_page(row: str, out: Path | None, words: argparse.Namespace) -> Path:
    import os

    from benchgate.features.history import histories, store
    from benchgate.session.rejudging import rejudge

    file = out or Path(rejudge.file_name(f"history-{row}" if row else "history"))
    return histories.write_page(store.find_place(words.db, os.environ), histories.CourseQuery(row), file)
