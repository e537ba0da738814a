"""Reads what the guest's scheduler did, as the plugin saw it (threads.txt).

Takes the path of the file; gives frozen `ThreadEvents` in the order of the file, in which the clock saw them:
that is the order of cause and effect, though the times of two vCPUs may differ by the clock's quantum. The
file is untrusted: a line outside the format is a VerifyError that names it. A file without an end is valid
(QEMU was killed), and so is one that became full.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from benchgate.base.errors import VerifyError
from benchgate.insn.log_text import text_of, whole_lines

FILE_LIMIT = 64 << 20
MOST_VCPUS = 256
LONGEST_NAME = 32
"""In bytes."""
IDLE = 0
"""The id of the idle thread of every CPU."""
ThreadState = Literal["r", "b", "d"]
"""What the thread is that a CPU switches from: still runnable, blocked, or dead."""
_N = r"(0|[1-9][0-9]{0,18})"
_NAME = rf"(-|(?:[0-9a-f]{{2}}){{1,{LONGEST_NAME}}})"
_MASK = r"(0|[1-9a-f][0-9a-f]{0,63})"
_QUEUE = r"(-|0|[1-9][0-9]{0,8})"
_TRAIL = r"(-|[0-9a-f]{1,16}(?:,[0-9a-f]{1,16}){0,7})"
_HEADS = {"insn-threads 1": 1, "insn-threads 2": 2, "insn-threads 3": 3, "insn-threads 4": 4}
"""The versions. The second one has the halts of the clock, the third one the stays in the kernel, the fourth
one which of them were interruptions, for how long they spun, and how many there were."""
_HALTS, _STAYS, _INTERRUPTIONS = 2, 3, 4
_ONCE = re.compile(rf"(vcpus|start|open|close|full|end) {_N}")
_FORMS = {
    "fork": re.compile(rf"fork {_N} {_N} {_N} {_N} {_NAME}"),
    "name": re.compile(rf"name {_N} {_N} {_N} {_NAME}"),
    "switch": re.compile(rf"switch {_N} {_N} {_N} ([rbd]) {_N} {_QUEUE}"),
    "wake": re.compile(rf"wake {_N} {_N} {_N} {_N} {_QUEUE} {_TRAIL}(?: {_N})?"),
    "send": re.compile(rf"send {_N} {_N} {_N} {_TRAIL}(?: {_N})?"),
    "ask": re.compile(rf"ask {_N} {_N} {_N}"),
    "migrate": re.compile(rf"migrate {_N} {_N} {_N} {_N} {_N}"),
    "allow": re.compile(rf"allow {_N} {_N} {_N} {_MASK}"),
    "exit": re.compile(rf"exit {_N} {_N} {_N}"),
    "tick": re.compile(rf"tick {_N} {_N}"),
    "yield": re.compile(rf"yield {_N} {_N}"),
    "halt": re.compile(rf"halt {_N} {_N}"),
    "resume": re.compile(rf"resume {_N} {_N}"),
    "stay": re.compile(rf"stay {_N} {_N} {_N}(?: {_N} {_N})?"),
    "interrupt": re.compile(rf"interrupt {_N} {_N} {_N} {_N} {_N}"),
}


@dataclass(frozen=True, slots=True)
class _OnCpu:
    line: int
    vcpu: int
    time: int


@dataclass(frozen=True, slots=True)
class _OfThread(_OnCpu):
    thread: int


@dataclass(frozen=True, slots=True)
class ForkEvent(_OfThread):
    parent: int
    name: str


@dataclass(frozen=True, slots=True)
class NameEvent(_OfThread):
    name: str


@dataclass(frozen=True, slots=True)
class SwitchEvent(_OnCpu):
    before: int
    state: ThreadState
    """What `before` is now."""
    thread: int
    """The one that runs from here on."""
    queue: int | None
    """How many threads are runnable on the vCPU by the guest's own count; None: not observed."""


