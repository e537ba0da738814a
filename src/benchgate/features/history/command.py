"""`benchgate history`: lists the rows of the history, or draws the course of one.

Takes a row or cell, or none; prints text, or writes a page. Exit status 4 if the history has no such row.

`benchgate history import` takes the folders of sessions, adds each once and prints a line for it. Every
folder is tried; the exit status is that of the last one that was not imported: 14 if files of the session's
user must be named, else 4.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.commands.shared import declare_trusted, real, say, trusted, whole
from benchgate.features.history import source


def declare(parser: argparse.ArgumentParser) -> None:
    about = "a row, or a cell such as primes-linux-smp2; none: list the rows"
    parser.add_argument("row", nargs="?", metavar="ROW", help=about)
    source.declare(parser)
    parser.add_argument("--metric", default="work", metavar="NAME", help="of this metric (default: work)")
    parser.add_argument("--lane", default="", metavar="NAME", help="only on this lane")
    about = "the newest N sessions (at most 1000)"
    parser.add_argument("--last", type=whole(1, 1000), default="1000", metavar="N", help=about)
    about = "at most this probability that a course without a change shows one (default: 0.05)"
    chance = real(1e-6, 0.5, "a probability from 0.000001 to 0.5")
    parser.add_argument("--error", type=chance, default="0.05", metavar="P", help=about)
    about = "write a page: of the row, or of all rows"
    parser.add_argument("--html", type=Path, default=None, metavar="FILE", help=about)


def run(words: argparse.Namespace) -> int:
    import os
    import shutil

    from benchgate.features.history import histories, store

    where = store.find_place(words.db, os.environ)
    wanted = histories.CourseQuery(words.row or "", words.metric, words.lane, words.last, words.error)
    if words.html:
        print(f"wrote {histories.write_page(where, wanted, words.html)}")
    elif not wanted.name:
        print(histories.rows_text(where))
    else:
        print(histories.courses_text(where, wanted, shutil.get_terminal_size().columns))
    return 0


def declare_import(parser: argparse.ArgumentParser) -> None:
    parser.prog = "benchgate history import"
    about = "a session's folder, such as reports/latest"
    parser.add_argument("folders", nargs="+", metavar="DIR", help=about)
    source.declare(parser)
    about = "also a session that cannot be verified, marked as such"
    parser.add_argument("--unverified", action="store_true", help=about)
    declare_trusted(parser)


def run_import(words: argparse.Namespace) -> int:
    import os

    from benchgate.base.errors import BenchgateError, NeedsFilesError
    from benchgate.features.history import histories, store

    where = store.find_place(words.db, os.environ)
    status = 0
    for folder in map(Path, words.folders):
        files = trusted(words, folder)
        try:
            print(histories.import_session(folder, where, files, unverified=words.unverified))
        except BenchgateError as error:
            say(str(error))
            status = NeedsFilesError.status if isinstance(error, NeedsFilesError) else 4
    return status
