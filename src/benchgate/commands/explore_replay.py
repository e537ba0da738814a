"""`benchgate explore replay`: repeats a find exactly, also under a debugger.

Takes the folder of a find; prints whether both runs are the same. Exit status 1 if they differ.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.commands.shared import declare_workload, free_name, say, trusted

NAME = "explore-replay"
ABOUT = "repeat a find of an exploration exactly (benchgate explore replay)"


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("find", type=Path, help="DIR/finds/find-N, or DIR/finds/find-N-small")
    parser.add_argument(
        "--system", metavar="PATH", help="the YAML file of the find's system, if it is your own"
    )
    parser.add_argument("--gdb", action="store_true", help="wait for a debugger before the first instruction")
    parser.add_argument(
        "--timeline", action="store_true", help="record each turn and wake-up of each vCPU; writes trace.json"
    )
    parser.add_argument("--out", metavar="DIR", help="a new folder for the files (default: replay-find-N)")
    declare_workload(parser)


def run(words: argparse.Namespace) -> int:
    from benchgate.session.exploring import again
    from benchgate.session.replay import Order

    order = Order(
        folder=words.find.absolute(),
        out=Path(words.out or free_name(f"replay-{words.find.name}")).absolute(),
        system=words.system,
        trusted=trusted(words, words.find.absolute().parent.parent),
        profile=False,
        gdb=words.gdb,
        timeline=words.timeline,
    )
    text, same = again.again(order, say)
    print(text)
    return 0 if same else 1
