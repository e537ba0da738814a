"""A guest's console: pexpect over two pipes, with a log of every byte and a bound on its size.

Takes the output and input pipe and a log; gives a `Console`. `piped` makes all three standard streams of a
guest or program in a folder, and gives the child's ends. Fails with FloodError if the guest prints more than
the log may hold, and with OSError if the folder cannot be written or the host has no more pipes.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import select
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pexpect
from pexpect.fdpexpect import fdspawn

from benchgate.base.console_text import Stream
from benchgate.base.errors import BootError
from benchgate.base.files import TAIL_BYTES
from benchgate.base.jsonfields import Seconds

_READ_BYTES = 8192
_LONGEST_MATCH = 1024
# A read waits this long, so that it takes a whole burst of bytes. The guest prints byte by byte; a reader
# that wakes up for each byte would take CPU time from the vCPUs that are being measured.
_GATHER_S = 0.002
_PIPE_BYTES = 1 << 20
_SHOWN_BYTES = 600


@dataclass(frozen=True, slots=True)
class ConsoleLimits:
    """Bounds on a guest that the deadlines do not cover."""

    console_bytes: int = 16 << 20
    stderr_bytes: int = 1 << 20
    rest_bytes: int = 1 << 20
    """The guest may print this much between its result and its prompt or end. Some kernels never stop."""
    leave_s: Seconds = 30.0
    """The time in which the process must exit after its end line. At a load of 18, four vCPUs that shared one
    CPU once took longer than 10 s."""
    exit_s: Seconds = 180.0
    """The time in which the process must end after its console ended. It waits in the host's kernel, where
    all QEMUs unmap the same files: at a load of 60 that took longer than 30 s in 3 of 160 runs."""
    linger_s: Seconds = 1.0
    """The time for which to read on after a panic, for the rest of its text."""
    hush_s: Seconds = 5.0
    """A kernel that goes on after a line that looks like a panic prints again within this time."""
    halted_s: Seconds | None = None
    """The longest time for which, on the instruction clock, all CPUs may be halted with no timer set. Only
    input from outside can end that, so it is a hang. None for as long as the stage may take."""


class FloodError(BootError):
    """The console printed more than its bound. A run reports OUTPUT_LIMIT instead; only a user's own `expect`
    raises this."""


class SerialLog:
    """A file with the console's bytes, unchanged, up to a bound."""

    def __init__(self, stream: BinaryIO, bound: int) -> None:
        self._stream = stream
        self._left = bound
        self.tail = b""

    def write(self, data: bytes) -> None:
        kept = data[: self._left]
        self._stream.write(kept)
        self._left -= len(kept)
        self.tail = (self.tail + kept)[-TAIL_BYTES:]
        if len(kept) < len(data):
            raise FloodError("the guest printed more than the console log may hold; see serial.log")

    def flush(self) -> None:
        self._stream.flush()

    @property
    def last_line(self) -> bytes:
        lines = self.tail.split(b"\n")
        return next((line for line in reversed(lines) if line.strip()), b"")


