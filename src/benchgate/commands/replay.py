"""`benchgate replay`: repeats a run of the instruction clock.

Takes the folder of a run; prints whether both are the same. Exit status 1 if they differ.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchgate.commands.shared import declare_workload, free_name, say, trusted

if TYPE_CHECKING:
    from benchgate.session.replay import ReplayRequest


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, help="reports/runs/SESSION/runs/NNNN-...")
    about = "show where the window's instructions went, by symbol"
    parser.add_argument("--profile", action="store_true", help=about)
    about = "show the lines of memory that moved between CPUs, and who shares them falsely; writes lines.svg"
    parser.add_argument("--lines", action="store_true", help=about)
    about = "--profile, and on a machine with memory --lines, too"
    parser.add_argument("--attribution", action="store_true", help=about)
    about = "record the window's call stacks; writes stacks.folded and a flame graph, flame.svg (x86-64)"
    parser.add_argument("--flame", action="store_true", help=about)
    about = "a System.map or an ELF file with the kernel's symbols, if its own file has none"
    parser.add_argument("--symbols", type=Path, metavar="FILE", help=about)
    declare_replay(parser)


def declare_replay(parser: argparse.ArgumentParser) -> None:
    """Declares the options for the replay of a run, and of a find of an exploration, too."""
    about = "the YAML file of the run's system, if it is your own"
    parser.add_argument("--system", metavar="PATH", help=about)
    about = "record each turn and wake-up of each vCPU; writes trace.json"
    parser.add_argument("--timeline", action="store_true", help=about)
    about = "record what the guest's threads did, from its first instruction on; writes threads.txt"
    parser.add_argument("--threads", action="store_true", help=about)
    parser.add_argument("--gdb", action="store_true", help="wait for a debugger before the first instruction")
    about = "a new folder for the files (default: replay- and the run's name)"
    parser.add_argument("--out", metavar="DIR", help=about)
    declare_workload(parser)


def order_of(words: argparse.Namespace, folder: Path) -> ReplayRequest:
    """`folder` is that of the run."""
    from benchgate.session.replay import ReplayRequest

    return ReplayRequest(
        folder=folder,
        out=Path(words.out or free_name(f"replay-{folder.name}")).absolute(),
        system=words.system,
        trusted=trusted(words, folder.parent.parent),
        profile=False,
        gdb=words.gdb,
        timeline=words.timeline,
        threads=words.threads,
    )


def run(words: argparse.Namespace) -> int:
    from benchgate.session import replay

    order = replace(
        order_of(words, words.run.absolute()),
        profile=words.profile or words.attribution,
        lines=words.lines,
        attribution=words.attribution,
        flame=words.flame,
        symbols=words.symbols,
    )
    text, same = replay.replay(order, say)
    print(text)
    return 0 if same else 1
