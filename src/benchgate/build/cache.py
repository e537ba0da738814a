"""The user's cache: folders that are made once, completely or not at all, and kept until they are trimmed.

Takes a kind, a key (everything that the content depends on) and a function that fills an empty folder; gives
the folder. Layout: ROOT/KIND/DIGEST/{record.json,files/}. While a folder is made it is DIGEST.tmp, and the
maker holds DIGEST.lock. A process keeps a shared lock on every folder that it uses until it ends, so that
cache_trim.py does not remove the folder. The record has the digest of the content; a folder whose content
differs is made again, with a notice. Fails with HostError if the folder cannot be written, the disk is full,
or another session takes too long to make it. An exception of the filling function passes through and leaves
no folder behind.
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

from benchgate.base.errors import HostError
from benchgate.base.files import count_and_size, same_file, sync, sync_tree, tree_digest
from benchgate.build.cache_storage import (
    DIGEST,
    FORMAT,
    KIND,
    Notice,
    cache_root,
    collect_temporaries,
    making,
    record_of,
    remove_folder,
    storage_trouble,
    tell,
)

_CANNOT_LOCK = frozenset({errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL})

_held: dict[Path, int] = {}
"""The folders that this process uses, each with the descriptor that holds the shared lock."""
_held_guard = threading.Lock()


def entry(
    kind: str,
    key: Mapping[str, str],
    make: Callable[[Path], None],
    *,
    wait_s: float = 900.0,
    notice: Notice | None = None,
) -> Path:
    """The folder for this kind and key; `make` fills it if it does not exist yet."""
    if not KIND.fullmatch(kind):
        raise ValueError(f"a cache kind must be a plain word, not {kind!r}")
    place = cache_root() / kind / _digest_of(kind, key)
    with storage_trouble(place):
        if _take(place):
            return place / "files"
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with making(place, wait_s, notice):
            if not _take(place, patience_s=10.0):
                if place.exists():
                    tell(f"the cache's {kind} {place.name[:8]} was changed or damaged: it is made again")
                remove_folder(place)
                _make(place, kind, key, make)
                if not _take(place):
                    advice = "run this again"
                    raise HostError(f"the cache folder {place} changed while it was being made: {advice}")
    return place / "files"


def file_of(kind: str, key: Mapping[str, str], name: str, content: Callable[[], bytes]) -> Path:
    """The one file of a folder for this kind and key; `content` is called if it does not exist yet."""

    def make(files: Path) -> None:
        (files / name).write_bytes(content())

    return entry(kind, key, make) / name


def existing(kind: str, key: Mapping[str, str]) -> Path | None:
    """The folder for this kind and key if it exists and is complete, else None."""
    place = cache_root() / kind / _digest_of(kind, key)
    with storage_trouble(place):
        return place / "files" if _take(place) else None


def matching(kind: str, key: Mapping[str, str]) -> Iterator[Path]:
    """The complete folders of this kind whose key contains at least these items."""
    with storage_trouble(cache_root()):
        for place in sorted((cache_root() / kind).glob("*")):
            found = record_of(place).get("key", {}) if DIGEST.fullmatch(place.name) else {}
            if found and key.items() <= found.items() and _take(place):
                yield place / "files"


@contextlib.contextmanager
def scratch(kind: str) -> Iterator[Path]:
    """A temporary empty folder in the cache. If this process is killed, cache_trim.py removes the folder."""
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
                remove_folder(temporary)


def _digest_of(kind: str, key: Mapping[str, str]) -> str:
    text = json.dumps([FORMAT, kind, dict(key)], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _make(place: Path, kind: str, key: Mapping[str, str], make: Callable[[Path], None]) -> None:
    """Fills DIGEST.tmp and renames it. After an error the temporary folder is removed."""
    temporary = place.with_name(f"{place.name}.tmp")
    remove_folder(temporary)  # we hold the lock, so its maker is dead
    files = temporary / "files"
    try:
        files.mkdir(parents=True, mode=0o700)
        make(files)
        count, size = count_and_size(files)
        record = {"format": FORMAT, "kind": kind, "key": dict(key), "made_s": time.time()}
        record |= {"files": count, "bytes": size, "digest": tree_digest(files)}
        (temporary / "record.json").write_text(json.dumps(record, sort_keys=True, indent=1) + "\n")
        sync_tree(temporary)
        temporary.rename(place)
        sync(place.parent)
    finally:
        remove_folder(temporary)


def _take(place: Path, patience_s: float = 0.0) -> bool:
    """Gives whether the folder exists and is intact. If so, it is locked for this process and marked as used.
    The content is read only when a process takes the folder for the first time.

    A caller with patience holds the maker's lock, so that no process can remove the folder. An exclusive lock
    is then held only briefly, for inspection, and False means that the folder is absent or damaged."""
    with _held_guard:
        if place in _held and same_file(_held[place], place) and _is_complete(place):
            _touch(place)
            return True
        if place in _held:
            os.close(_held.pop(place))
        try:
            descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        if _share(descriptor, place, patience_s) and same_file(descriptor, place) and _is_intact(place):
            _held[place] = descriptor
            _touch(place)
            return True
        os.close(descriptor)
        return False


def _share(descriptor: int, place: Path, patience_s: float) -> bool:
    """Takes a shared lock if possible; False only if another process holds an exclusive one."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if not patience_s:
                return False
            if time.monotonic() >= deadline:
                advice = "wait until it ends, then run this again"
                raise HostError(f"another process has locked {place}: {advice}") from None
            time.sleep(0.05)
            continue
        except OSError as error:
            if error.errno not in _CANNOT_LOCK:
                raise
        return True


def _is_complete(place: Path) -> bool:
    """Compares number and size of the files. That is cheap, and detects a crash or a cleaner of old files."""
    record = record_of(place)
    return bool(record) and count_and_size(place / "files") == (record.get("files"), record.get("bytes"))


def _is_intact(place: Path) -> bool:
    """Compares the content with the digest in the record: a change may leave the size as it was."""
    try:
        return _is_complete(place) and tree_digest(place / "files") == record_of(place).get("digest")
    except FileNotFoundError:
        return False  # another process, which found damage, removes it


def _touch(place: Path) -> None:
    with contextlib.suppress(OSError):  # a shared, read-only cache can still be read
        os.utime(place / "record.json")
