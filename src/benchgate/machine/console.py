"""A machine's console: read byte for byte into a log, watched by pexpect, never without a bound.

Takes the pipe's two ends, a log and a `Watch`; gives a `Sight`. Failures of the guest are what it reports; it
raises only OSError, when the log cannot be written.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import re
import select
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pexpect
from pexpect.fdpexpect import fdspawn

from benchgate.errors import BootError
from benchgate.machine.process import Child
from benchgate.machine.watch import Cause, Sight, Stage, Watch, clean, judge
from benchgate.model import Deadlines, Ending
from benchgate.plaintext import Stream

_READ_BYTES = 8192
_LONGEST_MATCH = 1024
_SLICE_S = 1.0
_TAIL_BYTES = 4096
# Reads wait a moment, so that one of them takes a burst of bytes. The guest prints byte by byte; a reader
# that wakes for each would take CPU time from the very vCPUs that are measured.
_GATHER_S = 0.002


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on a machine's behaviour that no deadline covers."""

    console_bytes: int = 16 << 20
    stderr_bytes: int = 1 << 20
    leave_s: float = 10.0
    """From the end line to the end of the process."""
    linger_s: float = 1.0
    """After a panic: for the rest of its text."""


class FloodError(BootError):
    """The console passed its bound. Only a user's own `expect` lets it out; a run ends with OUTPUT_LIMIT."""


class SerialLog:
    """A file that takes a console's bytes as they are, up to a bound."""

    def __init__(self, stream: BinaryIO, bound: int) -> None:
        self._stream = stream
        self._left = bound
        self.tail = b""

    def write(self, data: bytes) -> None:
        kept = data[: self._left]
        self._stream.write(kept)
        self._left -= len(kept)
        self.tail = (self.tail + kept)[-_TAIL_BYTES:]
        if len(kept) < len(data):
            raise FloodError("the guest printed more than the console log may hold; see serial.log")

    def flush(self) -> None:
        self._stream.flush()

    @property
    def last_line(self) -> bytes:
        lines = self.tail.split(b"\n")
        return next((line for line in reversed(lines) if line.strip()), b"")


