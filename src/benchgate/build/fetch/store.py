"""Fetches sets of packages and keeps them in the cache.

Takes pinned sets, gives folders of the cache: a reviewed set if a lock file has one that is still available
at its place in the archive or in the index, else the newest that apt authenticates. A set that is in the
cache needs no network. Fails with FetchError.
"""

from __future__ import annotations

import contextlib
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from benchgate.base.errors import FetchError
from benchgate.base.paths import data_root
from benchgate.build import cache
from benchgate.build.cache_storage import Notice
from benchgate.build.fetch import elf, pins, sources
from benchgate.build.fetch.apt import TOOLS, Apt, available
from benchgate.build.fetch.pins import PinnedSet
from benchgate.build.fetch.sources import Release

REVIEWED, UNREVIEWED = "reviewed", "unreviewed image"
ABOUT = "fetched.json"
Fill = Callable[[Apt, PinnedSet, Path], dict[str, Any]]
"""This function unpacks a set's packages into a folder, checks the result, and gives facts for its record."""
Resolve = Callable[[Apt, Release], PinnedSet]


def _silent(_text: str) -> None:
    pass


@dataclass
class FetchSession:
    """One apt client for several fetches. It reads each package source at most once."""

    notice: Notice = _silent
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _clients: dict[tuple[tuple[str, ...], str], Apt] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._clients.clear()
        self._stack.close()

    def apt(self, release: Release) -> Apt:
        key = release.suites, release.architecture
        if key not in self._clients:
            if not available():
                raise FetchError(f"one of {', '.join(TOOLS)} is not on PATH; {_alternatives()}")
            text = sources.private_sources(sources.read(), release, this_release())
            folder = self._stack.enter_context(cache.scratch("apt"))
            self._clients[key] = Apt(folder, text, self.notice, release.architecture)
        return self._clients[key]


class _WithdrawnError(FetchError):
    """The package source no longer has a reviewed version."""


@dataclass(frozen=True, slots=True)
class StoreEntry:
    """A fetched set's folder and the facts in its record."""

    folder: Path
    origin: str
    about: dict[str, Any]

    @property
    def labels(self) -> tuple[str, ...]:
        return () if self.origin == REVIEWED else (self.origin,)


def this_release() -> Release:
    if platform.machine() != "x86_64":
        host = f"this is {platform.machine()}; {_alternatives()}"
        raise FetchError(f"QEMU and Linux are fetched for x86_64 only, {host}")
    try:
        words = platform.freedesktop_os_release()
    except OSError:
        words = {}
    release = sources.release(words)
    if release is None:
        name = words.get("PRETTY_NAME", "this system")
        why = f"so apt cannot fetch anything; {_alternatives()}"
        raise FetchError(f"{name} is not based on Debian or Ubuntu, {why}")
    return release


def _alternatives() -> str:
    return "install this distribution's QEMU or give --qemu PATH, and give --linux-kernel PATH"


def fetch(  # noqa: PLR0913 - keyword arguments
    kind: str,
    resolve: Resolve,
    fill: Fill,
    *,
    locked: bool,
    session: FetchSession,
    first: str = "",
    source: Release | None = None,
    part: str = "",
) -> StoreEntry:
    """The first reviewed set that is in the cache or can be fetched, else (unless `locked`) the newest.

    `first` selects, in a lock with several kinds of set, those whose first package has this name.
    `source` is this host's release, with the suites and the architecture of the packages.
    `part` names what `fill` takes from the packages, if that differs from the usual."""
    release = source or this_release()
    what = first or kind
    sets, unreviewed = _sets(kind, release, first), _unreviewed(kind, release, first)
    place = f"{kind}-{part}" if part else kind
    if entry := _from_cache(place, sets, None if locked else unreviewed):
        return entry
    for pinned_set in sets:
        with contextlib.suppress(_WithdrawnError):
            return _kept(_fetch_reviewed(place, what, pinned_set, fill, session, source=release), REVIEWED)
    if locked and not sets:
        raise FetchError(
            f"no version of {what} was reviewed for {release.name}, and --locked allows no other: leave out "
            f"--locked (rows are then labelled `{UNREVIEWED}`), or use a release in {lock_path(kind).name}"
        )
    if locked:
        raise FetchError(
            f"this host's package source no longer has a reviewed version of {what} for {release.name}: "
            "update the lock (`nox -s relock`), or run without --locked"
        )
    if folder := cache.existing(place, unreviewed):  # libraries that it needs are no longer on the system
        unreviewed |= {"without": ",".join(sorted(_lost(folder)))}

    def make(files: Path) -> None:
        client = session.apt(release)
        entry = resolve(client, release)
        _announce(client, what, entry)
        _fill(entry, client, fill, files)

    return _kept(cache.entry(place, unreviewed, make, notice=session.notice), UNREVIEWED)


