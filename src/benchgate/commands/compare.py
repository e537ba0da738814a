"""`benchgate compare`: the figures of two sessions or programs side by side.

Takes two sides; prints a table. The exit status is 0, with --fail-on that of session/comparing/comparison.py.
"""

from __future__ import annotations

import argparse

from benchgate.commands.shared import declare_history, real


def declare(parser: argparse.ArgumentParser) -> None:
    about = "a session's folder, FOLDER:SYSTEM, history:SESSION (latest, latest~N, an id, commit=SHA), "
    about += "JSON of Kevlar's runner, or a file of BENCH lines"
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
    declare_history(parser)


def run(words: argparse.Namespace) -> int:
    from benchgate.session.comparing import comparison

    report = comparison.compare(words.a, words.b, words.metric, fail_on=words.fail_on, db=words.db)
    print(report.text)
    return report.status
