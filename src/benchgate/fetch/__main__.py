"""`python -m benchgate.fetch setup [--locked]` has QEMU and Linux ready; `relock` renews fixtures/*.lock.

Prints what it does, line by line. Exit status 4 with one sentence where something could not be had.
"""

from __future__ import annotations

import argparse
import sys

from benchgate.errors import BenchgateError
from benchgate.fetch import prepare
from benchgate.fetch.relock import relock


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchgate.fetch")
    commands = parser.add_subparsers(dest="command", required=True)
    setup = commands.add_parser("setup", help="fetch QEMU and the Linux image unless they are there")
    setup.add_argument("--locked", action="store_true", help="reviewed versions only")
    renew = commands.add_parser("relock", help="review anew: write fixtures/*.lock and requirements.lock")
    renew.add_argument(
        "--release", action="append", help="another release's codename too, e.g. trixie (Debian)"
    )
    renew.add_argument("--no-python", action="store_true", help="leave requirements.lock as it is")
    options = parser.parse_args(words)
    try:
        if options.command == "relock":
            relock(options.release or [], python=not options.no_python, notice=_say)
        else:
            _setup(options.locked)
    except BenchgateError as error:
        print(f"benchgate: {error}", file=sys.stderr)
        return 4
    return 0


def _setup(locked: bool) -> None:
    qemu, linux = prepare(locked=locked, notice=_say)
    number = ".".join(map(str, qemu.version))
    _say(f"QEMU {number} ({qemu.origin}), Linux {linux.version} ({', '.join(linux.labels) or 'reviewed'})")


def _say(text: str) -> None:
    print(f"benchgate: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
