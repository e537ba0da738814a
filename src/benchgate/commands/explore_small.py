"""`benchgate explore small`: makes a find of an exploration smaller, and says where the switch falls.

Takes the folder of a find; prints what remains of it. The tests that were explored are collected again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.commands.shared import declare_fleet, declare_jobs, declare_small_runs, fleet_of


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("find", type=Path, help="DIR/finds/find-N")
    declare_jobs(parser)
    declare_small_runs(parser)
    declare_fleet(parser)


def run(words: argparse.Namespace) -> int:
    from benchgate.session.exploration import request, smaller, steps
    from benchgate.session.exploration.guest_maker import opened
    from benchgate.session.progress import on_stderr

    fleet, shown = fleet_of(words), on_stderr()
    wanted = request.ExplorationRequest(jobs=words.jobs, small_runs=words.small_runs or request.SMALL_RUNS)
    try:
        found = steps.make_small(words.find, wanted, opened(shown, fleet), shown)
    finally:
        shown.close()
    print(smaller.told(found))
    return 0
