"""Fetches the programs of one package, with the loader and every library that they need.

Takes a package's name; gives `ToolFiles`: a folder with bin/ and lib/ that runs on any kernel, because
nothing of the host's system is used. Libraries that a program loads only while it runs are not found, except
libgcc_s, which the C library itself loads to end a thread. Fails with FetchError.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgate.base.errors import FetchError
from benchgate.build import cache
from benchgate.build.fetch import elf, newest, store
from benchgate.build.fetch.apt import Apt
from benchgate.build.fetch.pins import Pin, PinnedSet
from benchgate.build.fetch.sources import Release
from benchgate.build.fetch.store import FetchSession
from benchgate.build.fetch.unpack import unpack

LOCK = "tools"
"""The lock fixtures/tools.lock, in which a set's first package has the programs."""
LOADER = "ld-linux-x86-64.so.2"
_C_LIBRARY = "libc6"
_UNSEEN = frozenset({"libgcc_s.so.1"})
_PROGRAM = re.compile(r"(?:usr/)?s?bin/([^/]+)")
_LIBRARY = re.compile(r"(?:usr/)?lib/x86_64-linux-gnu/((?:lib|ld-)[^/]+\.so(?:\.[^/]*)?)")


@dataclass(frozen=True, slots=True)
class ToolFiles:
    folder: Path
    labels: tuple[str, ...]

    def needed(self, program: str) -> tuple[str, ...]:
        """The files that this program needs, below the folder, itself first; FetchError if there is none."""
        path = self.folder / "bin" / program
        if not path.is_file():
            known = ", ".join(sorted(one.name for one in (self.folder / "bin").iterdir()))
            raise FetchError(f"the package has no program {program}; it has {known}")
        return (f"bin/{program}", *(f"lib/{name}" for name in sorted(_closure(self.folder, [path]))))


def fetch(package: str, *, locked: bool, session: FetchSession) -> ToolFiles:
    def resolve(client: Apt, release: Release) -> PinnedSet:
        return newest_set(client, release, package)

    kept = store.fetch(LOCK, resolve, _fill, locked=locked, session=session, first=package)
    return ToolFiles(kept.folder, tuple(f"{package}: {label}" for label in kept.labels))


def newest_set(client: Apt, release: Release, package: str) -> PinnedSet:
    """The packages that apt would install, limited to those whose libraries the programs need."""
    root, libc = client.candidate(package), client.candidate(_C_LIBRARY)
    if root is None or libc is None:
        raise FetchError(
            f"this host's package source has no {package if root is None else _C_LIBRARY}: correct the key "
            "`program.package` of the workload, or add the distribution's main component"
        )
    with cache.scratch("inspect") as folder:
        for path in client.download([root, libc]):
            unpack(path, folder / "roots", _choose)
        search = newest.Search(client, _names(folder / "roots" / "lib"), folder)
        for path in _programs(folder / "roots" / "bin"):
            search.add(root, elf.needed(path))
        search.add(libc, _UNSEEN)
        # `libraries` is empty, because the host's libraries are never used instead.
        pins = [Pin(pin.package) for pin in search.run() if pin.package not in (root, libc)]
    return PinnedSet(release.name, newest.upstream(root.version), (Pin(root), Pin(libc), *pins))


def _choose(member: str) -> str | None:
    for pattern, place in ((_PROGRAM, "bin"), (_LIBRARY, "lib")):
        if match := pattern.fullmatch(member):
            return f"{place}/{match[1]}"
    return None


def _programs(folder: Path) -> list[Path]:
    """The programs that are ELF files. Scripts need an interpreter, which is another package."""
    paths = [path for path in sorted(folder.glob("*")) if path.is_file() and not path.is_symlink()]
    return [path for path in paths if path.read_bytes()[:4] == b"\x7fELF"]


def _names(folder: Path) -> frozenset[str]:
    return frozenset(path.name for path in folder.glob("*"))


def _fill(client: Apt, packages: PinnedSet, files: Path) -> dict[str, Any]:
    """Keeps the programs and what they need: each library is a plain file with the name that is asked for."""
    with cache.scratch("inspect") as folder:
        for path in client.download([pin.package for pin in packages.pins]):
            unpack(path, folder, _choose)
        programs = _programs(folder / "bin")
        if not programs:
            package = packages.pins[0].package.name
            raise FetchError(f"the package {package} has no program in bin, sbin, usr/bin or usr/sbin")
        libraries = _closure(folder, programs)
        for place, names in (("bin", [program.name for program in programs]), ("lib", sorted(libraries))):
            (files / place).mkdir()
            for name in names:
                shutil.copy(folder / place / name, files / place / name)
    return {}


def _closure(folder: Path, programs: Iterable[Path]) -> frozenset[str]:
    """The libraries of `folder` that the programs need, directly or not, and the loader."""
    result: set[str] = set()
    open_ = {LOADER, *_UNSEEN}.union(*(elf.needed(program) for program in programs))
    while open_:
        name = open_.pop()
        path = folder / "lib" / name
        if not path.is_file():
            raise FetchError(f"no package of the set has {name}: renew the lock with `nox -s relock`")
        result.add(name)
        open_ |= elf.needed(path) - result
    return frozenset(result)
