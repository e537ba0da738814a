"""What is asked of a worker: one attempt, as data. It has no path of any machine, and no program as Python.

Takes a session's command line and what its paths stand for; gives words with `Part`s in their place, and on a
worker the command line again, with the worker's own paths. A `Task` is sent as JSON, which is all that a
worker is ever sent; it never unpickles what describes a run. `task_of_bytes` takes untrusted bytes, and fails
with FleetError that says what is wrong: an unknown key, a wrong type, a text that is too long or not
printable. All of it is pure.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import pairwise
from typing import Annotated

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.exploration import exploration_of
from benchgate.base.files import read_json
from benchgate.base.jsonfields import (
    As,
    Between,
    Matches,
    PlainWord,
    PlainWordOrEmpty,
    Presence,
    Printable,
    Sha256,
    Size,
    as_json,
    read,
    without_head,
)
from benchgate.base.runs import Deadlines
from benchgate.base.snapshots import CACHES, RAM, WORDS, SnapshotRecord
from benchgate.base.system.qemu import comma_safe
from benchgate.base.system.script import Script
from benchgate.features.fleet.errors import FleetError
from benchgate.insn import machine_shape
from benchgate.run.console import ConsoleLimits
from benchgate.run.watch import Watch

APPEND = "-append"
QEMU, CLOCK, KERNEL, INITRD, DISK, FIRMWARE = "qemu", "clock", "kernel", "initrd", "disk", "firmware"
START = "start"
"""The archive with the PID 1 that waits in a snapshot."""
PROGRAM = "program"
"""What a kernel that waits for its command line gets besides."""
ROLES = (QEMU, CLOCK, KERNEL, INITRD, DISK, FIRMWARE, START, PROGRAM)
"""What a task names by digest; `clock` is that of the plugin's sources."""
PROGRAMS = (QEMU, CLOCK)
"""They run on the worker itself, and never travel: a worker has its own."""
OWN = re.compile(r"qemu|plugin|data[0-9]")
MADE = ("clock.log", machine_shape.FILE, "exploration.txt", WORDS)
"""The files of a run's folder that QEMU may be told of."""
KEPT = re.compile(rf"{RAM}(?:-[a-z0-9]{{1,20}})?|{CACHES}")
"""The files of a snapshot that QEMU may be told of."""
LONGEST_TEXT = 1 << 16
MOST_WORDS = 1000
SHA256 = re.compile(r"[0-9a-f]{64}")
_PLAIN = re.compile(r"/[A-Za-z0-9_./+@~-]*")
_Text = Annotated[str, Printable(LONGEST_TEXT)]
_Role = Annotated[str, Matches("|".join(ROLES), f"one of {', '.join(ROLES)}")]
SCHEMA = 5
LARGEST = 4 << 20


@dataclass(frozen=True, slots=True)
class StandIn:
    """What stands for a path."""

    name: str


class WorkerPath(StandIn):
    """A path of the worker's own: its QEMU, a folder that QEMU reads (-L), its plugin."""


class GuestFile(StandIn):
    """A file of the guest; its name is the SHA-256 of its content."""


class FolderFile(StandIn):
    """A file in the run's folder."""


class KeptFile(StandIn):
    """A file of the snapshot from which the guest starts."""


Part = str | StandIn
_PLACES: Mapping[str, tuple[type[StandIn], re.Pattern[str]]] = {
    "own": (WorkerPath, OWN),
    "input": (GuestFile, SHA256),
    "run": (FolderFile, re.compile("|".join(map(re.escape, MADE)))),
    "start": (KeptFile, KEPT),
}
"""By the word of a stored part: the kind of place, and the names that it may have."""


def _read_part(value: object) -> Part:
    """A text, or what stands for a path."""
    if type(value) is str:
        return read(_TextPart, {"text": value}, "a part of a word").text
    match [*read(dict[str, str], value, "a part of a word").items()]:
        case [(word, name)] if word in _PLACES and _PLACES[word][1].fullmatch(name):
            return _PLACES[word][0](name)
    raise ValueError(f"a worker can have no {value!r:.120}")


def _stored_part(part: Part) -> object:
    if isinstance(part, str):
        return part
    return {word: part.name for word, (kind, _) in _PLACES.items() if type(part) is kind}


@dataclass(frozen=True)
class _TextPart:
    text: Annotated[str, Printable(LONGEST_TEXT, lines=False)]


Word = Annotated[tuple[Annotated[Part, As(object, _read_part, _stored_part)], ...], Size(0, 20)]


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """Something that the worker's operator must allow."""

    role: str
    """One of ROLES."""
    sha256: str

    def __str__(self) -> str:
        return f"{self.role} {self.sha256}"


def _canonical(text: str) -> str:
    """An exploration in the one form in which benchgate writes it, so that it is the same file on each
    machine."""
    if text:
        exploration_of(text)
    return text


_StoredItem = Annotated[Item, As(tuple[_Role, Sha256], lambda row: Item(*row), astuple)]


