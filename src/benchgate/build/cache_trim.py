"""Lists and trims the cache: stale temporary folders, damaged folders, the least recently used folders.

Takes a limit of size, gives the removed folders. Never removes a folder in use, on which another
process holds a shared lock. Fails with HostError as the cache does.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from benchgate import hooks
from benchgate.base.errors import HostError
from benchgate.base.files import disk_usage
from benchgate.base.system.arch import ARCHITECTURES, X86_64
from benchgate.base.text import filled, visible
from benchgate.build import cache_storage

PURPOSES = {
    "accel": "whether an accelerator works on this host: {accel}",
    "compiler": "a cross compiler: {version}",
    "data-files": "files that a workload reads",
    "guest": "a program of the Linux guest: {name}",
    "initramfs": "the initramfs of the Linux guest, with one workload",
    "insn": "the instruction clock's plugin for QEMU",
    "insn-kallsyms": "the names in a Linux kernel",
    "insn-observe": "where a kernel's threads are, for --threads",
    "insn-probe": "the guest that tries the instruction clock",
    "insn-symbols": "the symbols of the Linux kernel, for profiles",
    "insn-trial": "whether the instruction clock works with this QEMU",
    "linux": "a Linux kernel: {version}",
    "linux-modules": "modules of a Linux kernel, for mixes: {version}",
    "mix-disk": "the empty disk of a mix",
    "plugin-api": "the version of QEMU's plugin interface",
    "probe": "the guest that times accelerators and the host's capacity",
    "qemu": "QEMU: {version}",
    "snapshot": "a guest that has booted, for --start warm",
    "system": "a system's kernel: {name}",
    "vmlinux": "the Linux kernel, unpacked",
}
"""The purpose of each kind of folder, beside those of features; `{word}` is a field of the folder's key, left
out if it has none."""
_EVERY = {
    arch.kind(kind): purpose if arch is X86_64 else f"{arch.name}: {purpose}"
    for arch in ARCHITECTURES.values()
    for kind, purpose in {**PURPOSES, **hooks.cached()}.items()
}

_FIELDS = ("accel", "name", "version")


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """One kept folder, as `benchgate cache` shows it."""

    kind: str
    digest: str
    folder: Path
    key: Mapping[str, str]
    """The folder's key; empty if the record cannot be read. Such a folder is only removed."""
    used_s: float
    size_bytes: int
    """What it takes on the disk."""
    in_use: bool

    @property
    def purpose(self) -> str:
        """The folder's purpose, for example `a program of the Linux guest: primes`."""
        if not self.key:
            return "damaged: `benchgate cache gc` removes it"
        template = _EVERY.get(self.kind, "")
        if self.kind == "system" and "workload" in self.key:
            template += ", with the workload {workload}"
        return visible(filled(template, {**dict.fromkeys(_FIELDS, ""), **self.key}).removesuffix(": "))


def listing() -> tuple[CacheEntry, ...]:
    """Every folder in the cache, least recently used first."""
    with cache_storage.storage_trouble(cache_storage.cache_root()):
        entries = [_describe(place) for place in _places()]
    return tuple(sorted(filter(None, entries), key=lambda entry: (entry.used_s, entry.digest)))


def collect_garbage(keep_bytes: int) -> tuple[CacheEntry, ...]:
    """Removes stale temporary folders, damaged folders, and then the least recently used ones until
    `keep_bytes` are left. Never removes a folder in use. Gives what was removed."""
    with cache_storage.storage_trouble(cache_storage.cache_root()):
        cache_storage.collect_temporaries()
        kept = listing()
        excess = sum(entry.size_bytes for entry in kept) - keep_bytes
        gone: list[CacheEntry] = []
        for entry in kept:
            if (excess > 0 or not entry.key) and _discard(entry.folder):
                gone.append(entry)
                excess -= entry.size_bytes
    return tuple(gone)


def _places() -> Iterator[Path]:
    root = cache_storage.cache_root()
    if root.exists() and not root.is_dir():
        raise HostError(f"the cache {root} is not a folder: set BENCHGATE_CACHE to a folder")
    if root.is_dir():
        for path in sorted(root.glob("*/*")):
            if cache_storage.KIND.fullmatch(path.parent.name) and cache_storage.DIGEST.fullmatch(path.name):
                yield path


def _describe(place: Path) -> CacheEntry | None:
    record = cache_storage.record_of(place)
    try:
        used = (place / "record.json" if record else place).stat().st_mtime
        size = disk_usage(place)
        with _exclusive(place) as free:
            busy = not free
    except FileNotFoundError:
        return None  # another session has removed it
    key = {str(name): str(value) for name, value in record.get("key", {}).items()}
    return CacheEntry(place.parent.name, place.name, place, MappingProxyType(key), used, size, busy)


@contextlib.contextmanager
def _exclusive(place: Path) -> Iterator[bool]:
    """Gives whether no process uses the folder; if so, none can during the block. A folder that cannot be
    locked counts as used."""
    descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    free = False
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        yield free
    finally:
        os.close(descriptor)


def _discard(place: Path) -> bool:
    """Removes one folder unless it is in use or being made."""
    with contextlib.suppress(HostError, FileNotFoundError), cache_storage.making(place, 0.0, None):
        with _exclusive(place) as free:
            if free:
                cache_storage.remove_folder(place)
        return free
    return False