def fetched(kind: str) -> StoreEntry | None:
    """The entry that `fetch` would give for this host's release without reading a package source."""
    release = this_release()
    return _from_cache(kind, _sets(kind, release, ""), _unreviewed(kind, release, ""))


def _sets(kind: str, release: Release, first: str) -> tuple[PinnedSet, ...]:
    every = (pinned_set for pinned_set in pins.read(lock_path(kind)) if pinned_set.release == release.name)
    return tuple(pinned_set for pinned_set in every if first in ("", pinned_set.pins[0].package.name))


def _unreviewed(kind: str, release: Release, first: str) -> dict[str, str]:
    """The cache's key for a set that is in no lock."""
    instead = ",".join(pinned_set.digest for pinned_set in _sets(kind, release, first))
    key = {"release": release.name, "origin": UNREVIEWED, "instead-of": instead}
    return key | ({"first": first} if first else {})


def _from_cache(
    kind: str, sets: Sequence[PinnedSet], unreviewed: Mapping[str, str] | None
) -> StoreEntry | None:
    for pinned_set in sets:
        if folder := cache.existing(kind, _key(pinned_set)) or _usable(kind, _identity(pinned_set)):
            return _kept(folder, REVIEWED)
    if unreviewed is not None and (folder := _usable(kind, unreviewed)):
        return _kept(folder, UNREVIEWED)
    return None


def lock_path(kind: str) -> Path:
    return data_root() / "fixtures" / f"{kind}.lock"


def _fetch_reviewed(  # noqa: PLR0913 - the parts of `fetch`
    kind: str, what: str, pinned_set: PinnedSet, fill: Fill, session: FetchSession, *, source: Release
) -> Path:
    def make(files: Path) -> None:
        client = session.apt(source)
        _announce(client, what, wanted)
        if not client.obtain([pin.package for pin in wanted.pins]):
            _require_offered(client, wanted)
        _fill(wanted, client, fill, files)

    wanted = _without_present(pinned_set)
    return cache.entry(kind, _key(pinned_set), make, notice=session.notice)


def _announce(client: Apt, what: str, pinned_set: PinnedSet) -> None:
    size = sum(pin.package.size_bytes for pin in pinned_set.pins) / 1e6
    client.notice(f"fetching {what} {pinned_set.version} ({size:.0f} MB) ...")


def _fill(pinned_set: PinnedSet, client: Apt, fill: Fill, files: Path) -> None:
    versions = {pin.package.name: pin.package.version for pin in pinned_set.pins}
    about = fill(client, pinned_set, files) | {"version": pinned_set.version, "packages": versions}
    about |= {"system_libraries": _system_libraries(files)}
    (files / ABOUT).write_text(json.dumps(about, indent=1) + "\n")


def _system_libraries(files: Path) -> list[str]:
    """The system's libraries that the fetched programs use."""
    programs = [*files.glob("bin/*"), *files.glob("lib/*")]
    needs: frozenset[str] = frozenset().union(*(elf.needed(program) for program in programs))
    return sorted((needs - {program.name for program in programs}) & elf.present())


def _lost(folder: Path) -> set[str]:
    """The system's libraries that the fetched programs used, and that the system no longer has."""
    needed = set(json.loads((folder / ABOUT).read_text())["system_libraries"])
    return needed - elf.present() if needed else set()


def _usable(kind: str, identity: Mapping[str, str]) -> Path | None:
    """A folder of this set that still has all its libraries, whatever the system had when it was made."""
    return next((folder for folder in cache.matching(kind, identity) if not _lost(folder)), None)


def _without_present(pinned_set: PinnedSet) -> PinnedSet:
    """The set without packages whose libraries the system has."""
    has = elf.present()
    needed = tuple(pin for pin in pinned_set.pins if not pin.libraries or not set(pin.libraries) <= has)
    return PinnedSet(pinned_set.release, pinned_set.version, needed)


def _require_offered(client: Apt, pinned_set: PinnedSet) -> None:
    for pin in pinned_set.pins:
        offered = {(other.version, other.sha256) for other in client.versions(pin.package.name)}
        if (pin.package.version, pin.package.sha256) not in offered:
            gone = f"{pin.package.name} {pin.package.version}"
            raise _WithdrawnError(f"the package source no longer has {gone}")


def _key(pinned_set: PinnedSet) -> dict[str, str]:
    names = ",".join(pin.package.name for pin in _without_present(pinned_set).pins)
    return {**_identity(pinned_set), "packages": names}


def _identity(pinned_set: PinnedSet) -> dict[str, str]:
    return {"release": pinned_set.release, "version": pinned_set.version, "lock": pinned_set.digest}


def _kept(folder: Path, origin: str) -> StoreEntry:
    return StoreEntry(folder, origin, json.loads((folder / ABOUT).read_text()))
