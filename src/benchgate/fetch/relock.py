"""Makes the locks anew: what the package sources offer today, to be looked at and committed.

Takes releases, writes fixtures/qemu.lock, fixtures/linux.lock and requirements.lock in the checkout.
Fails with FetchError. No name of a host gets into a file.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchgate import cache
from benchgate.data import data_root
from benchgate.errors import FetchError
from benchgate.fetch import newest, pins, pythonlock, sources, store
from benchgate.fetch.pins import PinnedSet
from benchgate.fetch.sources import Release
from benchgate.fetch.store import Session
from benchgate.shelf import Notice

_HEAD = (
    "# Reviewed versions, tried in order. Renewed by `nox -s relock`: review the difference, then commit.\n\n"
)


def relock(more: Sequence[str], *, python: bool, notice: Notice) -> None:
    """For this release, and for others of the same distribution, named by their codenames."""
    if not (data_root() / "pyproject.toml").is_file():
        raise FetchError("locks are renewed in a checkout, not in an installed benchgate")
    here = store.this_release()
    linux: list[PinnedSet] = []
    qemu: list[PinnedSet] = []
    for release in [here, *(_other(here, codename) for codename in more)]:
        with Session(notice) as session, cache.scratch("look") as folder:
            client = session.apt(release)
            notice(f"looking for what {release.name} offers ...")
            linux.append(newest.linux(client, release))
            qemu.append(newest.qemu(client, release, frozenset(), folder))
    _write("linux", linux, notice)
    _write("qemu", qemu, notice)
    if python:
        pythonlock.relock(data_root(), notice)


def _other(here: Release, codename: str) -> Release:
    words = {"ID": here.family, "VERSION_CODENAME": codename}
    found = sources.release(words)
    if found is None:
        raise FetchError(f"`{codename}` is no codename of a {here.family} release")
    return found


def _write(kind: str, fresh: list[PinnedSet], notice: Notice) -> None:
    """The new sets, then those of releases that were not looked at."""
    path = store.lock_path(kind)
    kept = pins.read(path) if path.is_file() else ()
    seen = {one.release for one in fresh}
    path.write_text(_HEAD + pins.write((*fresh, *(one for one in kept if one.release not in seen))))
    notice(f"wrote {path}")
