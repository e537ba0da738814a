"""Finds the newest packages that provide QEMU and the Linux image and that apt authenticates.

Takes an apt client and the sonames that the system has, gives a `PinnedSet`. The libraries that a program
needs are read from its ELF header and looked up in its package's dependencies; other dependencies are not
fetched. Fails with FetchError if the package source lacks something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchgate.base.errors import FetchError
from benchgate.base.system.arch import ARCHITECTURES, X86_64, Architecture
from benchgate.build.fetch import elf
from benchgate.build.fetch.apt import Apt, Package
from benchgate.build.fetch.pins import Pin, PinnedSet
from benchgate.build.fetch.sources import Release
from benchgate.build.fetch.unpack import unpack

_LIBRARY = re.compile(r"(?:usr/)?lib/x86_64-linux-gnu/(lib[^/]+\.so(?:\.[^/]*)?)")
_ROM = re.compile(
    r"usr/(?:share/qemu|share/seabios|lib/ipxe/qemu|lib/riscv64-linux-gnu/opensbi/generic)/([^/]+\.(?:bin|rom))"
)
_PROGRAM = re.compile(rf"usr/bin/({'|'.join(architecture.qemu for architecture in ARCHITECTURES.values())})")
_IMAGE = re.compile(r"linux-image-[0-9][^ ,|]*")
_ATOM = re.compile(r"([a-z0-9][a-z0-9.+-]*)(?::\S+)?\s*(?:\((<<|<=|=|>=|>>)\s*([^)]+)\))?")
_LOADER_BOUND = re.compile(r"(?:lib(?:c|m|dl|pthread|rt|resolv|util|anl)|ld-linux-x86-64)\.so\.\d+")
"""Parts of the C library. They must match the system's loader, so no private folder contains them."""


def choose_qemu(member: str) -> str | None:
    """The place of a package's file in the private folder: bin/, share/ or lib/; None if it is not needed."""
    if match := _PROGRAM.fullmatch(member):
        return f"bin/{match[1]}"
    if match := _ROM.fullmatch(member):
        return f"share/{match[1]}"
    match = _LIBRARY.fullmatch(member)
    return f"lib/{match[1]}" if match else None


def linux(apt: Apt, release: Release) -> PinnedSet:
    latest = _newest(apt, release.linux)
    names = _IMAGE.findall(latest.depends)
    if not names:
        advice = "give --linux-kernel PATH"
        raise FetchError(f"{latest.name} {latest.version} depends on no Linux image: {advice}")
    image = _newest(apt, names[0])
    return PinnedSet(release.name, upstream(image.version), (Pin(image),))


def qemu(
    apt: Apt, release: Release, has: frozenset[str], folder: Path, guest: Architecture = X86_64
) -> PinnedSet:
    """Finds QEMU's set, and unpacks packages into `folder` to read what they need."""
    roots = [_newest(apt, name) for name in guest.qemu_packages]
    for path in apt.download(roots):
        unpack(path, folder, choose_qemu)
    search = Search(apt, has, folder)
    search.add(roots[0], elf.needed(folder / "bin" / guest.qemu))
    return PinnedSet(release.name, upstream(roots[0].version), (*map(Pin, roots), *search.run()))


def upstream(version: str) -> str:
    """Takes `10.0.2` from Debian's `1:10.0.2+ds-2+deb13u1~bpo12+1`."""
    match = re.match(r"(?:\d+:)?(\d+(?:\.\d+)*)", version)
    return match[1] if match else version


class Search:
    """Follows dependencies from package to package until a package is found for every library."""

    def __init__(self, apt: Apt, has: frozenset[str], folder: Path) -> None:
        self._apt = apt
        self._has = has
        self._folder = folder
        self._open: list[tuple[Package, frozenset[str]]] = []
        self._inspected: dict[str, tuple[Package, frozenset[str]]] = {}
        self._wanted: set[str] = set()

    def add(self, package: Package, sonames: frozenset[str]) -> None:
        """Adds the libraries that `package` needs. They are looked up among its dependencies."""
        unknown = sonames - self._has - self._wanted
        missing = frozenset(soname for soname in unknown if not _LOADER_BOUND.fullmatch(soname))
        if missing:
            self._open.append((package, missing))
            self._wanted |= missing

    def run(self) -> tuple[Pin, ...]:
        while self._open:
            owner, missing = self._open.pop()
            missing = self._seek(missing, list(self._likely(owner, missing)))
            missing = self._seek(missing, list(libraries_of(owner)))
            if missing:
                raise FetchError(
                    f"no dependency of {owner.name} {owner.version} supplies {', '.join(sorted(missing))}: "
                    "its package is incomplete; use another version (for QEMU: give --qemu PATH)"
                )
        given = [(package, gives & self._wanted) for package, gives in self._inspected.values()]
        used = [Pin(package, tuple(sorted(gives))) for package, gives in given if gives]
        return tuple(sorted(used, key=lambda pin: pin.package.name))

    def _likely(self, owner: Package, missing: frozenset[str]) -> Iterator[tuple[str, str, str]]:
        """Debian names a library's package after its soname, so libfuse3-3 likely has libfuse3.so.3."""
        for atom in libraries_of(owner):
            plain = atom[0].replace("-", "").removesuffix("t64")
            if any(plain.startswith(text.replace("-", "").replace(".so.", "")) for text in missing):
                yield atom

    def _seek(self, missing: frozenset[str], atoms: Iterable[tuple[str, str, str]]) -> frozenset[str]:
        """Inspects these packages; gives the libraries that are still missing."""
        if not missing:
            return missing
        fresh = [self._choose(*atom) for atom in atoms if atom[0] not in self._inspected]
        packages = [one for one in fresh if one is not None]
        for package, path in zip(packages, self._apt.download(packages), strict=True):
            place = self._folder / "inspect" / package.name
            unpack(path, place, choose_qemu)
            files = list((place / "lib").glob("*"))
            self._inspected[package.name] = (package, frozenset(file.name for file in files))
        result: set[str] = set()
        for package, gives in list(self._inspected.values()):
            if here := gives & missing:
                result |= here
                lib = self._folder / "inspect" / package.name / "lib"
                self.add(package, frozenset().union(*(elf.needed(lib / name) for name in here)))
        return missing - result

    def _choose(self, name: str, relation: str, version: str) -> Package | None:
        """apt's candidate if it satisfies the dependency, else the newest version."""
        usual = self._apt.candidate(name)
        if usual and (relation not in (">=", ">>") or self._apt.newer_or_equal(usual.version, version)):
            return usual
        return next(iter(self._apt.versions(name)), None)


def libraries_of(package: Package) -> Iterator[tuple[str, str, str]]:
    """Name, relation and version of each dependency whose name looks like a shared library."""
    for clause in package.depends.split(","):
        for alternative in clause.split("|"):
            match = _ATOM.match(alternative.strip())
            if match and match[1].startswith(("lib", "zlib")) and match[1] != "libc6":
                yield match[1], match[2] or "", (match[3] or "").strip()


def _newest(apt: Apt, name: str) -> Package:
    versions = apt.versions(name)
    if not versions:
        advice = "give --qemu PATH and --linux-kernel PATH, or add the distribution's main component"
        raise FetchError(f"this host's package source has no {name}: {advice}")
    return versions[0]
