"""`benchgate report`: makes a session's page again, or a page of the history. Exit status 0: it is written.

Takes a session's folder, `history` or `history:ROW`; writes one HTML file and prints its path.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.commands.shared import declare_history, declare_trusted, trusted

FOLDER = "a session folder, a results.csv (without verdicts), or the history: `history` or `history:ROW`"
HISTORY = "history"


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help=FOLDER)
    about = "the file to write (default: report-SESSION.html in this folder)"
    parser.add_argument("--out", metavar="FILE", help=about)
    declare_trusted(parser)
    declare_history(parser)


def run(words: argparse.Namespace) -> int:
    from benchgate.session.rejudging import rejudge

    out = Path(words.out) if words.out else None
    name, _, row = words.folder.partition(":")
    if name == HISTORY and not Path(words.folder).exists():
        print(_of_history(row, out, words.db))
    else:
        print(rejudge.write_page(Path(words.folder), out, trusted(words, Path(words.folder))))
    return 0


def _of_history(row: str, out: Path | None, db: str) -> Path:
    import os

    from benchgate.history import store
    from benchgate.session import histories
    from benchgate.session.rejudging import rejudge

    file = out or Path(rejudge.file_name(f"history-{row}" if row else HISTORY))
    return histories.write_page(store.find_place(db, os.environ), histories.CourseQuery(row), file)
