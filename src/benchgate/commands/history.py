"""`benchgate history`: lists the rows of the history, or draws the course of one.

Takes a row or cell, or none; prints text, or writes a page. Exit status 4 if the history has no such row.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.commands.shared import declare_history

NAME = "history"
ABOUT = "draw the course of a row over sessions, with its changes; `history import DIR...` adds sessions"


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "row",
        nargs="?",
        metavar="ROW",
        help="a row, or a cell such as primes-linux-smp2; none: list the rows",
    )
    declare_history(parser)
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
    parser.add_argument(
        "--html", type=Path, default=None, metavar="FILE", help="write a page: of the row, or of all rows"
    )


def run(words: argparse.Namespace) -> int:
    import os
    import shutil

    from benchgate.history import place
    from benchgate.session import histories

    where = place.find(words.db, os.environ)
    wanted = histories.Wanted(words.row or "", words.metric, words.lane, words.last, words.error)
    if words.html:
        print(f"wrote {histories.write_page(where, wanted, words.html)}")
    elif not wanted.name:
        print(histories.rows_text(where))
    else:
        print(histories.courses_text(where, wanted, words.width or shutil.get_terminal_size().columns))
    return 0


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
