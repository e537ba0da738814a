"""Digests, sizes, locks and safe writing of files, for the modules that keep things on disk.

Takes paths, gives plain values. Fails with OSError, which the caller turns into its own stage's error.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read_json(text: str | bytes) -> Any:
    """JSON of one meaning only; else ValueError (or RecursionError). Of a key that stands twice one reader
    sees the first value and another the second, and NaN is no number of JSON."""
    return json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r:.40} stands there twice")
    return found


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is not a number of JSON")


def read_start(path: Path, most: int) -> bytes:
    """The first `most` bytes of a stranger's file, and one more where it is longer. A pipe that was put in
    its place is not waited for."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        return stream.read(most + 1)


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def tree_digest(folder: Path, skip: tuple[str, ...] = ()) -> str:
    """One SHA-256 over names, kinds and contents of all below a folder, but for names in `skip`."""
    digest = hashlib.sha256()
    for path in sorted(_below(folder), key=lambda one: one.relative_to(folder).parts):
        name = path.relative_to(folder)
        if any(part in skip for part in name.parts):
            continue
        content = f"link {path.readlink()}" if path.is_symlink() else f"file {file_digest(path)}"
        digest.update(f"{len(str(name))} {name} {content}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()


def weigh(folder: Path) -> tuple[int, int]:
    """How many files and links there are below a folder, and their bytes."""
    sizes = [path.lstat().st_size for path in _below(folder)]
    return len(sizes), sum(sizes)


def sync_tree(folder: Path) -> None:
    """Has everything below a folder on the disk before it returns, as far as the system promises that."""
    for base, _, names in os.walk(folder):
        for path in (Path(base, name) for name in names):
            if path.is_file() and not path.is_symlink():
                sync(path)
        sync(Path(base))


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def same_file(descriptor: int, path: Path) -> bool:
    """Whether an open descriptor is still what stands under that path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def try_lock(lock: Path) -> int | None:
    """A descriptor that holds the lock file exclusively, or None. Whoever holds it deletes it."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if same_file(descriptor, lock):  # else it was deleted while we waited for it
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())
            return descriptor
    except BlockingIOError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def lock_holder(lock: Path) -> str:
    """Who holds a lock file, in words."""
    with contextlib.suppress(OSError, ValueError):
        return f"process {int(lock.read_text()[:20])}"
    return "another session"


def _below(folder: Path) -> Iterator[Path]:
    """Files and links; a link to a folder is a link."""
    for base, folders, names in os.walk(folder):
        yield from (Path(base, name) for name in names)
        yield from (path for path in (Path(base, name) for name in folders) if path.is_symlink())