@dataclass(frozen=True, slots=True)
class Task:
    cell: Cell
    nonce: PlainWord
    seed: int
    placement: Placement
    guest_digest: PlainWord
    items: tuple[_StoredItem, ...]
    argv: Annotated[tuple[Word, ...], Size(0, MOST_WORDS)]
    deadlines: Annotated[Deadlines, Presence.INLINE]
    cpus: Annotated[int, Between(1)]
    watch: Watch
    limits: ConsoleLimits = field(default_factory=ConsoleLimits)
    script: Script | None = None
    talks: bool = False
    shape: _Text = ""
    exploration: Annotated[str, As(str, _canonical, str)] = ""
    """The file with the strategy of an explored run; empty: none."""
    start: SnapshotRecord | None = None
    """The snapshot from which it starts, by digest: a worker makes its own (starts.py). None: it boots."""
    words: _Text = ""
    """The words of its kernel command line, if they come after its start."""
    forks: bool = False
    """Whether it may be a fork of a template (run/templates.py)."""
    lane: Lane = Lane.INSN
    pins: Annotated[tuple[int, ...], Size(0, MOST_WORDS)] = ()
    """The worker's CPUs, for a run in wall time."""
    hold: PlainWordOrEmpty = ""
    """The token under which a session holds a measuring host; empty on the instruction clock."""
    vouched: _Text = ""
    """The signature of the fleet's owner over the manifest; may be empty."""

    @property
    def files(self) -> tuple[Item, ...]:
        """What travels to a worker."""
        return tuple(item for item in self.items if item.role not in PROGRAMS)

    def digest_of(self, role: str) -> str:
        """The digest of the first item with this role; empty: there is none."""
        return next((item.sha256 for item in self.items if item.role == role), "")

    @property
    def manifest(self) -> str:
        return manifest(self.items)


def manifest(items: Iterable[Item]) -> str:
    """The one text of these items, which the owner of a fleet signs."""
    return "".join(f"{item}\n" for item in sorted(set(items)))


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def templated(argv: Sequence[str], places: Mapping[str, StandIn]) -> tuple[Word, ...]:
    """Replaces each of these paths by what it stands for, except in the kernel's command line. fleet/words.py
    refuses paths that are left."""
    names = {name: place for path, place in places.items() for name in (path, comma_safe(path))}
    pairs = pairwise(("", *argv))
    return tuple((word,) if option == APPEND else _parts(word, names) for option, word in pairs)


def _parts(word: str, names: Mapping[str, StandIn]) -> Word:
    """Each run has other paths, so a regular expression of them would be compiled for every run."""
    present = [name for name in names if name in word]
    parts: list[Part] = []
    at = 0
    while present:
        start, _, name = min((_whole(word, text, at), -len(text), text) for text in present)
        if start == len(word):
            break
        parts += [word[at:start], names[name]]
        at = start + len(name)
    return tuple(part for part in (*parts, word[at:]) if part != "")


def _whole(word: str, path: str, at: int) -> int:
    """Finds the whole path from `at` on; the word's length means nowhere. /data is neither in /mnt/data nor
    in /database."""
    while (at := word.find(path, at)) >= 0:
        end = at + len(path)
        if (at == 0 or word[at - 1] in "=,") and (end == len(word) or word[end] == ","):
            return at
        at += 1
    return len(word)


def filled(words: Iterable[Word], path_of: Callable[[StandIn], str]) -> tuple[str, ...]:
    """The words with this machine's paths, each of which must be plain."""
    return tuple("".join(text if isinstance(text, str) else path_of(text) for text in word) for word in words)


def is_plain_path(path: str) -> bool:
    """True if a path can stand in each place of a command line and of a loader's variable as it is."""
    return _PLAIN.fullmatch(path) is not None


def task_digest(task: Task) -> str:
    """Two tasks with the same digest are the same run, whoever vouches for them."""
    return sha256_of(task_bytes(replace(task, vouched="")))


def task_bytes(task: Task) -> bytes:
    return json.dumps({"schema": SCHEMA, **as_json(task)}, sort_keys=True).encode()


def task_of_bytes(data: bytes) -> Task:
    if type(data) is not bytes or len(data) > LARGEST:
        raise FleetError(f"a task is JSON of at most {LARGEST} bytes")
    try:
        return _task(read_json(data))
    except ValueError as error:
        raise FleetError(f"this is not a task that this version of benchgate sends: {error}") from error


def _task(value: object) -> Task:
    advice = "use the same version of benchgate on both sides"
    task = read(Task, without_head(value, "the task", advice, schema=SCHEMA), "the task")
    _require_clock(task)
    return replace(task, limits=_limited(task.limits))


def _limited(limits: ConsoleLimits) -> ConsoleLimits:
    most, names = ConsoleLimits(), ("console_bytes", "stderr_bytes", "rest_bytes")
    return replace(limits, **{name: min(getattr(limits, name), 16 * getattr(most, name)) for name in names})


def _require_clock(task: Task) -> None:
    """Runs in wall time, and only these, name their CPUs and the session that holds the host."""
    if task.lane is Lane.NATIVE:
        raise ValueError("a worker starts guests only, so its lane cannot be native")
    if task.lane is Lane.INSN and (task.pins or task.hold):
        raise ValueError("a run on the instruction clock has no CPUs of its own, and holds no host")
    if task.lane is not Lane.INSN and not (task.pins and task.hold):
        raise ValueError("a run in wall time names its CPUs, and the session that holds the host")
