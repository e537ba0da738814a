"""`benchgate fleet worker`: makes runs for sessions on other machines, with this machine's QEMU.

Takes the scheduler's address and what may run; runs until it is interrupted.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.commands.fleet_actions.scheduler import declare_certificates
from benchgate.commands.shared import say

NAME = "worker"
ABOUT = "make runs for sessions elsewhere, until Ctrl-C"


def declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("address", metavar="ADDRESS", help="the scheduler's, such as tls://build-host:8786")
    parser.add_argument(
        "--dir", type=Path, default=None, metavar="DIR", help="its own folder (default: in the user's cache)"
    )
    parser.add_argument("--name", default="", metavar="NAME", help="as reports call it (default: the host's)")
    parser.add_argument(
        "--slots", type=_count, default=0, metavar="N", help="runs at once (default: one for each CPU)"
    )
    about = "measure wall time on this machine, for one session at a time; it must do nothing else"
    parser.add_argument("--measuring", action="store_true", help=about)
    parser.add_argument(
        "--guests", default="x86_64", metavar="LIST", help="architectures of guests (default: x86_64)"
    )
    about = "a list of what may run: digests of QEMU, clock and guests (`benchgate fleet allow`)"
    parser.add_argument("--allow", type=Path, default=None, metavar="FILE", help=about)
    about = "who may allow a guest by a signature: a file of ssh-keygen's allowed signers"
    parser.add_argument("--signers", type=Path, default=None, metavar="FILE", help=about)
    parser.add_argument(
        "--any-guest", action="store_true", help="run each guest that a session sends, in this worker's QEMU"
    )
    declare_certificates(parser)


def run(words: argparse.Namespace) -> int:
    import os
    import socket

    from benchgate.base.errors import UsageError
    from benchgate.build.cache_storage import cache_root
    from benchgate.fleet import address, allow, dask_settings

    if words.measuring and words.slots > 1:
        raise UsageError(f"--measuring with --slots {words.slots}: a measuring host makes one run at a time")
    where = address.checked(words.address, certificates=words.certificates is not None)
    policy = allow.policy(words.allow, words.signers, any_guest=words.any_guest)
    dask_settings.require()
    from benchgate.fleet import address, worker

    name = words.name or socket.gethostname()
    worker.run(
        worker.Orders(
            address=where,
            folder=(words.dir or cache_root() / "fleet-workers" / name).absolute(),
            name=name,
            slots=1 if words.measuring else words.slots or len(os.sched_getaffinity(0)),
            guests=tuple(filter(None, words.guests.split(","))),
            require=policy.require,
            measuring=words.measuring,
            security=address.security(words.certificates, "worker") if words.certificates else None,
        ),
        say,
    )
    return 0


def _count(word: str) -> int:
    if not (word.isascii() and word.isdecimal() and len(word) < 5 and 1 <= int(word) <= 1024):
        raise argparse.ArgumentTypeError(f"`{word}` is not a whole number from 1 to 1024")
    return int(word)
