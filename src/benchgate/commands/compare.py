"""`benchgate compare`: the figures of two sessions or programs side by side."""

from __future__ import annotations

import argparse

NAME = "compare"
ABOUT = "print the figures of two sessions or programs side by side"


def declare(parser: argparse.ArgumentParser) -> None:
    for side in ("a", "b"):
        parser.add_argument(
            side,
            metavar=side.upper(),
            help="a session's folder, FOLDER:SYSTEM, JSON of Kevlar's runner, or a file of BENCH lines",
        )
    parser.add_argument(
        "--metric", action="append", default=[], metavar="NAME", help="only this metric; repeatable"
    )


def run(words: argparse.Namespace) -> int:
    from benchgate.session import comparison

    print(comparison.text(words.a, words.b, words.metric))
    return 0
