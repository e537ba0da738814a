"""The lock files: reviewed sets of packages, read from and written as TOML.

Takes a file of fixtures/, gives `PinnedSet`s in the order in which they are tried. Fails with FetchError,
which names the file and the entry.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchgate.base.errors import FetchError
from benchgate.build.fetch.apt import Package

_TEXTS = {
    "name": re.compile(r"[a-z0-9][a-z0-9.+-]*"),
    "version": re.compile(r"[0-9A-Za-z.+~:-]+"),
    "sha256": re.compile(r"[0-9a-f]{64}"),
    "path": re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9.+_~%/-]*\.deb"),
}


@dataclass(frozen=True, slots=True)
class Pin:
    """One reviewed package. It is fetched only if the system lacks one of the sonames in `libraries`; if that
    is empty, always."""

    package: Package
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PinnedSet:
    """Packages that are used together, for one release of a distribution."""

    release: str
    version: str
    pins: tuple[Pin, ...]

    @property
    def digest(self) -> str:
        return hashlib.sha256(write((self,)).encode()).hexdigest()


def read(path: Path) -> tuple[PinnedSet, ...]:
    try:
        return _parsed(path, path.read_text())
    except (OSError, ValueError) as error:
        raise FetchError(f"{path}: cannot be read: {error}; renew it with `nox -s relock`") from error


@cache
def _parsed(path: Path, text: str) -> tuple[PinnedSet, ...]:
    """Every fetch asks for the same lock several times, and to parse one takes 20 ms."""
    top = tomllib.loads(text)
    return tuple(_set(path, number, words) for number, words in enumerate(_list(path, top, "set"), 1))


def _set(path: Path, number: int, words: dict[str, Any]) -> PinnedSet:
    where = f"{path}: set {number}"
    packages = enumerate(_list(where, words, "package"), 1)
    pins = tuple(_pin(f"{where}, package {i}", one) for i, one in packages)
    release, version = words.get("release"), words.get("version")
    if not isinstance(release, str) or not isinstance(version, str) or not pins:
        raise FetchError(f"{where}: needs release, version and at least one package")
    return PinnedSet(release, version, pins)


def _pin(where: str, words: dict[str, Any]) -> Pin:
    for key, pattern in _TEXTS.items():
        if not isinstance(words.get(key), str) or not pattern.fullmatch(words[key]):
            form = f"text like `{pattern.pattern}`, found {words.get(key)!r}"
            raise FetchError(f"{where}: {key}: expected {form}")
    size, libraries = words.get("bytes"), words.get("libraries", [])
    if not isinstance(size, int) or not isinstance(libraries, list):
        raise FetchError(f"{where}: needs bytes, a whole number, and libraries, a list")
    package = Package(words["name"], words["version"], words["sha256"], size, path=words["path"])
    return Pin(package, tuple(str(library) for library in libraries))


def _list(where: Path | str, words: dict[str, Any], key: str) -> list[dict[str, Any]]:
    result = words.get(key, [])
    if not isinstance(result, list) or not all(isinstance(one, dict) for one in result):
        raise FetchError(f"{where}: {key}: expected a list of tables")
    return result


def write(sets: tuple[PinnedSet, ...]) -> str:
    lines = []
    for pinned_set in sets:
        lines += ["[[set]]", f'release = "{pinned_set.release}"', f'version = "{pinned_set.version}"', ""]
        for pin in pinned_set.pins:
            lines += ["[[set.package]]", f'name = "{pin.package.name}"', f'version = "{pin.package.version}"']
            lines += [f'sha256 = "{pin.package.sha256}"', f"bytes = {pin.package.size_bytes}"]
            quoted = ", ".join(f'"{name}"' for name in pin.libraries)
            lines += [f'path = "{pin.package.path}"', *([f"libraries = [{quoted}]"] if quoted else []), ""]
    return "\n".join(lines)
