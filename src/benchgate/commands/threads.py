"""`benchgate threads`: shows what the guest's scheduler did in a run, and why threads were late.

Takes the folder of a run on the instruction clock whose threads were observed (--threads), several, or those
of sessions; for --witness also of another one. The exit status is
0 if it was shown. It boots nothing, and leaves the run's folder as it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.commands.shared import whole


def declare(parser: argparse.ArgumentParser) -> None:
    about = (
        "reports/runs/SESSION/runs/NNNN-..., or the folder of a replay; of several, or of a session, what "
        "their wasted time has in common, and two to four side by side"
    )
    parser.add_argument("run", type=Path, nargs="+", help=about)
    about = "explain so many of the longest waits (default: 3)"
    parser.add_argument("--most", type=whole(0, 10_000), default=3, metavar="N", help=about)
    about = "explain all waits of at least this length, such as 1ms"
    parser.add_argument("--late", type=_length, metavar="TIME", help=about)
    about = "what each thread did in each phase of the window, and on which CPUs"
    parser.add_argument("--phases", action="store_true", help=about)
    about = "a System.map or an ELF file with the kernel's symbols, if the session has none"
    parser.add_argument("--symbols", type=Path, metavar="FILE", help=about)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    about = "print instead what the machine counted, as lines for `witness:` of the workload's YAML"
    parser.add_argument("--witness", action="store_true", help=about)


def _length(word: str) -> float:
    from benchgate.base.workload.metrics import time_of

    try:
        return time_of(word)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(words: argparse.Namespace) -> int:
    from benchgate.base.errors import UsageError
    from benchgate.session.thread_report import (
        ThreadReportRequest,
        report_several,
        report_threads,
        report_witness,
        runs_in,
    )

    folders = [run.absolute() for run in words.run]
    folder = folders[0]
    if len(folders) == 1 and (words.witness or runs_in(folder) == [folder]):
        if words.witness:
            print(report_witness(folder))
            return 0
        most, late = words.most, words.late
        print(
            report_threads(ThreadReportRequest(folder, most, late, words.symbols, words.json, words.phases))
        )
        return 0
    if words.witness or words.phases or words.late is not None:
        raise UsageError("--late, --phases and --witness are about one run; next: name one folder of a run")
    print(report_several(folders, words.symbols, is_json=words.json))
    return 0
