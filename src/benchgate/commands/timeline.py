"""`benchgate timeline`: writes a run's trace for Perfetto's viewer.

The exit status is 0 if the trace was written. It boots nothing, and leaves the run's folder as it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.base.text import visible
from benchgate.commands.shared import free_name


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="reports/runs/SESSION/runs/NNNN-..., or the folder of a replay")
    about = "a new file for the trace (default: timeline-NNNN-....json)"
    parser.add_argument("--out", metavar="FILE", help=about)


def run(words: argparse.Namespace) -> int:
    from benchgate.session import recordings

    folder = Path(words.run).absolute()
    out = Path(words.out or free_name(f"timeline-{folder.name}", ".json"))
    for line in recordings.write_trace(folder, out):
        print(visible(line))
    return 0
