"""`benchgate init`: files to start from: a test, a workload, or the YAML of a kernel. Never replaces a file.

Takes a folder; prints what was written and what to run next. Fails with UsageError if a file exists or cannot
be written, or if a name or a kernel is unsuitable.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", default=".", help="where (default: here)")
    what = parser.add_mutually_exclusive_group()
    about = "a folder of this name with a workload of your own: its C, YAML, oracle and test"
    what.add_argument("--workload", metavar="NAME", help=about)
    about = "the YAML file of this kernel, with every key"
    what.add_argument("--kernel", metavar="PATH", help=about)


def run(words: argparse.Namespace) -> int:
    from benchgate.session import first_files

    folder = Path(words.folder)
    if words.workload is not None:
        lines = first_files.write_workload(folder, words.workload)
    elif words.kernel is not None:
        lines = first_files.write_system(folder, Path(words.kernel))
    else:
        lines = first_files.write_test(folder)
    print("\n".join(lines))
    return 0