class Console(fdspawn):  # type: ignore[misc] # pexpect has no types
    """pexpect over a pair of pipes. `expect`, `send`, `sendline` and the rest are pexpect's own."""

    def __init__(self, output: int, entry: int, log: SerialLog, timeout: float = 30.0) -> None:
        # pexpect searches only the window, and drops what a longer read held before it; so the window is the
        # larger one, by as much as a match may reach back into earlier reads.
        super().__init__(
            output,
            timeout=timeout,
            maxread=_READ_BYTES,
            searchwindowsize=_READ_BYTES + _LONGEST_MATCH,
            use_poll=True,
        )
        self.logfile_read = log
        self.buffer = b"\n"  # the first line begins like every other, see watch.py
        self._entry = entry
        self.plain: Stream | None = None
        """Set: patterns see plain lines; the log has every byte in any case."""

    def read_nonblocking(self, size: int = 1, timeout: float | None = -1) -> bytes:
        data = self._read(size, timeout)
        return data if self.plain is None else self.plain.feed(data)

    def _read(self, size: int, timeout: float | None) -> bytes:
        if timeout == -1:
            timeout = self.timeout
        if _readable(self.child_fd, timeout):
            time.sleep(_GATHER_S)
        data: bytes = super().read_nonblocking(size, 0)
        return data

    def has_output(self) -> bool:
        """Whether bytes wait to be read; unlike the end of the console, which is readable too."""
        count = array.array("i", [0])
        fcntl.ioctl(self.child_fd, termios.FIONREAD, count)
        return count[0] > 0

    def send(self, s: str | bytes) -> int:
        data = s.encode() if isinstance(s, str) else bytes(s)
        deadline = time.monotonic() + (self.timeout or 30.0)
        sent = 0
        while sent < len(data):
            # A guest that reads nothing fills the pipe; that must not hang its sender.
            left = deadline - time.monotonic()
            if left <= 0 or not _writable(self._entry, left):
                raise pexpect.TIMEOUT(f"the guest took only {sent} of {len(data)} bytes")
            sent += os.write(self._entry, data[sent : sent + select.PIPE_BUF])
        return sent

    def sendline(self, s: str | bytes = "") -> int:
        data = s.encode() if isinstance(s, str) else bytes(s)
        return self.send(data + b"\n")

    def rest(self, seconds: float) -> None:
        """Reads until the end of the console into the log, at most so long."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(pexpect.EOF, pexpect.TIMEOUT):
            while (left := deadline - time.monotonic()) > 0:
                self.read_nonblocking(_READ_BYTES, left)


@dataclass
class Follower:
    """Watches one console to its end. Calls `on_moment` when a pattern is first seen, and `beat` at least
    once a second; what they raise ends the watch."""

    console: Console
    log: SerialLog
    watch: Watch
    deadlines: Deadlines
    limits: Limits
    on_moment: Callable[[str], None]
    child: Child
    folder: Path
    beat: Callable[[], None] = lambda: None

    def follow(self) -> Sight:
        stage = Stage.BOOTING if self.watch.ready else Stage.RUNNING
        if stage is Stage.RUNNING:
            self.on_moment("ready")
        self.console.plain = self.console.plain or Stream()
        deadline = time.monotonic() + self.deadlines.boot_s
        if self.watch.ready is None:
            deadline += self.deadlines.run_s
        waits = self._patterns()
        while True:
            try:
                found = self._next(waits, deadline)
            except FloodError:
                return Sight(
                    Cause.FLOOD, stage, note=f"more than {self.limits.console_bytes} bytes of output"
                )
            if isinstance(found, Sight):
                return Sight(found.cause, stage, clean(self.log.last_line), found.note)
            key, line = found
            name = key.rstrip("0123456789")
            if name in {"panic", "failure"}:
                return self._failed(Cause(name), stage, line)
            del waits[key]
            if name == "end" and any(other.startswith("end") for other in waits):
                seen = self.console.before + line  # the others may stand on the same line, or before it
                self.console.buffer = seen + self.console.buffer
                continue
            self.on_moment(name)
            if name == "ready":
                stage, deadline = Stage.RUNNING, time.monotonic() + self.deadlines.run_s
            elif name == "end":
                if self.watch.kill_after_end:
                    return Sight(Cause.FINISHED, Stage.ENDED)
                stage, deadline = Stage.ENDED, time.monotonic() + self.limits.leave_s

    def await_exit(self, sight: Sight) -> bool:
        """Whether the program leaves by itself now that its console has closed."""
        return sight.cause is Cause.CLOSED and self.child.wait(self.limits.leave_s)

    def judge(self, sight: Sight, status: int | None) -> tuple[Ending, str]:
        """`status`: None where it had to be stopped."""
        return judge(sight, status, self.watch, self.deadlines, complaint(self.folder))

    def _patterns(self) -> dict[str, re.Pattern[bytes]]:
        named: dict[str, bytes | None] = {f"panic{i}": pattern for i, pattern in enumerate(self.watch.panics)}
        named |= {f"failure{i}": pattern for i, pattern in enumerate(self.watch.failures)}
        named |= {"ready": self.watch.ready, "result": self.watch.result}
        named |= {f"end{i}": pattern for i, pattern in enumerate(self.watch.ends)}
        return {key: re.compile(pattern) for key, pattern in named.items() if pattern}

    def _next(self, waits: dict[str, re.Pattern[bytes]], deadline: float) -> tuple[str, bytes] | Sight:
        """The next pattern on the console, as its key and text; or why there will be none."""
        names = list(waits)
        choices = [*waits.values(), pexpect.EOF, pexpect.TIMEOUT]
        while True:
            self.beat()
            left = deadline - time.monotonic()
            if left <= 0:
                return Sight(Cause.DEADLINE, Stage.RUNNING)
            index = self.console.expect_list(choices, timeout=min(left, _SLICE_S))
            if index < len(names):
                return names[index], self.console.after
            if index == len(names):
                return Sight(Cause.CLOSED, Stage.RUNNING)
            if (self.folder / "stderr.log").stat().st_size > self.limits.stderr_bytes:
                note = f"more than {self.limits.stderr_bytes} bytes on standard error"
                return Sight(Cause.FLOOD, Stage.RUNNING, note=note)
            if self.child.has_ended() and not _readable(self.console.child_fd, 0):
                return Sight(Cause.CLOSED, Stage.RUNNING)  # a child of it still holds the pipe

    def _failed(self, cause: Cause, stage: Stage, line: bytes) -> Sight:
        with contextlib.suppress(FloodError):
            self.console.rest(self.limits.linger_s)
        return Sight(cause, stage, clean(line))


def complaint(folder: Path) -> str:
    """The last line on a program's standard error."""
    with (folder / "stderr.log").open("rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL_BYTES))
        lines = [line for line in stream.read(_TAIL_BYTES).split(b"\n") if line.strip()]
    return clean(lines[-1]) if lines else ""


def _readable(descriptor: int, seconds: float | None) -> bool:
    return _polled(descriptor, select.POLLIN, seconds)


def _writable(descriptor: int, seconds: float | None) -> bool:
    return _polled(descriptor, select.POLLOUT, seconds)


def _polled(descriptor: int, events: int, seconds: float | None) -> bool:
    poller = select.poll()
    poller.register(descriptor, events)
    return bool(poller.poll(None if seconds is None else max(0.0, seconds) * 1000))
