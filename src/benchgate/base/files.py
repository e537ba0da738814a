"""Strict JSON, logs, digests, sizes, lock files and syncing, for the modules that keep files on disk.

Takes paths, gives plain values. Fails with OSError, which the caller turns into its own stage's error. Only
regular files are read, because a device or a FIFO has no end. `locked` is for a folder in which a study, an
exploration or a bisect goes on: one process at a time writes there, and others get a UsageError.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import io
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from benchgate.base.errors import UsageError
from benchgate.base.text import one_line

_BLOCK = 512
"""The unit of st_blocks, whatever the file system's own is."""
TAIL_BYTES = 4096
"""So many bytes at the end of a log are read to find its last line."""
LOCK = "lock"
PAGE, _AT_ONCE, _LARGE = 4096, 256, 64 << 20
_ZERO = bytes(PAGE)
_SMALL = 1 << 18
"""The size of the buffer of zeros that hashlib makes for each file; a smaller file is read at once."""


def read_json(text: str | bytes) -> Any:
    """Parses unambiguous JSON; fails with ValueError. Duplicate keys are refused because readers disagree
    about which value counts; NaN and Infinity are refused because they are not JSON."""
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        duplicate = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"duplicate key {duplicate!r:.40}")
    return result


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


def open_regular(path: Path, *, follow: bool = True) -> io.BufferedReader:
    """A regular file, opened for reading; a FIFO, a device or a folder is refused with OSError, and so is a
    link if it must not be followed. It is opened without blocking, because a FIFO would block forever."""
    links = 0 if follow else os.O_NOFOLLOW
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | links)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def read_start(path: Path, most: int, *, follow: bool = False) -> bytes:
    """The first `most` bytes of an untrusted file, plus one more byte if it is longer."""
    with open_regular(path, follow=follow) as stream:
        return stream.read(most + 1)


def last_line(log: BinaryIO) -> str:
    """The last line of a log that is not blank, safe to show. Reads only the end of the log."""
    log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES))
    lines = [line for line in log.read(TAIL_BYTES).split(b"\n") if line.strip()]
    return one_line(lines[-1]) if lines else ""


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with open_regular(path) as stream:
        if os.fstat(stream.fileno()).st_size < _SMALL:
            return hashlib.sha256(stream.read()).hexdigest()
        return hashlib.file_digest(stream, "sha256").hexdigest()


def tree_digest(folder: Path, skip: tuple[str, ...] = ()) -> str:
    """One SHA-256 over the names, kinds and contents of everything below a folder, except names in `skip`."""
    digest = hashlib.sha256()
    for parts in sorted(_below(folder, skip)):
        path, name = folder.joinpath(*parts), "/".join(parts)
        content = f"link {path.readlink()}" if path.is_symlink() else _content(path)
        digest.update(f"{len(name)} {name} {content}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()


def _content(path: Path) -> str:
    """The digest of a file; of a large one, which may be mostly holes, by its pages."""
    size = path.stat().st_size
    return f"file {file_digest(path)}" if size < _LARGE else f"pages {size} {pages_digest(path)}"


def pages_digest(path: Path) -> str:
    """One digest of all pages that are not zero, with their numbers."""
    digest = hashlib.sha256()
    for number, page in pages(path):
        digest.update(number.to_bytes(8, "little") + page)
    return digest.hexdigest()


def pages(path: Path) -> Iterator[tuple[int, bytes]]:
    """Each page of a file that is not zero, with its number. Holes are not read."""
    given = 0  # a file system may have blocks that are smaller than a page
    with open_regular(path) as stream:
        for begin, end in data_of(stream.fileno()):
            begins, given = max(begin // PAGE, given), -(-end // PAGE)
            stream.seek(begins * PAGE)
            for first in range(begins, given, _AT_ONCE):
                piece = stream.read(min(_AT_ONCE, given - first) * PAGE)
                for at in range(0, len(piece), PAGE):
                    page = piece[at : at + PAGE]
                    if page != _ZERO[: len(page)]:
                        yield first + at // PAGE, page


def data_of(descriptor: int) -> Iterator[tuple[int, int]]:
    """The parts of a file that are no holes."""
    at, size = 0, os.fstat(descriptor).st_size
    while at < size:
        try:
            begin = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # a hole up to the end
                return
            raise
        at = os.lseek(descriptor, begin, os.SEEK_HOLE)
        yield begin, at


def count_and_size(folder: Path) -> tuple[int, int]:
    """The number of files and links below a folder, and their total size in bytes."""
    sizes = [folder.joinpath(*parts).lstat().st_size for parts in _below(folder)]
    return len(sizes), sum(sizes)


def disk_usage(folder: Path) -> int:
    """The bytes that a folder takes on its disk. A sparse file takes fewer than its length, and one with
    several names in the folder counts once."""
    found = [folder.lstat(), *(path.lstat() for path in folder.rglob("*"))]
    return sum({(one.st_dev, one.st_ino): one.st_blocks * _BLOCK for one in found}.values())


def sync_tree(folder: Path) -> None:
    """Flushes everything below a folder to the disk with fsync."""
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
    """Whether the path still names the file that the descriptor has open."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def try_lock(lock: Path) -> int | None:
    """A descriptor with an exclusive lock on the file, or None. The lock holder deletes the file."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if same_file(descriptor, lock):  # otherwise its last holder deleted it meanwhile
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
    """A description of the lock holder, for messages."""
    with contextlib.suppress(OSError, ValueError):
        return f"process {int(lock.read_text()[:20])}"
    return "another session"


def _below(folder: Path, skip: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All files and links, by the parts of their names. A link to a folder counts as a link and is not
    followed."""
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in skip]
        links = [name for name in folders if Path(base, name).is_symlink()]
        above = Path(base).relative_to(folder).parts
        yield from ((*above, name) for name in [*names, *links] if name not in skip)


def write_json(path: Path, value: object) -> None:
    path.write_bytes(f"{json.dumps(value, indent=1, sort_keys=True)}\n".encode())


@cache
def own_source_digest() -> str:
    """One digest over benchgate's own source, which a session records."""
    return tree_digest(Path(__file__).parents[1], skip=("__pycache__",))


@contextmanager
def locked(path: Path, verb: str) -> Iterator[None]:
    """`verb`: what its holder does there, for the message to others."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = try_lock(path / LOCK)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; name another with --out") from error
    if lock is None:
        raise UsageError(f"{lock_holder(path / LOCK)} {verb} in {path}; wait for it, or give --out")
    try:
        yield
    finally:
        os.close(lock)
