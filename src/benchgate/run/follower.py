"""Watches one console to its end: patterns in any order, deadlines, and bounds on the output.

Takes a console, a `Watch` and deadlines; gives an `Observation`: why watching stopped, and at which stage. A
guest's failure is an `Observation` too. Fails with OSError only, if a log cannot be written.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pexpect

from benchgate.base.console_text import Stream
from benchgate.base.files import last_line
from benchgate.base.process import Child
from benchgate.base.runs import Deadlines, Ending
from benchgate.base.text import one_line
from benchgate.run.console import Console, ConsoleLimits, FloodError, SerialLog, readable
from benchgate.run.ending import Cause, Observation, Stage, ending_of
from benchgate.run.pace import GuestPace, HostPace, Hush, Pace
from benchgate.run.suspicion import Repetition, Suspicion
from benchgate.run.talker import Talker
from benchgate.run.watch import Scanner, Watch

_READ_BYTES = 1 << 16


@dataclass
class Follower:
    """Watches one console to its end. Calls `on_moment` when a pattern is first seen, and `heartbeat` at
    least once a second, with the line that looks like a panic if nothing has followed it for long, else with
    an empty text. An exception from either ends the watch."""

    console: Console
    log: SerialLog
    watch: Watch
    deadlines: Deadlines
    limits: ConsoleLimits
    on_moment: Callable[[str], None]
    child: Child
    folder: Path
    heartbeat: Callable[[str], None] = lambda _: None
    pace: Pace = field(default_factory=HostPace)
    talker: Talker | None = None
    """Types if the guest is asked at a prompt. Then the first typed line, not a pattern, begins the run."""
    stage: Stage = field(init=False)
    ends_missing: int = field(init=False)
    """How many parts of the end are missing: its patterns, and the end of the conversation."""
    suspicion: Suspicion = field(init=False)
    repetition: Repetition = field(init=False)
    has_result: bool = field(init=False, default=False)
    """Whether the line that shows the result was printed, so that only the end is awaited."""
    has_closed: bool = field(init=False, default=False)
    """Whether the console ended by itself after a failure."""
    rest: int = field(init=False, default=0)
    """How many bytes the guest printed after its result."""
    hush: Hush | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.stage = Stage.BOOTING if self.watch.ready or self.talker else Stage.RUNNING
        self.ends_missing = bool(self.watch.ends) + bool(self.talker)
        self.suspicion = Suspicion(self.watch.harmless)
        self.repetition = Repetition(self.watch.repeat_bytes)

    def follow(self) -> Observation:
        self.console.plain = self.console.plain or Stream()
        if self.stage is Stage.RUNNING:
            self.on_moment("ready")
        self.pace.begin(self.deadlines.boot_s + (self.deadlines.run_s if self.stage is Stage.RUNNING else 0))
        scanner = Scanner(self.watch)
        while True:
            text, stop = self._read()
            said = self.talker.news() if self.talker else ()
            for match in (*scanner.feed(text, last=stop is not None), *said):
                if match.name in {"panic", "failure"}:
                    return self._failed(Cause(match.name), match.line)
                if match.name == "lost":
                    return self._failed(Cause.LOST, self.log.last_line, match.line.decode())
                stop = self._reached(match.name, stop)
            if self.stage is Stage.ENDED and self.watch.kill_after_end:
                return Observation(Cause.FINISHED, Stage.ENDED)
            if stop is not None:
                last = one_line(self.log.last_line)
                return Observation(stop.cause, self.stage, last, stop.note, self.suspicion.line)

    def _reached(self, name: str, stop: Observation | None) -> Observation | None:
        """Notes a pattern, or a step of the conversation; gives `stop`, unless it was the deadline of a boot
        that is over."""
        if name == "step" and self.talker:
            self.pace.begin(self.talker.deadline_s)
        elif name == "end":
            self.ends_missing -= 1
            if not self.ends_missing:
                self.on_moment(name)
                self.stage = Stage.ENDED
                self.pace.begin(self.limits.leave_s)
        else:
            self.on_moment(name)
            self.has_result |= name == "result" and not self.watch.ends
            if name == "ready" and self.stage is Stage.BOOTING:
                self.stage = Stage.RUNNING
                self.pace.begin(self.talker.deadline_s if self.talker else self.deadlines.run_s)
                return None if stop is not None and stop.cause is Cause.DEADLINE else stop
        return stop

    def await_exit(self, seen: Observation) -> bool:
        """Whether the program exits by itself after its console was closed."""
        closed = seen.cause is Cause.CLOSED or self.has_closed
        return closed and self.child.wait(self.limits.exit_s)

    def read_rest(self, seconds: float) -> None:
        if not self.has_closed:
            with contextlib.suppress(FloodError):
                self.has_closed = self.console.read_rest(seconds)

    def judge(self, seen: Observation, status: int | None) -> tuple[Ending, str]:
        """The ending and a sentence about it. `status` is None if the program had to be stopped."""
        return ending_of(seen, status, self.watch, self.deadlines, complaint(self.folder))

    def _read(self) -> tuple[bytes, Observation | None]:
        """Reads the next piece of the console, or gives why watching stops at any stage."""
        while True:
            self.heartbeat(self.suspicion.line if self.hush and self.hush.is_long else "")
            left = self.pace.left()
            if over := self._is_over(left):
                return b"", over
            if self.talker:
                if self.talker.tick():
                    return b"", None
                left = min(left, self.talker.wait_s())
            try:
                return self._noted(self.console.read_nonblocking(_READ_BYTES, left))
            except FloodError:
                note = f"more than {self.limits.console_bytes} bytes of output"
                return b"", Observation(Cause.FLOOD, Stage.RUNNING, note=note)
            except pexpect.EOF:
                return b"", self._closed()
            except pexpect.TIMEOUT:
                if stop := self._while_silent():
                    return b"", stop

    def _while_silent(self) -> Observation | None:
        if (self.folder / "stderr.log").stat().st_size > self.limits.stderr_bytes:
            note = f"more than {self.limits.stderr_bytes} bytes on standard error"
            return Observation(Cause.FLOOD, Stage.RUNNING, note=note)
        # One of its children may still hold the pipe.
        is_left = self.child.has_ended() and not readable(self.console.child_fd, 0)
        return self._closed() if is_left else None

    def _is_over(self, left: float) -> Observation | None:
        if left <= 0 and self.talker and self.talker.waits_for:
            kind = self.pace.kind.replace(" of guest time", " on the guest's clock", 1)
            note = f"{self.talker.waits_for}, and its time{kind} is over"
            return Observation(Cause.UNANSWERED, self.stage, note=note)
        if left <= 0 and not self._is_unread():
            return Observation(Cause.DEADLINE, Stage.RUNNING, note=self.pace.kind)
        if self.hush is not None and self.hush.is_over:
            return Observation(Cause.SUSPECT, Stage.RUNNING)
        return None

    def _is_unread(self) -> bool:
        """Whether the guest has printed in time what the host, which is late, has not read yet."""
        return isinstance(self.pace, GuestPace) and self.console.has_output()

    def _closed(self) -> Observation:
        return Observation(Cause.CLOSED, Stage.RUNNING, note=self.talker.waits_for if self.talker else "")

    def _noted(self, text: bytes) -> tuple[bytes, Observation | None]:
        self.suspicion.feed(text)
        self.hush = Hush(copy.copy(self.pace), self.child.cpu_s) if self.suspicion.line else None
        if self.hush is not None:
            self.hush.begin(self.limits.hush_s)
        if repeated := self.repetition.feed(text):
            return text, Observation(Cause.REPEATS, Stage.RUNNING, note=repeated)
        return text, self._rest_is_long(len(text))

    def _rest_is_long(self, more: int) -> Observation | None:
        """Stops a kernel that prints for ever after its result, which would else use all of its time."""
        is_answered = self.talker is not None and self.talker.is_answered
        if not (self.has_result or is_answered or self.stage is Stage.ENDED):
            return None
        self.rest += more
        if self.rest <= self.limits.rest_bytes:
            return None
        missing = self.talker.waits_for if self.talker else ""
        note = f"more than {self.limits.rest_bytes} bytes of output after its result, and not its end"
        return Observation(Cause.FLOOD, Stage.RUNNING, note=f"{note} ({missing})" if missing else note)

    def _failed(self, cause: Cause, line: bytes, note: str = "") -> Observation:
        self.read_rest(self.limits.linger_s)
        return Observation(cause, self.stage, one_line(line), note)


def complaint(folder: Path) -> str:
    """The last line on a program's standard error."""
    with (folder / "stderr.log").open("rb") as stream:
        return last_line(stream)
