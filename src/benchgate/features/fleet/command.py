"""`benchgate fleet`: the programs of a fleet.

`scheduler` hands out runs to workers, and `worker` makes them with this machine's QEMU: both run until they
are interrupted. `certificates` makes those with which a fleet speaks outside of one machine, in a new folder.
`allow` adds to the list of what a worker runs; a word that is neither ROLE=DIGEST nor ROLE=FILE is a usage
error (4).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.commands.shared import say, whole


def declare(parser: argparse.ArgumentParser) -> None:
    found = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    making = "make the certificates of a fleet's scheduler, workers and clients"
    for name, about, declared, run in (
        ("scheduler", "hand out runs to workers, until Ctrl-C", _declare_scheduler, _scheduler),
        ("worker", "make runs for sessions elsewhere, until Ctrl-C", _declare_worker, _worker),
        ("certificates", making, _declare_making, _certificates),
        ("allow", "add digests to the list of what a worker runs", _declare_allow, _allow),
    ):
        sub = found.add_parser(name, help=about, description=about)
        sub.set_defaults(command=run)
        declared(sub)


def _declare_scheduler(parser: argparse.ArgumentParser) -> None:
    about = "where sessions and workers find it (default: tcp://127.0.0.1:8786); port 0 takes a free one"
    parser.add_argument("--listen", default="tcp://127.0.0.1:8786", metavar="ADDRESS", help=about)
    _declare_certificates(parser)


def _declare_certificates(parser: argparse.ArgumentParser) -> None:
    about = (
        "this machine's certificates, from `benchgate fleet certificates`; outside loopback they are needed"
    )
    parser.add_argument("--certificates", type=Path, default=None, metavar="DIR", help=about)


def _scheduler(words: argparse.Namespace) -> int:
    from benchgate.features.fleet import certificates, dask_settings

    listen = certificates.checked_address(words.listen, certificates=words.certificates is not None)
    dask_settings.require()
    from benchgate.features.fleet import processes

    host, _, port = listen.partition("://")[2].rpartition(":")
    given = certificates.security(words.certificates, "scheduler") if words.certificates else None
    processes.run_scheduler(host.strip("[]"), int(port), given, say)
    return 0


def _declare_worker(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("address", metavar="ADDRESS", help="the scheduler's, such as tls://build-host:8786")
    about = "its own folder (default: in the user's cache)"
    parser.add_argument("--dir", type=Path, default=None, metavar="DIR", help=about)
    parser.add_argument("--name", default="", metavar="NAME", help="as reports call it (default: the host's)")
    about = "runs at once (default: one for each CPU)"
    parser.add_argument("--slots", type=whole(1, 1024), default=0, metavar="N", help=about)
    about = "measure wall time on this machine, for one session at a time; it must do nothing else"
    parser.add_argument("--measuring", action="store_true", help=about)
    about = "architectures of guests (default: x86_64)"
    parser.add_argument("--guests", default="x86_64", metavar="LIST", help=about)
    about = "a list of what may run: digests of QEMU, clock and guests (`benchgate fleet allow`)"
    parser.add_argument("--allow", type=Path, default=None, metavar="FILE", help=about)
    about = "who may allow a guest by a signature: a file of ssh-keygen's allowed signers"
    parser.add_argument("--signers", type=Path, default=None, metavar="FILE", help=about)
    about = "run each guest that a session sends, in this worker's QEMU"
    parser.add_argument("--any-guest", action="store_true", help=about)
    _declare_certificates(parser)


def _worker(words: argparse.Namespace) -> int:
    import os
    import socket

    from benchgate.build.cache_storage import cache_root
    from benchgate.features.fleet import allow, certificates, dask_settings

    if words.measuring and words.slots > 1:
        raise UsageError(f"--measuring with --slots {words.slots}: a measuring host makes one run at a time")
    where = certificates.checked_address(words.address, certificates=words.certificates is not None)
    policy = allow.policy(words.allow, words.signers, any_guest=words.any_guest)
    dask_settings.require()
    from benchgate.features.fleet import processes

    name = words.name or socket.gethostname()
    orders = processes.Orders(
        address=where,
        folder=(words.dir or cache_root() / "fleet-workers" / name).absolute(),
        name=name,
        slots=1 if words.measuring else words.slots or len(os.sched_getaffinity(0)),
        guests=tuple(filter(None, words.guests.split(","))),
        require=policy.require,
        measuring=words.measuring,
        security=certificates.security(words.certificates, "worker") if words.certificates else None,
    )
    processes.run_worker(orders, say)
    return 0


def _declare_making(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="a new folder; it holds the authority's key, so it must stay private")


def _certificates(words: argparse.Namespace) -> int:
    from benchgate.features.fleet import certificates

    folder = Path(words.folder)
    certificates.make(folder)
    for role in certificates.ROLES:
        print(f"{folder / role}: for --certificates on each machine that is a {role}")
    kept = folder / certificates.AUTHORITY / certificates.KEY
    print(f"{kept}: makes further certificates; keep it here, and copy it nowhere")
    return 0


def _declare_allow(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("list", help="the file that the worker's --allow names")
    about = "qemu=, clock=, kernel=, initrd=, disk= or firmware= with a SHA-256 or a file"
    parser.add_argument("items", nargs="*", metavar="ROLE=DIGEST", help=about)
    about = "allow what this session of yours ran"
    parser.add_argument("--session", metavar="DIR", help=about)


def _allow(words: argparse.Namespace) -> int:
    from benchgate.features.fleet import allow

    items = [allow.item_of_word(word) for word in words.items]
    if words.session:
        items += allow.items_of_session(Path(words.session))
    if not items:
        raise UsageError("nothing to allow: name ROLE=DIGEST, ROLE=FILE or --session DIR")
    for item in (fresh := allow.add(Path(words.list), items)):
        print(f"allowed: {item}")
    print(f"{words.list}: {len(fresh)} added, {len(set(items)) - len(fresh)} were there")
    return 0
