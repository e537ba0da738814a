"""A snapshot of a booted guest, from which runs start warm: files, record and the digest of its memory.

Takes the folder of a snapshot, or of a run that started from one; gives a `GuestSnapshot` or a
`SnapshotRecord`. The files are untrusted: a record of another form raises ValueError.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from benchgate.base.files import PAGE, pages, read_json, read_start, write_json
from benchgate.base.jsonfields import Between, Presence, as_json, read, without_head

SCHEMA = 1
FILE = "start.json"
"""The record's name, in the folder of the snapshot and of each run from it."""
RAM, STATE, CONSOLE, CACHES, DISK = "ram", "state", "serial.log", "caches", "disk"
"""The guest's memory, a file for each node; its CPUs and devices, as QEMU saves them; what it had printed;
what was in the caches of its machine; what its disks had, a file for each."""
WORDS = "words"
"""The words of a run's kernel command line, in the run's folder."""
_RECORD_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class SnapshotWords:
    """What differs on QEMU's command line between the guest that is saved and one that starts there, besides
    paths. run/argv.py writes both; another machine makes the first from the second."""

    memory: str
    """How QEMU maps each file of the guest's memory."""
    disk: str
    """Whether QEMU writes to the file of a disk."""
    content: str
    """What fw_cfg has of the things that come after the start, before their path."""
    more: tuple[str, ...]
    """Further words."""
    options: tuple[str, ...]
    """The plugin's options that the other one does not have, or with another value."""


SAVED = SnapshotWords("share=on", "snapshot=off", "string=later", (), ("seed",))
STARTED = SnapshotWords(
    "share=off,readonly=on,rom=off",
    "snapshot=on",
    "file=",
    ("-incoming", "defer"),
    ("seed", "start", "explore"),
)


START = "start"
"""The setting of each guest that says where its runs begin."""
AUTO = "auto"
"""In place of a StartKind: warm where a system can."""
FORK = "fork"
"""In place of a StartKind: warm, and runs are forks where they can be (run/templates.py). The figures are
those of warm starts, digit for digit."""


class StartKind(StrEnum):
    """Where a run begins."""

    COLD = "cold"
    """At the machine's reset."""
    WARM = "warm"
    """At a snapshot of the booted guest."""


ALWAYS_WARM = (StartKind.WARM, FORK)
"""The values of --start with which nothing starts cold."""


def boot_of(seed: int, boots: int) -> int:
    """The seed of the boot behind a run's seed: of so many boots each in its turn. No boot has seed 0, with
    which nothing is left to chance."""
    return 1 + (seed - 1) % boots


@dataclass(frozen=True, slots=True)
class SnapshotRecord:
    """What is known of a snapshot. Equal inputs give equal memory and CPUs on every host."""

    time_ns: Annotated[int, Between(1)]
    """The guest's time at which it was taken."""
    console: Annotated[int, Between(1)]
    """How many bytes the guest had printed."""
    boot: Annotated[int, Between(0)]
    """The seed of the instruction clock with which it booted."""
    digests: Mapping[str, str]
    """The digests of its files: memory, caches and disks by `pages_digest`."""
    inputs: Mapping[str, str]
    """Everything on which the content depends: digests of files, and the words of QEMU's command line."""
    unstarted: Annotated[tuple[Annotated[int, Between(0, 255)], ...], Presence.LATER] = ()
    """The vCPUs that had executed nothing."""

    @property
    def digest(self) -> str:
        """Of all its files."""
        return hashlib.sha256(str(sorted(self.digests.items())).encode()).hexdigest()

    @property
    def content(self) -> dict[str, Any]:
        """What is in its file."""
        return {"schema": SCHEMA, **as_json(self)}

    def save(self, folder: Path) -> None:
        write_json(folder / FILE, self.content)


@dataclass(frozen=True, slots=True)
class GuestSnapshot:
    folder: Path
    record: SnapshotRecord

    @property
    def state(self) -> Path:
        return self.folder / STATE

    @property
    def printed(self) -> bytes:
        """What the guest had printed."""
        return (self.folder / CONSOLE).read_bytes()


def read_record(folder: Path) -> SnapshotRecord:
    content = read_start(folder / FILE, _RECORD_BYTES)
    if len(content) > _RECORD_BYTES:
        raise ValueError(f"it has more than {_RECORD_BYTES} bytes")
    own = without_head(read_json(content), "the start", "use the benchgate that wrote it", schema=SCHEMA)
    return read(SnapshotRecord, own, "the start")


def keep_pages(memory: Path, kept: Path) -> None:
    """Copies the pages that are not zero, with holes in place of the others."""
    with kept.open("xb") as stream:
        stream.truncate(memory.stat().st_size)
        for number, page in pages(memory):
            stream.seek(number * PAGE)
            stream.write(page)
