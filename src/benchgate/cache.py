"""Content-addressed folders under the user's cache: made once, whole or not at all, kept until trimmed.

Takes a kind, a key (all that the content depends on) and a function that fills an empty folder; gives the
folder. Layout: ROOT/KIND/DIGEST/{record.json,files/}; DIGEST.tmp while it is made, DIGEST.lock around that.
A folder in use is held by a shared lock on itself until the process ends, so that `collect` leaves it alone.
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
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchgate.errors import HostError
from benchgate.files import lock_holder, same_file, sync, sync_tree, try_lock, weigh

Notice = Callable[[str], None]

_KIND = re.compile(r"[a-z][a-z0-9-]{0,30}")
_DIGEST = re.compile(r"[0-9a-f]{32}")
_FORMAT = 1
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ELOOP})
_NO_PLACE = frozenset({errno.ENOENT, errno.ENAMETOOLONG})
_CANNOT_LOCK = frozenset({errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL})

_held: dict[Path, int] = {}
"""Folders this process uses, each with the descriptor whose shared lock says so."""
_held_guard = threading.Lock()


@dataclass(frozen=True, slots=True)
class Entry:
    """One kept folder, as `benchgate cache` shows it."""

    kind: str
    digest: str
    folder: Path
    key: Mapping[str, str]
    """Empty where the record cannot be read: such a folder is never used, only collected."""
    made_s: float
    used_s: float
    size_bytes: int
    in_use: bool


def cache_root() -> Path:
    """$BENCHGATE_CACHE, else $XDG_CACHE_HOME/benchgate, else ~/.cache/benchgate; always absolute."""
    try:
        if own := os.environ.get("BENCHGATE_CACHE"):
            return Path(own).expanduser().absolute()
        # The XDG specification says that a relative path there is to be ignored.
        if (base := Path(os.environ.get("XDG_CACHE_HOME", ""))).is_absolute():
            return base / "benchgate"
        return (Path.home() / ".cache" / "benchgate").absolute()
    except RuntimeError as error:
        raise HostError("this user has no home folder: set BENCHGATE_CACHE to a folder of yours") from error


def entry(
    kind: str,
    key: Mapping[str, str],
    make: Callable[[Path], None],
    *,
    wait_s: float = 900.0,
    notice: Notice | None = None,
) -> Path:
    """The folder for this kind and key; `make` fills it if it is not there yet."""
    if not _KIND.fullmatch(kind):
        raise ValueError(f"a cache kind is a plain word, not {kind!r}")
    place = cache_root() / kind / _digest_of(kind, key)
    with _storage_trouble(place):
        if _take(place):
            return place / "files"
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _making(place, wait_s, notice):
            if not _take(place, patience_s=10.0):
                _remove(place)
                _make(place, kind, key, make)
                if not _take(place):
                    raise HostError(f"the cache folder {place} changed while it was made: run this again")
    return place / "files"


def existing(kind: str, key: Mapping[str, str]) -> Path | None:
    """The folder for this kind and key if it is there and whole; makes nothing."""
    place = cache_root() / kind / _digest_of(kind, key)
    with _storage_trouble(place):
        return place / "files" if _take(place) else None


@contextlib.contextmanager
def scratch(kind: str) -> Iterator[Path]:
    """An empty folder beside the kept ones, gone afterwards; if we are killed, `collect` removes it."""
    place = cache_root() / kind / secrets.token_hex(16)
    with _storage_trouble(place):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _collect_temporaries()
        with _making(place, 0.0, None):
            temporary = place.with_name(f"{place.name}.tmp")
            temporary.mkdir(mode=0o700)
            try:
                yield temporary
            finally:
                _remove(temporary)


def listing() -> tuple[Entry, ...]:
    """Everything kept, the longest unused first."""
    with _storage_trouble(cache_root()):
        found = [_describe(place) for place in _places()]
    return tuple(sorted((one for one in found if one), key=lambda one: (one.used_s, one.digest)))


def collect(
    *, keep_bytes: int | None = None, max_unused_s: float | None = None, now_s: float | None = None
) -> tuple[Entry, ...]:
    """Removes dead temporaries and damaged folders, then what is unused for too long, then the longest
    unused until `keep_bytes` are left. Never touches a folder in use. Gives what was removed."""
    now = time.time() if now_s is None else now_s
    with _storage_trouble(cache_root()):
        _collect_temporaries()
        kept = listing()
        excess = sum(one.size_bytes for one in kept) - keep_bytes if keep_bytes is not None else 0
        gone: list[Entry] = []
        for one in kept:
            old = max_unused_s is not None and now - one.used_s > max_unused_s
            if (old or excess > 0 or not one.key) and _discard(one.folder):
                gone.append(one)
                excess -= one.size_bytes
    return tuple(gone)


def _digest_of(kind: str, key: Mapping[str, str]) -> str:
    text = json.dumps([_FORMAT, kind, dict(key)], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _make(place: Path, kind: str, key: Mapping[str, str], make: Callable[[Path], None]) -> None:
    """Fills DIGEST.tmp and renames it; whatever goes wrong, the temporary does not stay."""
    temporary = place.with_name(f"{place.name}.tmp")
    _remove(temporary)  # its maker is dead: we hold the lock
    files = temporary / "files"
    try:
        files.mkdir(parents=True, mode=0o700)
        make(files)
        count, size = weigh(files)
        record = {"format": _FORMAT, "kind": kind, "key": dict(key), "made_s": time.time()}
        record |= {"files": count, "bytes": size}
        (temporary / "record.json").write_text(json.dumps(record, sort_keys=True, indent=1) + "\n")
        sync_tree(temporary)
        temporary.rename(place)
        sync(place.parent)
    finally:
        _remove(temporary)


@contextlib.contextmanager
def _making(place: Path, wait_s: float, notice: Notice | None) -> Iterator[None]:
    """Holds DIGEST.lock; it is deleted again by whoever held it."""
    lock = place.with_name(f"{place.name}.lock")
    deadline = time.monotonic() + wait_s
    told = False
    while (descriptor := try_lock(lock)) is None:
        if not told and notice:
            notice(f"waiting for {lock_holder(lock)}, which makes {place.parent.name} {place.name[:8]}")
        told = True
        if time.monotonic() >= deadline:
            raise HostError(
                f"{lock_holder(lock)} has been making {place} for more than {wait_s:.0f} s: "
                "wait until it is done or end it, then run this again"
            )
        time.sleep(0.05)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)


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
    record = _record(place)
    return bool(record) and weigh(place / "files") == (record.get("files"), record.get("bytes"))


def _record(place: Path) -> dict[str, Any]:
    try:
        record = json.loads((place / "record.json").read_text())
    except (OSError, ValueError):
        return {}
    fits = (
        isinstance(record, dict) and record.get("format") == _FORMAT and isinstance(record.get("key"), dict)
    )
    return record if fits and isinstance(record.get("made_s"), float) else {}


def _touch(place: Path) -> None:
    with contextlib.suppress(OSError):  # a shared, read-only cache is still good for reading
        os.utime(place / "record.json")


def _places() -> Iterator[Path]:
    root = cache_root()
    if root.exists() and not root.is_dir():
        raise HostError(f"the cache {root} is no folder: set BENCHGATE_CACHE to one")
    if root.is_dir():
        for kind in sorted(root.iterdir()):
            if _KIND.fullmatch(kind.name) and kind.is_dir():
                yield from (one for one in sorted(kind.iterdir()) if _DIGEST.fullmatch(one.name))


def _describe(place: Path) -> Entry | None:
    record = _record(place)
    try:
        used = (place / "record.json" if record else place).stat().st_mtime
        size = weigh(place)[1]
        busy = _busy(place)
    except FileNotFoundError:
        return None  # removed by another session meanwhile
    key = {str(name): str(value) for name, value in record.get("key", {}).items()}
    made = record.get("made_s", used)
    return Entry(place.parent.name, place.name, place, MappingProxyType(key), made, used, size, busy)


def _busy(place: Path) -> bool:
    descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True  # also where folders cannot be locked: in doubt it is in use
    finally:
        os.close(descriptor)
    return False


def _discard(place: Path) -> bool:
    """Removes one folder unless it is in use or just being made."""
    with contextlib.suppress(HostError, FileNotFoundError), _making(place, 0.0, None):
        descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(place)
        except OSError as error:
            if not isinstance(error, BlockingIOError):
                raise
            return False
        finally:
            os.close(descriptor)
        return True
    return False


def _collect_temporaries() -> None:
    """What a killed session left: temporaries and locks that nobody holds."""
    root = cache_root()
    for left in [*root.glob("*/*.tmp"), *root.glob("*/*.lock")]:
        if _DIGEST.fullmatch(left.stem) and _KIND.fullmatch(left.parent.name):
            with contextlib.suppress(HostError), _making(left.with_suffix(""), 0.0, None):
                _remove(left.with_suffix(".tmp"))


def _remove(place: Path) -> None:
    """Deletes a folder so that no moment shows a half of it under its own name."""
    doomed = place
    if place.suffix != ".tmp":
        doomed = place.with_name(f"{place.name}.tmp")
        if doomed.exists():
            shutil.rmtree(doomed)
        with contextlib.suppress(FileNotFoundError):
            place.rename(doomed)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(doomed)


@contextlib.contextmanager
def _storage_trouble(place: Path) -> Iterator[None]:
    """Says what a full or unwritable folder means; other errors are defects and keep their traceback."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL and not _is_refusal(error):
            raise
        raise HostError(
            f"the cache folder cannot be used: {error.filename or place}: {error.strerror}; "
            "make room or set BENCHGATE_CACHE to a folder that this user can write"
        ) from error


def _is_refusal(error: OSError) -> bool:
    """Of the cache's folder, or of one above it. A file that a build did not make is none."""
    named, root = Path(os.fsdecode(error.filename or "")), cache_root()
    inside = named.is_relative_to(root)
    if error.errno in _NO_PLACE:
        return not os.path.isdir(root) and (inside or root.is_relative_to(named))  # noqa: PTH112 - never fails
    return inside and error.errno in _REFUSED
