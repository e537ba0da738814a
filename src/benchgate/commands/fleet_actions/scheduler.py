"""`benchgate fleet scheduler`: the program that hands out runs to workers.

Takes an address; runs until it is interrupted.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.commands.shared import say

NAME = "scheduler"
ABOUT = "hand out runs to workers, until Ctrl-C"


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen",
        default="tcp://127.0.0.1:8786",
        metavar="ADDRESS",
        help="where sessions and workers find it (default: tcp://127.0.0.1:8786); port 0 takes a free one",
    )
    declare_certificates(parser)


def declare_certificates(parser: argparse.ArgumentParser) -> None:
    about = (
        "this machine's certificates, from `benchgate fleet certificates`; outside loopback they are needed"
    )
    parser.add_argument("--certificates", type=Path, default=None, metavar="DIR", help=about)


def run(words: argparse.Namespace) -> int:
    from benchgate.fleet import address, dask_settings

    listen = address.checked(words.listen, certificates=words.certificates is not None)
    dask_settings.require()
    from benchgate.fleet import address, scheduler

    host, _, port = listen.partition("://")[2].rpartition(":")
    given = address.security(words.certificates, "scheduler") if words.certificates else None
    scheduler.run(host.strip("[]"), int(port), given, say)
    return 0
