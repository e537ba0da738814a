"""The cache's folders on disk: where they are, and how one is locked, described and removed.

Takes a folder's path, ROOT/KIND/DIGEST; gives its record. While a folder is made it is DIGEST.tmp, and the
maker holds DIGEST.lock. Fails with HostError if the folder cannot be written, the disk is full, or another
session takes too long to make it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchgate.base.errors import HostError
from benchgate.base.files import lock_holder, try_lock

Notice = Callable[[str], None]

KIND = re.compile(r"[a-z][a-z0-9-]{0,30}")
DIGEST = re.compile(r"[0-9a-f]{32}")
FORMAT = 2
_NOTHING_FREE = 64 * 1024
_SAYS_FULL = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ELOOP})
_NO_PATH = frozenset({errno.ENOENT, errno.ENAMETOOLONG})


def cache_root() -> Path:
    """The absolute path of $BENCHGATE_CACHE, else $XDG_CACHE_HOME/benchgate, else ~/.cache/benchgate."""
    try:
        if own := os.environ.get("BENCHGATE_CACHE"):
            return Path(own).expanduser().absolute()
        # The XDG specification requires that a relative path is ignored.
        if (base := Path(os.environ.get("XDG_CACHE_HOME", ""))).is_absolute():
            return base / "benchgate"
        return (Path.home() / ".cache" / "benchgate").absolute()
    except RuntimeError as error:
        advice = "set BENCHGATE_CACHE to a folder that this user can write"
        raise HostError(f"this user has no home folder: {advice}") from error


def _on_stderr(text: str) -> None:
    print(f"benchgate: {text}", file=sys.stderr, flush=True)


_listeners: list[Notice] = [_on_stderr]


@contextlib.contextmanager
def notices_to(listener: Notice) -> Iterator[None]:
    """Sends notices about the cache's state to `listener`, not to stderr, during the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell(text: str) -> None:
    _listeners[-1](text)


@contextlib.contextmanager
def making(place: Path, wait_s: float, notice: Notice | None) -> Iterator[int]:
    """Holds DIGEST.lock, and deletes it afterwards; gives the descriptor that has the lock. A process that
    inherits it has the lock too, until it ends."""
    lock = place.with_name(f"{place.name}.lock")
    deadline = time.monotonic() + wait_s
    noticed = False
    while (descriptor := try_lock(lock)) is None:
        if not noticed and notice:
            notice(f"waiting for {lock_holder(lock)}, which is making {place.parent.name} {place.name[:8]}")
        noticed = True
        if time.monotonic() >= deadline:
            raise HostError(
                f"{lock_holder(lock)} has been making {place} for more than {wait_s:.0f} s: "
                "wait until it has finished or end it, then run this again"
            )
        time.sleep(0.05)
    try:
        yield descriptor
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def record_of(place: Path) -> dict[str, Any]:
    try:
        record = json.loads((place / "record.json").read_text())
    except (OSError, ValueError):
        return {}
    fits = isinstance(record, dict) and record.get("format") == FORMAT and isinstance(record.get("key"), dict)
    return record if fits and isinstance(record.get("made_s"), float) else {}


def collect_temporaries() -> None:
    """Removes what killed sessions left behind: temporary folders and lock files without a holder."""
    root = cache_root()
    for left in [*root.glob("*/*.tmp"), *root.glob("*/*.lock")]:
        if DIGEST.fullmatch(left.stem) and KIND.fullmatch(left.parent.name):
            with contextlib.suppress(HostError), making(left.with_suffix(""), 0.0, None):
                remove_folder(left.with_suffix(".tmp"))


def remove_folder(place: Path) -> None:
    """Deletes a folder. It is renamed first, so that its own name never refers to a half-deleted folder."""
    doomed = place
    if place.suffix != ".tmp":
        doomed = place.with_name(f"{place.name}.tmp")
        if doomed.exists():
            shutil.rmtree(doomed)
        with contextlib.suppress(FileNotFoundError):
            place.rename(doomed)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(doomed)


def full_disk(folder: Path, said: str) -> str:
    """Where the disk is full, and what to do, after a program that writes below this folder failed; empty if
    it is not full. What the program `said` counts too, because its files may be deleted already."""
    places = folder, Path(tempfile.gettempdir())
    full = [place for place in places if place.is_dir() and shutil.disk_usage(place).free < _NOTHING_FREE]
    if not full and not any(words in said for words in _SAYS_FULL):
        return ""
    where = full[0] if full else " or ".join(map(str, dict.fromkeys(places)))
    return (
        f"the disk of {where} is full: free some space, or set BENCHGATE_CACHE (and TMPDIR for the "
        "compiler's own files) to folders on another disk"
    )


@contextlib.contextmanager
def storage_trouble(place: Path) -> Iterator[None]:
    """Explains a full or unwritable folder. Other errors are bugs and keep their traceback."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL and not _is_refusal(error):
            raise
        raise HostError(
            f"the cache folder cannot be used: {error.filename or place}: {error.strerror}; "
            "free some space, or set BENCHGATE_CACHE to a folder that this user can write"
        ) from error


def _is_refusal(error: OSError) -> bool:
    """Whether the error is about the cache folder or one above it, not about a file missing from a build."""
    named, root = Path(os.fsdecode(error.filename or "")), cache_root()
    inside, exists = named.is_relative_to(root), os.path.isdir(root)  # noqa: PTH112 - never fails
    above = not exists and root.is_relative_to(named)
    if error.errno in _NO_PATH:
        return above or (inside and not exists)
    return error.errno in _REFUSED and (inside or above)
