"""What a worker has: a QEMU for each architecture with the instruction clock, and the guests' files.

Takes names of architectures; gives an `Equipment` for each, by QEMU's digest. All of it comes from the
worker's own lock files and its own compiler, never from a session. Fails with FetchError or BuildError, and
with HostError for a QEMU in which the clock does not reach level full.

An `InputStore` takes a folder; gives the path of a file by its SHA-256, and takes new ones. Each file is sent
once, and kept until the folder is deleted; one that changed on disk is removed and sent again. Fails with
FleetError if a content has another digest, and with OSError if the disk is full or refuses.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from benchgate.base.errors import HostError
from benchgate.base.files import file_digest
from benchgate.base.system.arch import ARCHITECTURES
from benchgate.base.system.qemu import Qemu
from benchgate.build.cache_storage import Notice
from benchgate.build.fetch import inputs
from benchgate.features.fleet.errors import FleetError
from benchgate.features.fleet.task import CLOCK, QEMU, SHA256, Task
from benchgate.insn.plugin import prepare, source_digest
from benchgate.insn.support import support

LARGEST = 4 << 30


@dataclass(frozen=True, slots=True)
class Equipment:
    qemu: Qemu
    plugin: Path


def prepared(architectures: Iterable[str], notice: Notice) -> Mapping[str, Equipment]:
    equipments = [_for_guests(name, notice) for name in architectures]
    return {equipment.qemu.digest: equipment for equipment in equipments}


def _for_guests(architecture: str, notice: Notice) -> Equipment:
    if architecture not in ARCHITECTURES:
        raise HostError(f"--guests {architecture}: there are guests of {', '.join(ARCHITECTURES)}")
    qemu = inputs.qemu(None, ARCHITECTURES[architecture], notice=notice)
    seen = support(qemu)
    if not seen.works:
        raise HostError(
            f"{qemu.binary} cannot carry the instruction clock, which a worker needs: {seen.reason}; see "
            "`benchgate doctor`"
        )
    return Equipment(qemu, prepare(qemu))


def equipment_for(task: Task, own: Mapping[str, Equipment]) -> Equipment:
    """FleetError if this worker has another QEMU or another clock than the session."""
    wanted, clock = task.digest_of(QEMU), task.digest_of(CLOCK)
    if wanted not in own:
        have = ", ".join(f"{equipment.qemu.version_text} ({digest:.12})" for digest, equipment in own.items())
        raise FleetError(
            f"the session's QEMU has digest {wanted:.12}, and this worker has {have or 'none'}: use the same "
            "version of benchgate on the same distribution, and name each architecture with --guests"
        )
    if clock != source_digest():
        raise FleetError(
            f"the session's instruction clock has sources {clock:.12}, and this worker's "
            f"{source_digest():.12}: use the same version of benchgate on both"
        )
    return own[wanted]


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
    result = path.stat()
    return result.st_size, result.st_mtime_ns
