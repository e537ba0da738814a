"""Only one process at a time writes to a folder in which a study, an exploration or a bisect goes on.

Takes the folder's path, which is made if it is missing; holds a lock on it for a block. Fails with UsageError
if the folder cannot be written or another process holds the lock.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.base.files import lock_holder, try_lock

LOCK = "lock"


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
