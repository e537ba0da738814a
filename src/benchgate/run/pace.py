"""Says how much longer a stage of a run may take, by the host's clock or by the instruction clock.

Takes the seconds of a stage; gives how long to wait before asking again, 0 when they are over. A guest on
the instruction clock gets its seconds in guest time, which the host's load does not change, so a busy host
ends no run. Only a guest that does nothing is measured by the host's clock: one that is halted for good, or
whose clock writes nothing. Reads the clock's log while QEMU writes it; a log that cannot be read is one that
writes nothing. Does not fail.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

_SLICE_S = 1.0
SILENT_S = 600.0
"""A stage is over after this many seconds of the host without a line in the clock's log. A beat is due every
10 ms of guest time (insn/c/clock/clock_watch.c), which takes 16 vCPUs half a minute at a load of 20."""
_PULSE = re.compile(rb"^(beat|halted) ([0-9]{1,19})$", re.MULTILINE)

Monotonic = Callable[[], float]


class Pace(Protocol):
    @property
    def kind(self) -> str:
        """The kind of the seconds, for the message about a stage that is over."""

    def begin(self, seconds: float) -> None:
        """Begins a stage, which may take this long."""

    def left(self) -> float:
        """The host's seconds until the next look; 0 if the stage is over."""


@dataclass
class HostPace:
    monotonic: Monotonic = time.monotonic
    _deadline: float = 0.0
    kind: str = ""

    def begin(self, seconds: float) -> None:
        self._deadline = self.monotonic() + seconds

    def left(self) -> float:
        return min(_SLICE_S, max(0.0, self._deadline - self.monotonic()))


SPENT = 4.0
"""QEMU's CPU time for each second of a hush. Under load it grows as slowly as the guest runs."""
LONG_HUSH_S = 10.0
"""The user is told of a hush after this many seconds of the host."""


@dataclass
class Hush:
    """The silence after a line that looks like a panic. It is over at the end of its stage (`pace`), or when
    QEMU has used SPENT times as much CPU time (`cpu_s`; None: not known): a second of the instruction clock
    in which every vCPU spins can take minutes of the host. No load of the host ends it sooner."""

    pace: Pace
    cpu_s: Callable[[], float | None]
    monotonic: Monotonic = time.monotonic
    _until_s: float = 0.0
    _since: float = 0.0

    def begin(self, seconds: float) -> None:
        self.pace.begin(seconds)
        self._until_s = (self.cpu_s() or 0.0) + SPENT * seconds
        self._since = self.monotonic()

    @property
    def is_over(self) -> bool:
        return (self.cpu_s() or 0.0) >= self._until_s or self.pace.left() <= 0

    @property
    def is_long(self) -> bool:
        return self.monotonic() - self._since >= LONG_HUSH_S


class StoppingConsole(Protocol):
    """The console of a guest that stands still at a limit of its own time (run/clock_console.py)."""

    limit_ns: int

    @property
    def time_ns(self) -> int: ...
    @property
    def is_late(self) -> bool: ...
    @property
    def is_halted(self) -> bool: ...


@dataclass
class TalkPace:
    """The pace of a guest on the instruction clock that is typed to. It stops at the end of a stage."""

    console: StoppingConsole
    _until_ns: int = 0

    @property
    def kind(self) -> str:
        halted = ", at whose end no CPU had run for a second," if self.console.is_halted else ""
        return f" of guest time{halted}"

    def begin(self, seconds: float) -> None:
        self._until_ns = self.console.time_ns + int(seconds * 1e9)

    def left(self) -> float:
        self.console.limit_ns = self._until_ns
        return 0.0 if self.console.is_late else _SLICE_S


@dataclass
class GuestPace:
    """The pace by the instruction clock's `log`. `halted_s` is how long the guest may be halted for good;
    None for as long as the stage may take."""

    log: Path
    monotonic: Monotonic = time.monotonic
    halted_s: float | None = None
    _seconds: float = 0.0
    _until_ns: int = 0
    _now_ns: int = 0
    _read: int = 0
    _is_halted: bool = False
    _since: float = field(default=0.0)
    """The time at which the log last grew, or the stage began."""

    @property
    def kind(self) -> str:
        if self._now_ns >= self._until_ns:
            return " of guest time"
        return ", in which all its CPUs were halted" if self._is_halted else ", or its clock stood still"

    def begin(self, seconds: float) -> None:
        self._look()
        self._seconds = seconds
        self._until_ns = self._now_ns + int(seconds * 1e9)
        self._since = self.monotonic()

    def left(self) -> float:
        self._look()
        idle = self.monotonic() - self._since
        halted_s = self._seconds if self.halted_s is None else min(self.halted_s, self._seconds)
        over = idle >= (halted_s if self._is_halted else max(self._seconds, SILENT_S))
        return 0.0 if over or self._now_ns >= self._until_ns else _SLICE_S

    def _look(self) -> None:
        """Reads what the clock has written since the last look."""
        try:
            with self.log.open("rb") as stream:
                stream.seek(self._read)
                text = stream.read()
        except OSError:
            return
        whole = text[: text.rfind(b"\n") + 1]
        if not whole:
            return
        self._read += len(whole)
        self._since = self.monotonic()
        for match in _PULSE.finditer(whole):
            self._is_halted = match[1] == b"halted"
            self._now_ns = max(self._now_ns, int(match[2]))
