"""`benchgate setup`: fetches what a session needs, so that later ones need no network.

Takes the architectures of the guests; without --arch it is this project's own, x86-64. Prints the versions.
Exit status 0; FetchError and its like name the package and what to do.
"""

from __future__ import annotations

import argparse

from benchgate.base.system.arch import ARCHITECTURES, X86_64, Architecture, named
from benchgate.commands.shared import say


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--locked", action="store_true", help="reviewed versions only")
    parser.add_argument(
        "--arch",
        type=_architectures,
        default=(X86_64,),
        metavar="LIST",
        help="also for guests of these architectures, with cross compilers: "
        + ",".join(name for name in ARCHITECTURES if name != X86_64.name),
    )


def run(words: argparse.Namespace) -> int:
    from benchgate.build.fetch import inputs

    for guest in words.arch:
        qemu, linux = inputs.prepare(guest, locked=words.locked, notice=say)
        labels = ", ".join(linux.labels) or "reviewed"
        of = "" if guest is X86_64 else f"{guest}: "
        say(f"{of}QEMU {qemu.version_text} ({qemu.origin}), Linux {linux.version} ({labels})")
    return 0


def _architectures(text: str) -> tuple[Architecture, ...]:
    """This project's own first: every session needs it."""
    try:
        return tuple(dict.fromkeys([X86_64, *(named(word.strip()) for word in text.split(","))]))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
