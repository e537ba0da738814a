"""What is kept of a fetched set, and the session in which sets are fetched.

Takes pinned sets, gives folders of the cache: reviewed where a lock's set is still to be had, else the
newest that apt authenticates. Once kept, a set is found again without the network.
Fails with FetchError.
"""

from __future__ import annotations

import contextlib
import json
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchgate import cache
from benchgate.data import data_root
from benchgate.errors import FetchError
from benchgate.fetch import apt as aptclient
from benchgate.fetch import elf, pins, sources
from benchgate.fetch.apt import Apt
from benchgate.fetch.pins import PinnedSet
from benchgate.fetch.sources import Release
from benchgate.shelf import Notice

REVIEWED, UNREVIEWED = "reviewed", "unreviewed image"
ABOUT = "fetched.json"
Fill = Callable[[Apt, PinnedSet, Path], dict[str, Any]]
"""Unpacks a set's packages into a folder, checks what came out, and gives the facts to remember of it."""
Resolve = Callable[[Apt, Release], PinnedSet]


def _silent(_text: str) -> None:
    pass


@dataclass
class Session:
    """One apt client for all that is fetched in one go; it reads the package source at most once."""

    notice: Notice = _silent
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _apt: Apt | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._apt = None
        self._stack.close()

    def apt(self, release: Release) -> Apt:
        if self._apt is None:
            if not aptclient.available():
                raise FetchError(f"one of {', '.join(aptclient.TOOLS)} is not on PATH; {_own_words()}")
            text = sources.private_sources(sources.read(), release, this_release())
            client = Apt(self._stack.enter_context(cache.scratch("apt")), text, self.notice)
            client.update()
            self._apt = client
        return self._apt


class _Gone(FetchError):
    """A reviewed version is no longer at the package source."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A fetched set's folder, and what its record says."""

    folder: Path
    origin: str
    about: dict[str, Any]

    @property
    def labels(self) -> tuple[str, ...]:
        return () if self.origin == REVIEWED else (self.origin,)


def this_release() -> Release:
    if platform.machine() != "x86_64":
        raise FetchError(
            f"QEMU and Linux are fetched for x86_64 only, this is {platform.machine()}; {_own_words()}"
        )
    try:
        words = platform.freedesktop_os_release()
    except OSError:
        words = {}
    found = sources.release(words)
    if found is None:
        name = words.get("PRETTY_NAME", "this system")
        raise FetchError(
            f"{name} is no relative of Debian or Ubuntu, so nothing can be fetched by apt; {_own_words()}"
        )
    return found


def _own_words() -> str:
    return "install QEMU as this distribution does or give --qemu PATH, and give --linux-kernel PATH"


def fetch(kind: str, resolve: Resolve, fill: Fill, *, locked: bool, session: Session) -> Kept:
    """The first reviewed set that is kept or can be had, else (unless `locked`) the newest."""
    release = this_release()
    sets = tuple(one for one in pins.read(lock_path(kind)) if one.release == release.name)
    for one in sets:
        if folder := cache.existing(kind, _key(one)):
            return _kept(folder, REVIEWED)
    unreviewed = _unreviewed_key(kind, release)
    folder = None if locked else cache.existing(kind, unreviewed)
    if folder and _still_whole(folder):
        return _kept(folder, UNREVIEWED)
    for one in sets:
        with contextlib.suppress(_Gone):
            return _kept(_fetch_reviewed(kind, one, release, fill, session), REVIEWED)
    if locked and not sets:
        raise FetchError(
            f"nothing of {kind} was reviewed for {release.name}, and --locked takes nothing else: leave it "
            f"out (rows then say `{UNREVIEWED}`), or run on a release that stands in {lock_path(kind).name}"
        )
    if locked:
        raise FetchError(
            f"no reviewed version of {kind} for {release.name} is at this machine's package source any more: "
            "renew the lock (`nox -s relock`), or run without --locked"
        )
    if folder:  # kept, but the system has lost a library since
        unreviewed |= {"libraries": ",".join(sorted(elf.present()))}

    def make(files: Path) -> None:
        client = session.apt(release)
        found = resolve(client, release)
        _fill(kind, found, client, fill, files)

    return _kept(cache.entry(kind, unreviewed, make, notice=session.notice), UNREVIEWED)


def lock_path(kind: str) -> Path:
    return data_root() / "fixtures" / f"{kind}.lock"


def _fetch_reviewed(kind: str, one: PinnedSet, release: Release, fill: Fill, session: Session) -> Path:
    def make(files: Path) -> None:
        client = session.apt(release)
        _require_offered(client, wanted)
        _fill(kind, wanted, client, fill, files)

    wanted = _lacking(one)
    return cache.entry(kind, _key(one), make, notice=session.notice)


def _fill(kind: str, one: PinnedSet, client: Apt, fill: Fill, files: Path) -> None:
    size = sum(pin.package.size_bytes for pin in one.pins) / 1e6
    client.notice(f"fetching {kind} {one.version} ({size:.0f} MB) ...")
    about = fill(client, one, files)
    about |= {"version": one.version, "packages": {pin.package.name: pin.package.version for pin in one.pins}}
    about |= {"system_libraries": _relied(files)}
    (files / ABOUT).write_text(json.dumps(about, indent=1) + "\n")


def _relied(files: Path) -> list[str]:
    """The system's libraries that the fetched programs use: they must stay."""
    programs = [*files.glob("bin/*"), *files.glob("lib/*")]
    needs: frozenset[str] = frozenset().union(*(elf.needed(one) for one in programs))
    return sorted((needs - {one.name for one in programs}) & elf.present())


def _still_whole(folder: Path) -> bool:
    relied = json.loads((folder / ABOUT).read_text())["system_libraries"]
    return not relied or set(relied) <= elf.present()


def _lacking(one: PinnedSet) -> PinnedSet:
    """Without the packages whose libraries the system has."""
    has = elf.present()
    needed = tuple(pin for pin in one.pins if not pin.libraries or not set(pin.libraries) <= has)
    return PinnedSet(one.release, one.version, needed)


def _require_offered(client: Apt, one: PinnedSet) -> None:
    for pin in one.pins:
        offered = {(other.version, other.sha256) for other in client.versions(pin.package.name)}
        if (pin.package.version, pin.package.sha256) not in offered:
            raise _Gone(f"{pin.package.name} {pin.package.version} is not at the package source any more")


def _key(one: PinnedSet) -> dict[str, str]:
    lacking = ",".join(pin.package.name for pin in _lacking(one).pins)
    return {"release": one.release, "version": one.version, "lock": one.digest, "packages": lacking}


def _unreviewed_key(kind: str, release: Release) -> dict[str, str]:
    reviewed = [one.digest for one in pins.read(lock_path(kind)) if one.release == release.name]
    return {"release": release.name, "origin": UNREVIEWED, "instead-of": ",".join(reviewed)}


def _kept(folder: Path, origin: str) -> Kept:
    return Kept(folder, origin, json.loads((folder / ABOUT).read_text()))
