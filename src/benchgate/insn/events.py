"""Reads every turn, halt, wake-up and interrupt of a window that the plugin wrote in a replay
(c/record/events.c).

Takes the path of the file; gives frozen `Events`. The file is untrusted: a line outside the format is a
VerifyError that names it. A file without an end is valid (QEMU was killed), and so is one that became full.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import VerifyError
from benchgate.insn.log_text import text_of, whole_lines

FILE_LIMIT = 24 << 20
_N = r"(0|[1-9][0-9]{0,18})"
_BY = r"(-|0|[1-9][0-9]{0,2})"
_TURN = re.compile(rf"(work|spin) {_N} {_N} {_N}")
_HALT = re.compile(rf"halt {_N} {_N} {_N} {_BY}")
_REST = re.compile(rf"rest {_N} {_N} {_N}")
_KICK = re.compile(rf"kick {_N} {_N} {_BY}")
_OTHER = re.compile(rf"(vcpus|open|close|full|end) {_N}")


@dataclass(frozen=True, slots=True)
class Turn:
    """The vCPU ran. If `works` is False, it executed loops that only wait."""

    vcpu: int
    begin: int
    end: int
    works: bool


@dataclass(frozen=True, slots=True)
class Halt:
    vcpu: int
    begin: int
    end: int
    by: int | None
    """The vCPU that woke it; None for a timer or a device."""
    is_woken: bool = True
    """False if it is still halted when the window closes."""


@dataclass(frozen=True, slots=True)
class Kick:
    """The vCPU was interrupted while it ran."""

    vcpu: int
    time: int
    by: int | None


@dataclass(frozen=True, slots=True)
class Events:
    vcpus: int
    turns: tuple[Turn, ...]
    halts: tuple[Halt, ...]
    kicks: tuple[Kick, ...]
    full: int | None
    """The time after which events are missing because the file was full; None if it was not."""
    is_closed: bool


def read_events(path: Path) -> Events:
    return _EventReader(path).read(whole_lines(text_of(path, FILE_LIMIT, "events")))


class _EventReader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.turns: list[Turn] = []
        self.halts: list[Halt] = []
        self.kicks: list[Kick] = []
        self.said: dict[str, int] = {}

    def read(self, lines: list[str]) -> Events:
        if lines[:1] != ["insn-events 1"]:
            raise VerifyError(f"{self.path}: not a file of events of a known version")
        for number, line in enumerate(lines[1:], 2):
            if line and ("end" in self.said or not self._line(line)):
                raise VerifyError(f"{self.path}:{number}: this is not a line of a file of events")
        seen = tuple(self.turns), tuple(self.halts), tuple(self.kicks)
        return Events(self.said.get("vcpus", 0), *seen, self.said.get("full"), "end" in self.said)

    def _line(self, line: str) -> bool:
        if match := _TURN.fullmatch(line):
            vcpu, begin, end = map(int, match.groups()[1:])
            self.turns.append(Turn(vcpu, begin, end, match[1] == "work"))
            return self._fits(vcpu, None) and begin < end
        if match := _HALT.fullmatch(line):
            vcpu, begin, end = map(int, match.groups()[:3])
            self.halts.append(Halt(vcpu, begin, end, _sender(match[4])))
            return self._fits(vcpu, _sender(match[4])) and begin <= end
        if match := _REST.fullmatch(line):
            vcpu, begin, end = map(int, match.groups())
            self.halts.append(Halt(vcpu, begin, end, None, is_woken=False))
            return self._fits(vcpu) and begin < end
        if match := _KICK.fullmatch(line):
            self.kicks.append(Kick(int(match[1]), int(match[2]), _sender(match[3])))
            return self._fits(int(match[1]), _sender(match[3]))
        if (match := _OTHER.fullmatch(line)) and match[1] not in self.said:
            self.said[match[1]] = int(match[2])
            return self.said.get("vcpus", 0) <= 256
        return False

    def _fits(self, *vcpus: int | None) -> bool:
        return all(vcpu is None or vcpu < self.said.get("vcpus", 0) for vcpu in vcpus)


def _sender(word: str) -> int | None:
    return None if word == "-" else int(word)
