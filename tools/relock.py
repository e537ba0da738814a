"""`nox -s relock`: updates the lock files to the newest available versions, for review and a commit.

Takes releases, writes fixtures/*.lock and requirements.lock in the checkout.
Fails with FetchError; as a program, with exit status 4 and one sentence. No file contains a host name.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchgate import hooks
from benchgate.base.errors import BenchgateError, FetchError
from benchgate.base.paths import data_root
from benchgate.base.system.arch import ARCHITECTURES, Architecture
from benchgate.base.text import visible_lines
from benchgate.build import cache
from benchgate.build.cache_storage import Notice
from benchgate.build.fetch import cross, newest, pins, sources, store, tool
from benchgate.build.fetch.pins import PinnedSet
from benchgate.build.fetch.sources import Release
from benchgate.build.fetch.store import FetchSession
from benchgate.plan import catalog
from tools import python_lock

_HEAD = (
    "# Reviewed versions, tried in order. Renewed by `nox -s relock`: review the difference, then commit.\n\n"
)


def relock(more: Sequence[str], *, python: bool, notice: Notice) -> None:
    """Updates the locks for this release and for other releases of the same distribution (codenames)."""
    here = store.this_release()
    found: dict[str, list[PinnedSet]] = {}
    programs: list[PinnedSet] = []
    for release in [here, *(_other(here, codename) for codename in more)]:
        with FetchSession(notice) as session, cache.scratch("inspect") as folder:
            client = session.apt(release)
            notice(f"searching the packages of {release.name} ...")
            for guest in ARCHITECTURES.values():
                for kind, pinned_set in _sets(session, release, guest, folder / guest.name):
                    found.setdefault(guest.kind(kind), []).append(pinned_set)
            programs += [tool.newest_set(client, release, package) for package in _packages()]
    for kind, sets in found.items():
        _write(kind, sets, notice)
    _write(tool.LOCK, programs, notice)
    if python:
        python_lock.relock(data_root(), notice)


def _sets(
    session: FetchSession, release: Release, guest: Architecture, folder: Path
) -> Iterator[tuple[str, PinnedSet]]:
    """What guests of this architecture need. A release without its Linux has no lock of that."""
    client = session.apt(release)
    yield "qemu", newest.qemu(client, release, frozenset(), folder, guest)
    if release.family in guest.linux:
        source = sources.for_guests(release, guest)
        yield "linux", newest.linux(session.apt(source), source)
    if guest.is_host:
        yield from hooks.newest_locks(client, release)
    if not guest.is_host:
        yield cross.KIND, cross.newest_set(guest, client, release)


def _packages() -> list[str]:
    """Those of the workloads that are existing programs, and those that features need."""
    tools = (catalog.load_workload(name).tool for name in catalog.names("workload"))
    return sorted({*hooks.programs(), *(one.package for one in tools if one)})


def _other(here: Release, codename: str) -> Release:
    words = {"ID": here.family, "VERSION_CODENAME": codename}
    release = sources.release(words)
    if release is None:
        raise FetchError(f"`{codename}` is not the codename of a {here.family} release")
    return release


def _write(kind: str, fresh: list[PinnedSet], notice: Notice) -> None:
    """Writes the new sets, then the old sets of all other releases."""
    path = store.lock_path(kind)
    kept = pins.read(path) if path.is_file() else ()
    renewed = {pinned_set.release for pinned_set in fresh}
    path.write_text(
        _HEAD
        + pins.write((*fresh, *(pinned_set for pinned_set in kept if pinned_set.release not in renewed)))
    )
    notice(f"wrote {path}")


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="nox -s relock --")
    parser.add_argument(
        "--release",
        action="append",
        default=[],
        help="also update the locks of this release, e.g. trixie (Debian); repeatable",
    )
    parser.add_argument("--no-python", action="store_true", help="do not update requirements.lock")
    options = parser.parse_args(words)
    try:
        relock(options.release, python=not options.no_python, notice=lambda text: print(text, flush=True))
    except BenchgateError as error:
        print(f"benchgate: {visible_lines(str(error))}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
