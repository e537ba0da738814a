"""Content-addressed folders under the user's cache: made once, whole or not at all, kept until trimmed.

Takes a kind, a key (all that the content depends on) and a function that fills an empty folder; gives the
folder. Layout: ROOT/KIND/DIGEST/{record.json,files/}; DIGEST.tmp while it is made, DIGEST.lock around that.
A folder in use is held by a shared lock on itself until the process ends, so that trim.py leaves it alone.
Fails with HostError where the folder cannot be written, is full, or another session makes it for too long;
what the filling function raises passes through, and leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchgate.errors import HostError
from benchgate.files import same_file, sync, sync_tree, weigh
from benchgate.shelf import (
    FORMAT,
    KIND,
    Notice,
    cache_root,
    collect_temporaries,
    making,
    record_of,
    remove,
    storage_trouble,
)

_CANNOT_LOCK = frozenset({errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL})

_held: dict[Path, int] = {}
"""Folders this process uses, each with the descriptor whose shared lock says so."""
_held_guard = threading.Lock()


def entry(
    kind: str,
    key: Mapping[str, str],
    make: Callable[[Path], None],
    *,
    wait_s: float = 900.0,
    notice: Notice | None = None,
) -> Path:
    """The folder for this kind and key; `make` fills it if it is not there yet."""
    if not KIND.fullmatch(kind):
        raise ValueError(f"a cache kind is a plain word, not {kind!r}")
    place = cache_root() / kind / _digest_of(kind, key)
    with storage_trouble(place):
        if _take(place):
            return place / "files"
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with making(place, wait_s, notice):
            if not _take(place, patience_s=10.0):
                remove(place)
                _make(place, kind, key, make)
                if not _take(place):
                    raise HostError(f"the cache folder {place} changed while it was made: run this again")
    return place / "files"


def existing(kind: str, key: Mapping[str, str]) -> Path | None:
    """The folder for this kind and key if it is there and whole; makes nothing."""
    place = cache_root() / kind / _digest_of(kind, key)
    with storage_trouble(place):
        return place / "files" if _take(place) else None


@contextlib.contextmanager
def scratch(kind: str) -> Iterator[Path]:
    """An empty folder beside the kept ones, gone afterwards; if we are killed, trim.py removes it."""
    place = cache_root() / kind / secrets.token_hex(16)
    with storage_trouble(place):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        collect_temporaries()
        with making(place, 0.0, None):
            temporary = place.with_name(f"{place.name}.tmp")
            temporary.mkdir(mode=0o700)
            try:
                yield temporary
            finally:
                remove(temporary)


def _digest_of(kind: str, key: Mapping[str, str]) -> str:
    text = json.dumps([FORMAT, kind, dict(key)], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _make(place: Path, kind: str, key: Mapping[str, str], make: Callable[[Path], None]) -> None:
    """Fills DIGEST.tmp and renames it; whatever goes wrong, the temporary does not stay."""
    temporary = place.with_name(f"{place.name}.tmp")
    remove(temporary)  # its maker is dead: we hold the lock
    files = temporary / "files"
    try:
        files.mkdir(parents=True, mode=0o700)
        make(files)
        count, size = weigh(files)
        record = {"format": FORMAT, "kind": kind, "key": dict(key), "made_s": time.time()}
        record |= {"files": count, "bytes": size}
        (temporary / "record.json").write_text(json.dumps(record, sort_keys=True, indent=1) + "\n")
        sync_tree(temporary)
        temporary.rename(place)
        sync(place.parent)
    finally:
        remove(temporary)


def _take(place: Path, patience_s: float = 0.0) -> bool:
    """Whether the folder is there and whole; if so it is marked as in use and used now.

    With patience, the caller holds the maker's lock, so that nobody removes the folder: whoever has it to
    himself only looks at it, and False then means absent or damaged."""
    with _held_guard:
        if place in _held and same_file(_held[place], place) and _whole(place):
            _touch(place)
            return True
        if place in _held:
            os.close(_held.pop(place))
        try:
            descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        if _share(descriptor, place, patience_s) and same_file(descriptor, place) and _whole(place):
            _held[place] = descriptor
            _touch(place)
            return True
        os.close(descriptor)
        return False


def _share(descriptor: int, place: Path, patience_s: float) -> bool:
    """False: somebody has it to himself. A file system that cannot lock folders still lets us read."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if not patience_s:
                return False
            if time.monotonic() >= deadline:
                raise HostError(
                    f"another process holds {place}: wait until it ends, then try again"
                ) from None
            time.sleep(0.05)
            continue
        except OSError as error:
            if error.errno not in _CANNOT_LOCK:
                raise
        return True


def _whole(place: Path) -> bool:
    """Cheap, and enough against a crash of the machine or a cleaner of old files: counts and sizes."""
    record = record_of(place)
    return bool(record) and weigh(place / "files") == (record.get("files"), record.get("bytes"))


def _touch(place: Path) -> None:
    with contextlib.suppress(OSError):  # a shared, read-only cache is still good for reading
        os.utime(place / "record.json")
