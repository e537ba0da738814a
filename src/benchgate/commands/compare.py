"""`benchgate compare`: the figures of two sessions or programs side by side.

Takes two sides; prints a table. The exit status is 0, with --fail-on that of session/comparing/comparison.py.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from benchgate import hooks
from benchgate.commands.shared import declare_sources, real

if TYPE_CHECKING:
    from benchgate.evidence.figures_file import ComparisonSide


def declare(parser: argparse.ArgumentParser) -> None:
    others = ", ".join(["a session's folder", "FOLDER:SYSTEM", *(one.side for one in hooks.sessions())])
    about = f"{others}, JSON of Kevlar's runner, or a file of BENCH lines"
    for side in ("a", "b"):
        parser.add_argument(side, metavar=side.upper(), help=about)
    about = "only this metric; repeatable"
    parser.add_argument("--metric", action="append", default=[], metavar="NAME", help=about)
    about = (
        "exit with 1 if B is worse than A by more than this, by the whole interval; with 5 if a figure of A "
    )
    about += "could not be decided"
    ratio = real(1, 1000, "a ratio from 1 to 1000, such as 1.02")
    parser.add_argument("--fail-on", type=ratio, default=None, metavar="RATIO", help=about)
    declare_sources(parser)


def run(words: argparse.Namespace) -> int:
    from benchgate.session.comparing import comparison

    read = partial(_read, words)
    report = comparison.compare(words.a, words.b, words.metric, fail_on=words.fail_on, read=read)
    print(report.text)
    return report.status


def _read(words: argparse.Namespace, word: str) -> ComparisonSide:
    from benchgate.evidence import figures_file

    _, colon, wanted = word.partition(":")
    if colon and (sessions := hooks.sessions_named(word)):
        side: ComparisonSide = sessions.module().side(wanted, words)
        return side
    return figures_file.read(word)
