"""`benchgate explore replay`: repeats a find of an exploration exactly, also under a debugger.

Takes the folder of a find; prints whether both runs are the same, and exits with 0 or 1.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.commands.replay import declare_replay, order_of
from benchgate.commands.shared import say


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("find", type=Path, help="DIR/finds/find-N, or DIR/finds/find-N-small")
    declare_replay(parser)


def run(words: argparse.Namespace) -> int:
    from benchgate.session.exploration import steps

    text, same = steps.replay_find(order_of(words, words.find.absolute()), say)
    print(text)
    return 0 if same else 1
