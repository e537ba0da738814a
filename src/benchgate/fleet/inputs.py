"""The guest's files on a worker: each is sent once, and kept under its SHA-256 until the folder is deleted.

Takes a folder; gives the path of a file by its digest, and takes new ones. A file that changed on disk is
removed and sent again. Fails with FleetError if a content has another digest, and with OSError if the disk
is full or refuses.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from threading import Lock

from benchgate.base.errors import FleetError
from benchgate.base.files import file_digest
from benchgate.fleet.task import SHA256

LARGEST = 4 << 30


class InputStore:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, tuple[int, int]] = {}
        """Size and time of the files whose content this process has read."""
        self._guard = Lock()

    def find(self, sha256: str) -> Path | None:
        """The file's path; None if it has to be sent. Its content is read once in each process."""
        path = self._folder / sha256
        with self._guard:
            try:
                now = _stamp(path)
            except FileNotFoundError:
                return None
            if self._known.get(sha256) == now:
                return path
            if file_digest(path) != sha256:
                path.unlink()
                return None
            self._known[sha256] = now
            return path

    def put(self, sha256: str, content: bytes) -> None:
        if not SHA256.fullmatch(sha256) or len(content) > LARGEST:
            raise FleetError(f"an input needs a SHA-256 and at most {LARGEST} bytes, not {sha256!r:.80}")
        found = hashlib.sha256(content).hexdigest()
        if found != sha256:
            raise FleetError(f"an input was announced as {sha256:.12}, and its content is {found:.12}")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=".new-", dir=self._folder)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
            Path(name).rename(self._folder / sha256)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
