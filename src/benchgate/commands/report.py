"""`benchgate report`: makes a session's page again, or a page of other sessions (hooks.SessionSource).

Takes a session's folder, or NAME or NAME:WORD; writes one HTML file and prints its path. Exit status 0: it is
written.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate import hooks
from benchgate.commands.shared import declare_sources, declare_trusted, trusted


def declare(parser: argparse.ArgumentParser) -> None:
    about = ", or ".join(
        ["a session folder, a results.csv (without verdicts)", *(one.page for one in hooks.sessions())]
    )
    parser.add_argument("folder", help=about)
    about = "the file to write (default: report-SESSION.html in this folder)"
    parser.add_argument("--out", metavar="FILE", help=about)
    declare_trusted(parser)
    declare_sources(parser)


def run(words: argparse.Namespace) -> int:
    from benchgate.session.rejudging import rejudge

    out = Path(words.out) if words.out else None
    if sessions := hooks.sessions_named(words.folder):
        print(sessions.module().write_page(words.folder.partition(":")[2], out, words))
    else:
        print(rejudge.write_page(Path(words.folder), out, trusted(words, Path(words.folder))))
    return 0
