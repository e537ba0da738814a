"""`benchgate setup`: fetches what a session needs, so that later ones need no network.

Prints the versions. Exit status 0; FetchError and its like name the package and what to do.
"""

from __future__ import annotations

import argparse

from benchgate.commands.shared import say


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--locked", action="store_true", help="reviewed versions only")


def run(words: argparse.Namespace) -> int:
    from benchgate.build.fetch import inputs

    qemu, linux = inputs.prepare(locked=words.locked, notice=say)
    labels = ", ".join(linux.labels) or "reviewed"
    say(f"QEMU {qemu.version_text} ({qemu.origin}), Linux {linux.version} ({labels})")
    return 0