@dataclass(frozen=True, slots=True)
class WakeEvent(_OfThread):
    """`vcpu` is the waker's."""

    cpu: int
    """On whose queue the thread is now."""
    queue: int | None
    trail: tuple[int, ...]
    """Return addresses from the waker's stack, innermost first."""
    read: int | None = None
    """The latest time that the guest had read from its clock, on any vCPU; None: an earlier version did not
    record it."""


@dataclass(frozen=True, slots=True)
class SendEvent(_OfThread):
    """The thread that runs here wakes another one, and leaves it to the other's CPU to do so."""

    trail: tuple[int, ...]
    read: int | None = None
    """As of a wake-up."""


@dataclass(frozen=True, slots=True)
class AskEvent(_OfThread):
    """The kernel is told to wake this thread, which is blocked or about to be."""


@dataclass(frozen=True, slots=True)
class MigrateEvent(_OfThread):
    origin: int
    cpu: int


@dataclass(frozen=True, slots=True)
class AllowEvent(_OfThread):
    cpus: int
    """A mask; the least significant bit is CPU 0."""


@dataclass(frozen=True, slots=True)
class ExitEvent(_OfThread):
    pass


@dataclass(frozen=True, slots=True)
class PromptEvent(_OnCpu):
    """The CPU's scheduler looks at the running thread (`tick`), or that one gives way (`yield`). A switch may
    follow."""

    is_yield: bool


@dataclass(frozen=True, slots=True)
class HaltEvent(_OnCpu):
    """From here on the vCPU executes nothing, or it goes on: by the clock, whatever the guest says."""

    is_begin: bool


@dataclass(frozen=True, slots=True)
class StayEvent(_OnCpu):
    """Until here the vCPU executed the kernel, with the thread that it has, and no program."""

    length: int
    spun: int
    """Of that: in loops that can do nothing but wait; 0 if an earlier version did not record it."""
    count: int
    """How many stays of programs, without interruptions, the vCPU has had by now; 0 in the same case."""
    is_interruption: bool
    """Its program asked for it neither by a call nor by a fault."""


ThreadEvent = (
    ForkEvent
    | NameEvent
    | SwitchEvent
    | WakeEvent
    | SendEvent
    | AskEvent
    | MigrateEvent
    | AllowEvent
    | ExitEvent
    | PromptEvent
    | HaltEvent
    | StayEvent
)


@dataclass(frozen=True, slots=True)
class ThreadEvents:
    path: str
    """The file, for messages that name a line of it."""
    vcpus: int
    events: tuple[ThreadEvent, ...]
    opened: int | None
    """The time at which the window opens; None if the guest has no marks: then it is the whole run."""
    opened_line: int
    """Threads that no fork made may appear before this line; 0 without a window."""
    closed: int | None
    full: int | None
    """The time after which events are missing because the file was full; None if it was not."""
    end: int | None
    """None if QEMU was killed before it could write the end."""
    start: int | None = None
    """The time at which the guest began from a snapshot, and had threads already; None if it booted."""
    has_halts: bool = False
    """Whether the clock's halts are among the events; earlier versions did not record them."""
    has_stays: bool = False
    """The same of stays in the kernel."""
    has_interruptions: bool = False
    """Whether it is known which stays were interruptions."""


def read_thread_events(path: Path) -> ThreadEvents:
    return _ThreadLogReader(path).read(whole_lines(text_of(path, FILE_LIMIT, "thread events")))


