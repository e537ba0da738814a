"""`benchgate explore small`: makes a find of an exploration smaller, and says where the switch falls.

Takes the folder of a find; prints what is left of it. The tests that were explored are collected again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.commands.shared import declare_fleet, fleet_of

NAME = "explore-small"
ABOUT = "make a find of an exploration smaller (benchgate explore small)"


def declare(parser: argparse.ArgumentParser) -> None:
    from benchgate.commands import explore

    parser.add_argument("find", type=Path, help="DIR/finds/find-N")
    parser.add_argument("--jobs", default="", metavar="N", help="runs at once (default: one for each CPU)")
    explore.declare_small(parser)
    declare_fleet(parser)


def run(words: argparse.Namespace) -> int:
    from benchgate.commands import explore
    from benchgate.session.exploring import asked, small, steps
    from benchgate.session.exploring.guest_maker import opened

    fleet, progress = fleet_of(words), explore.progress()
    jobs = asked.whole("--jobs", words.jobs, 1, 1024) if words.jobs else 0
    wanted = asked.Asked(jobs=jobs, small_runs=explore.small_runs(words))
    try:
        found = steps.make_small(words.find, wanted, opened(progress, fleet), progress)
    finally:
        progress.close()
    print(small.told(found))
    return 0
