"""`benchgate bisect`: finds the commit with which a verdict became FAIL.

The exit status is 0 if one commit was found, 5 if only skipped commits are left.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.commands.shared import say


def declare(parser: argparse.ArgumentParser) -> None:
    usage = (
        "benchgate bisect [--workload YAML] [--repo DIR] [--out DIR] GOOD BAD -- TESTS --system SYSTEM ..."
    )
    parser.usage = usage
    parser.add_argument("good", metavar="GOOD", help="a revision that passes")
    parser.add_argument("bad", metavar="BAD", help="a later revision that fails")
    about = "walk the source of this workload, and leave the system as it is"
    parser.add_argument("--workload", default="", metavar="YAML", help=about)
    about = "look both up here (default: the system's build folder)"
    parser.add_argument("--repo", metavar="DIR", help=about)
    parser.add_argument("--out", metavar="DIR", help="its folder (default: reports/bisect-GOOD-BAD)")
    parser.epilog = "The words after `--` are pytest's; --system names the system whose source is walked."


def run(words: argparse.Namespace) -> int:
    from benchgate.features.bisect import walk

    order = walk.BisectRequest(
        good=words.good,
        bad=words.bad,
        repo=None if words.repo is None else Path(words.repo),
        out=None if words.out is None else Path(words.out),
        arguments=tuple(words.after),
        workload=words.workload,
    )
    text, status = walk.run(order, say)
    print(text)
    return status