class _ThreadLogReader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.events: list[ThreadEvent] = []
        self.once: dict[str, int] = {}
        self.opened_line = 0

    def read(self, lines: list[str]) -> ThreadEvents:
        version = _HEADS.get(lines[0] if lines else "")
        if version is None:
            raise VerifyError(f"{self.path}: not a file of thread events of a known version")
        for number, line in enumerate(lines[1:], 2):
            if line and ("end" in self.once or not self._line(number, line)):
                raise VerifyError(f"{self.path}:{number}: this is not a line of a file of thread events")
        if "vcpus" not in self.once:
            raise VerifyError(f"{self.path}: no line says how many vCPUs there are")
        self._check_order()
        return ThreadEvents(
            path=str(self.path),
            vcpus=self.once["vcpus"],
            events=tuple(self.events),
            opened=self.once.get("open"),
            opened_line=self.opened_line,
            closed=self.once.get("close"),
            full=self.once.get("full"),
            end=self.once.get("end"),
            start=self.once.get("start"),
            has_halts=version >= _HALTS,
            has_stays=version >= _STAYS,
            has_interruptions=version >= _INTERRUPTIONS,
        )

    def _check_order(self) -> None:
        said = [(word, self.once[word]) for word in ("start", "open", "close", "end") if word in self.once]
        for (one, early), (two, late) in pairwise(said):
            if early > late:
                raise VerifyError(f"{self.path}: the time of `{two}` is before that of `{one}`")
        if "close" in self.once and "open" not in self.once:
            raise VerifyError(f"{self.path}: the window closes but does not open")

    def _line(self, number: int, line: str) -> bool:
        if form := _FORMS.get(line.partition(" ")[0]):
            match = form.fullmatch(line)
            if not match or "full" in self.once:
                return False
            event = _event(number, line, match.groups())
            self.events.append(event)
            return self._fits(event)
        match = _ONCE.fullmatch(line)
        if not match or match[1] in self.once:
            return False
        word, value = match[1], int(match[2])
        self.once[word] = value
        if word == "open":
            self.opened_line = number
        return 1 <= self.once.get("vcpus", 0) <= MOST_VCPUS

    def _fits(self, event: ThreadEvent) -> bool:
        vcpus = self.once.get("vcpus", 0)
        if isinstance(event, WakeEvent | MigrateEvent) and event.cpu >= vcpus:
            return False
        return event.vcpu < vcpus and not (isinstance(event, MigrateEvent) and event.origin >= vcpus)


def _name(word: str) -> str:
    return "" if word == "-" else bytes.fromhex(word).decode("utf-8", "replace")


def _read(word: str | None) -> int | None:
    return None if word is None else int(word)


def _queue(word: str) -> int | None:
    return None if word == "-" else int(word)


def _trail(word: str) -> tuple[int, ...]:
    return () if word == "-" else tuple(int(piece, 16) for piece in word.split(","))


def _mask(word: str) -> int:
    return int(word, 16)


_EVENTS: Mapping[str, tuple[Callable[..., ThreadEvent], tuple[Callable[[str], object], ...]]] = {
    "fork": (ForkEvent, (int, _name)),
    "name": (NameEvent, (_name,)),
    "switch": (SwitchEvent, (str, int, _queue)),
    "wake": (WakeEvent, (int, _queue, _trail, _read)),
    "send": (SendEvent, (_trail, _read)),
    "ask": (AskEvent, ()),
    "migrate": (MigrateEvent, (int, int)),
    "allow": (AllowEvent, (_mask,)),
    "exit": (ExitEvent, ()),
}
"""The event of a line by its first word, and what reads the words after vCPU, time and thread."""


def _event(number: int, line: str, words: tuple[str, ...]) -> ThreadEvent:
    kind = line.partition(" ")[0]
    if kind in ("tick", "yield"):
        return PromptEvent(number, int(words[0]), int(words[1]), is_yield=kind == "yield")
    if kind in ("halt", "resume"):
        return HaltEvent(number, int(words[0]), int(words[1]), is_begin=kind == "halt")
    if kind in ("stay", "interrupt"):
        vcpu, time, length, spun, count = (int(word or 0) for word in words)
        return StayEvent(number, vcpu, time, length, spun, count, is_interruption=kind == "interrupt")
    event, reads = _EVENTS[kind]
    values = (read(word) for read, word in zip(reads, words[3:], strict=True))
    return event(number, *map(int, words[:3]), *values)