class Console(fdspawn):  # type: ignore[misc] # pexpect has no types
    """pexpect over a pair of pipes, with pexpect's own methods (`expect`, `send`, `sendline` and so on)."""

    def __init__(self, output: int, input_pipe: int, log: SerialLog, timeout: float = 30.0) -> None:
        # pexpect searches only the window and drops bytes before it. So the window is larger than a read, by
        # as much as a match may reach back into earlier reads.
        super().__init__(
            output,
            timeout=timeout,
            maxread=_READ_BYTES,
            searchwindowsize=_READ_BYTES + _LONGEST_MATCH,
            use_poll=True,
        )
        self.logfile_read = log
        self.buffer = b"\n"  # so that the first line, like all others, follows a line end; see watch.py
        self._input_pipe = input_pipe
        self.listener: Callable[[bytes], None] = lambda _: None
        """This function is given every byte that is read, unchanged."""
        self.plain: Stream | None = None
        """If this is set, patterns are matched against plain lines. The log has every byte in any case."""

    def __str__(self) -> str:
        """What a failed `expect` says of the console."""
        shown = self.logfile_read.tail[-_SHOWN_BYTES:].decode("utf-8", "backslashreplace")
        return f"the console ends with:\n{shown}" if shown.strip() else "the console has no output"

    def expect(self, *words: Any, **named: Any) -> Any:
        """As pexpect's own, but its traceback ends here: pexpect's frames tell a reader nothing."""
        __tracebackhide__ = True
        try:
            return super().expect(*words, **named)
        except (pexpect.TIMEOUT, pexpect.EOF) as error:
            raise error.with_traceback(None) from None

    def read_nonblocking(self, size: int = 1, timeout: float | None = -1) -> bytes:
        data = self._read(size, timeout)
        self.listener(data)
        return data if self.plain is None else self.plain.feed(data)

    def _read(self, size: int, timeout: float | None) -> bytes:
        if timeout == -1:
            timeout = self.timeout
        if readable(self.child_fd, timeout):
            time.sleep(_GATHER_S)
        data: bytes = super().read_nonblocking(size, 0)
        return data

    def has_output(self) -> bool:
        """Whether there are bytes to read. (`readable` is also true at the end of the console.)"""
        count = array.array("i", [0])
        fcntl.ioctl(self.child_fd, termios.FIONREAD, count)
        return count[0] > 0

    def send(self, s: str | bytes) -> int:
        data = s.encode() if isinstance(s, str) else bytes(s)
        deadline = time.monotonic() + (self.timeout or 30.0)
        sent = 0
        while sent < len(data):
            # If the guest does not read, the pipe fills up; the sender must not hang then.
            left = deadline - time.monotonic()
            if left <= 0 or not writable(self._input_pipe, left):
                raise pexpect.TIMEOUT(f"the guest read only {sent} of {len(data)} bytes")
            sent += os.write(self._input_pipe, data[sent : sent + select.PIPE_BUF])
        return sent

    def sendline(self, s: str | bytes = "") -> int:
        data = s.encode() if isinstance(s, str) else bytes(s)
        return self.send(data + b"\n")

    def read_rest(self, seconds: float) -> bool:
        """Reads the console into the log until it ends, for at most `seconds`; whether it ended."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(pexpect.TIMEOUT):
            try:
                while (left := deadline - time.monotonic()) > 0:
                    self.read_nonblocking(_READ_BYTES, left)
            except pexpect.EOF:
                return True
        return False


def readable(descriptor: int, seconds: float | None) -> bool:
    return _polled(descriptor, select.POLLIN, seconds)


def writable(descriptor: int, seconds: float | None) -> bool:
    return _polled(descriptor, select.POLLOUT, seconds)


def _polled(descriptor: int, events: int, seconds: float | None) -> bool:
    poller = select.poll()
    poller.register(descriptor, events)
    return bool(poller.poll(None if seconds is None else max(0.0, seconds) * 1000))


@dataclass
class Streams:
    """A program's three standard streams: the child's ends, and the console on our ends."""

    child_input: int
    child_output: int
    child_error: int
    console: Console
    log: SerialLog
    _child_ends: contextlib.ExitStack

    def close_child_ends(self) -> None:
        """Call this when the child has started: the console ends only when no other process has its other
        end."""
        self._child_ends.close()


@contextlib.contextmanager
def piped(folder: Path, limits: ConsoleLimits) -> Iterator[Streams]:
    with contextlib.ExitStack() as stack:
        child_ends = stack.enter_context(contextlib.ExitStack())
        out_read, out_write = _pipe()
        stack.callback(os.close, out_read)
        child_ends.callback(os.close, out_write)
        in_read, in_write = _pipe()
        stack.callback(os.close, in_write)
        child_ends.callback(os.close, in_read)
        os.set_blocking(in_write, False)
        serial = stack.enter_context((folder / "serial.log").open("wb"))
        error = child_ends.enter_context((folder / "stderr.log").open("wb"))
        log = SerialLog(serial, limits.console_bytes)
        console = Console(out_read, in_write, log)
        yield Streams(in_read, out_write, error.fileno(), console, log, child_ends)
    with (folder / "stderr.log").open("r+b") as kept:
        if kept.seek(0, os.SEEK_END) > limits.stderr_bytes:
            kept.truncate(limits.stderr_bytes)


def _pipe() -> tuple[int, int]:
    read, write = os.pipe()
    # The host may refuse a larger pipe to a user with many pipes; the default size works too.
    with contextlib.suppress(PermissionError):
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    return read, write
