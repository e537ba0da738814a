"""`benchgate plan`: `pytest --plan`.

Takes words for pytest; prints what it would measure. The exit status is that of pytest.
"""

from __future__ import annotations

import argparse
import subprocess
import sys


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="arguments of pytest")


def run(words: argparse.Namespace) -> int:
    given = words.words[1:] if words.words[:1] == ["--"] else words.words
    return subprocess.call([sys.executable, "-m", "pytest", "--plan", *given])
