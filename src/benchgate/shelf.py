"""The cache's folders on disk: where they lie, how one is locked, described and removed.

Takes a place, ROOT/KIND/DIGEST; gives its record. DIGEST.tmp is there while it is made, DIGEST.lock around
that. Fails with HostError where the folder cannot be written, is full, or another session makes it for too
long.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchgate.errors import HostError
from benchgate.files import lock_holder, try_lock

Notice = Callable[[str], None]

KIND = re.compile(r"[a-z][a-z0-9-]{0,30}")
DIGEST = re.compile(r"[0-9a-f]{32}")
FORMAT = 1
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ELOOP})
_NO_PLACE = frozenset({errno.ENOENT, errno.ENAMETOOLONG})


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


@contextlib.contextmanager
def making(place: Path, wait_s: float, notice: Notice | None) -> Iterator[None]:
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


def record_of(place: Path) -> dict[str, Any]:
    try:
        record = json.loads((place / "record.json").read_text())
    except (OSError, ValueError):
        return {}
    fits = isinstance(record, dict) and record.get("format") == FORMAT and isinstance(record.get("key"), dict)
    return record if fits and isinstance(record.get("made_s"), float) else {}


def collect_temporaries() -> None:
    """What a killed session left: temporaries and locks that nobody holds."""
    root = cache_root()
    for left in [*root.glob("*/*.tmp"), *root.glob("*/*.lock")]:
        if DIGEST.fullmatch(left.stem) and KIND.fullmatch(left.parent.name):
            with contextlib.suppress(HostError), making(left.with_suffix(""), 0.0, None):
                remove(left.with_suffix(".tmp"))


def remove(place: Path) -> None:
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
def storage_trouble(place: Path) -> Iterator[None]:
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
    inside, is_there = named.is_relative_to(root), os.path.isdir(root)  # noqa: PTH112 - never fails
    above = not is_there and root.is_relative_to(named)
    if error.errno in _NO_PLACE:
        return above or (inside and not is_there)
    return error.errno in _REFUSED and (inside or above)
