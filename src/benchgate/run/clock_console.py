"""A guest's console on the instruction clock: pexpect, with the guest's time in place of the host's.

Takes the console of a guest that talks (insn/talk.py) and our end of the talk; gives a `Console` with the
same methods. The guest runs only while this console is read, and stops when it is quiet. So what a test
reads, and the guest time at which its input arrives, do not depend on the host: the same test sees the same
bytes. The timeouts of `expect` are guest time; that of `read_nonblocking` is the host's. Fails with
FloodError like Console, and with pexpect.EOF if QEMU has ended.
"""

from __future__ import annotations

import contextlib
import select
import time
from collections.abc import Iterator
from typing import Any

import pexpect
from pexpect.fdpexpect import fdspawn

from benchgate.insn.talk import MOST_TYPED, NEVER, EndOfTalk, GuestStop, StopKind, Talk
from benchgate.run.console import Console

_PIECE = 1 << 16
_SLICE_NS, _LONGEST_SLICE_NS = 100_000_000, 10_000_000_000
"""A guest that is never quiet is checked this often; one that prints nothing is checked ever less often."""
_HALTED = "no CPU of the guest has run for a second: it may wait for input that never comes"


class ClockConsole(Console):
    def __init__(self, console: Console, talk: Talk) -> None:
        super().__init__(console.child_fd, -1, console.logfile_read, console.timeout)
        self._talk = talk
        self.limit_ns = NEVER
        """The guest does not run past this guest time; there, reads raise TIMEOUT."""
        self._stop = GuestStop(StopKind.START, 0, 0, 0)
        self._runs = True  # waits for the first stop, before the guest executes anything
        self._is_free = self._has_ended = False
        self._slice_ns = _SLICE_NS
        self._typed = b""
        """The bytes that were typed and are not yet on their way to the guest."""
        self._output = b""
        """The bytes that were read from the pipe and not yet from this object."""

    @property
    def time_ns(self) -> int:
        """The guest time of the last stop."""
        self._await_stop(None)
        return self._stop.time

    @property
    def is_quiet(self) -> bool:
        """Whether the guest stands still because it printed nothing for the talk's `quiet_ns`, and all its
        output was read."""
        return self._stands and self._stop.kind is StopKind.QUIET and not self._output

    @property
    def is_late(self) -> bool:
        """Whether the guest stands still at its limit."""
        return self._stands and self._stop.time >= self.limit_ns

    @property
    def is_halted(self) -> bool:
        """Whether it stands still at its limit, and no CPU has run for a second."""
        return self.is_late and self._stop.kind is StopKind.HALTED

    @property
    def _stands(self) -> bool:
        return not self._runs and not self._has_ended

    def free(self) -> None:
        """Lets the guest run to its end without another stop. Nothing can be typed any more."""
        if not self._stands:
            return
        with contextlib.suppress(EndOfTalk):
            self._talk.free()
        self._runs = self._is_free = True

    def send(self, s: str | bytes) -> int:
        """Types bytes, which arrive from the guest's present time on when it next runs."""
        data = s.encode() if isinstance(s, str) else bytes(s)
        self._typed += data
        return len(data)

    def expect_list(self, pattern_list: Any, timeout: float | None = -1, *more: Any, **words: Any) -> Any:
        with self._at_most(timeout):
            return super().expect_list(pattern_list, None, *more, **words)

    def expect_exact(self, pattern_list: Any, timeout: float | None = -1, *more: Any, **words: Any) -> Any:
        with self._at_most(timeout):
            return super().expect_exact(pattern_list, None, *more, **words)

    def expect_loop(self, searcher: Any, timeout: float | None = -1, *more: Any) -> Any:
        with self._at_most(timeout):
            return super().expect_loop(searcher, None, *more)

    def read_rest(self, seconds: float) -> bool:
        """Reads until the guest stands still or has ended, for at most `seconds`; whether it has ended."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(pexpect.TIMEOUT):
            while self._runs:
                self._await_stop(deadline)
                self._output = b""
        return self._has_ended

    @contextlib.contextmanager
    def _at_most(self, seconds: float | None) -> Iterator[None]:
        """Inside the block the guest may run for this long from its present time on."""
        seconds, before = self.timeout if seconds == -1 else seconds, self.limit_ns
        if seconds is not None:
            self.limit_ns = min(before, self.time_ns + int(max(0.0, seconds) * 1e9))
        try:
            yield
        finally:
            self.limit_ns = before

    def _read(self, size: int, timeout: float | None) -> bytes:
        seconds = self.timeout if timeout == -1 else timeout
        deadline = None if seconds is None else time.monotonic() + seconds
        while not self._output:
            if self._has_ended:
                raise pexpect.EOF("the guest has ended")
            if not self._runs:
                self._run()
            self._await_stop(deadline)
            if deadline is not None and self.is_quiet:  # only now a caller that had read all can type
                raise pexpect.TIMEOUT("the guest is quiet")
        data, self._output = self._output[:size], self._output[size:]
        return data

    def _run(self) -> None:
        if self._stop.time >= self.limit_ns:
            raise pexpect.TIMEOUT(_HALTED if self.is_halted else f"the guest's time is {self._stop.time} ns")
        room = max(0, MOST_TYPED - self._stop.unread)
        typed, self._typed = self._typed[:room], self._typed[room:]
        with contextlib.suppress(EndOfTalk):
            self._talk.run(min(self.limit_ns, self._stop.time + self._slice_ns), typed)
        self._slice_ns = min(2 * self._slice_ns, _LONGEST_SLICE_NS)
        self._runs = True

    def _await_stop(self, deadline: float | None) -> None:
        """Returns when the guest stands still or has ended, with all that it printed; if it runs freely, as
        soon as it prints. TIMEOUT when the host's time reaches `deadline`."""
        poller = select.poll()
        for descriptor in (self.child_fd, self._talk.fileno()):
            poller.register(descriptor, select.POLLIN)
        while self._runs and not self._has_ended and not (self._is_free and self._output):
            left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
            ready = {descriptor for descriptor, _ in poller.poll(left)}
            if not ready:
                raise pexpect.TIMEOUT("the guest runs")
            if self._talk.fileno() in ready:
                self._stopped()
            else:
                self._take()  # so that the pipe never fills up and delays the guest

    def _stopped(self) -> None:
        try:
            self._stop = self._talk.stop()
        except EndOfTalk:
            self._has_ended = True
        self._runs = False
        self._drain()

    def _drain(self) -> None:
        while self.has_output():
            self._take()

    def _take(self) -> None:
        with contextlib.suppress(pexpect.EOF):  # the talk ends too
            self._slice_ns = _SLICE_NS
            self._output += fdspawn.read_nonblocking(self, _PIECE, None)
