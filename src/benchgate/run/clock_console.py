"""A guest's console on the instruction clock: pexpect, with the guest's time in place of the host's.

Takes the console of a guest that talks (insn/talk.py) and our end of the talk; gives a `Console` with the
same methods. The guest runs only while this console waits for output, and stops when it is quiet. So what a
test reads, and the guest time at which its input arrives, do not depend on the host: the same test sees the
same bytes. Timeouts are guest time. Fails with FloodError like Console, and with pexpect.EOF if QEMU has ended.
"""

from __future__ import annotations

import contextlib
import select
from collections.abc import Callable, Iterator
from typing import Any

import pexpect
from pexpect.fdpexpect import fdspawn

from benchgate.insn.talk import MOST_TYPED, EndOfTalk, StopKind, Talk
from benchgate.run.console import Console

_PIECE = 1 << 16
_NEVER = 2**63
_BEAT_MS = 1000
_HALTED = "all CPUs of the guest are halted, and no timer wakes one: it waits for input that never comes"


class ClockConsole(Console):
    def __init__(self, console: Console, talk: Talk) -> None:
        super().__init__(console.child_fd, -1, console.logfile_read, console.timeout)
        self._talk = talk
        self.heartbeat: Callable[[], None] = lambda: None
        """Is called at least once a second."""
        self._now = 0
        self._is_started = self._is_halted = self._is_quiet = self._has_ended = False
        self._until = _NEVER
        self._typed = b""
        """Typed, and not yet on its way to the guest."""
        self._output = b""
        """Read from the pipe, and not yet from this object."""
        self._printed = 0

    @property
    def time_ns(self) -> int:
        """The guest's time."""
        self._start()
        return self._now

    @property
    def is_quiet(self) -> bool:
        """Whether all that it printed was read, and it has printed nothing more for the pace's delay."""
        return self._is_quiet and not self._output

    def send(self, s: str | bytes) -> int:
        """The bytes arrive from the guest's present time on, when it next runs."""
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

    def read_rest(self, seconds: float) -> None:
        """Reads what the guest has printed. It does not run for more."""
        while self.has_output():
            self._take()

    @contextlib.contextmanager
    def _at_most(self, seconds: float | None) -> Iterator[None]:
        """Within this, reads wait at most so long from the guest's present time on."""
        seconds = self.timeout if seconds == -1 else seconds
        self._until = _NEVER if seconds is None else self.time_ns + int(max(0.0, seconds) * 1e9)
        try:
            yield
        finally:
            self._until = _NEVER

    def _read(self, size: int, timeout: float | None) -> bytes:
        with contextlib.nullcontext() if timeout is None else self._at_most(timeout):
            self._start()
            while not self._output:
                self._run()
        data, self._output = self._output[:size], self._output[size:]
        return data

    def _start(self) -> None:
        if not self._is_started:
            self._is_started = True
            self._await_stop()

    def _run(self) -> None:
        """The guest runs to its next stop. TIMEOUT: it has reached the limit. EOF: it has ended."""
        if self._has_ended:
            raise pexpect.EOF("the guest has ended")
        if self._now >= self._until:
            raise pexpect.TIMEOUT(_HALTED if self._is_halted else f"the guest's time is {self._now} ns")
        typed, self._typed = self._typed[:MOST_TYPED], self._typed[MOST_TYPED:]
        with contextlib.suppress(EndOfTalk):
            self._talk.run(self._until, typed)
        self._await_stop()

    def _await_stop(self) -> None:
        """Returns when the guest has stopped or ended, with all that it printed."""
        poller = select.poll()
        for descriptor in (self.child_fd, self._talk.fileno()):
            poller.register(descriptor, select.POLLIN)
        while True:
            self.heartbeat()
            ready = {descriptor for descriptor, _ in poller.poll(_BEAT_MS)}
            if self._talk.fileno() in ready:
                break
            if ready:
                self._take()  # so that the pipe never fills up and delays the guest
        try:
            stop = self._talk.stop()
        except EndOfTalk:
            self._has_ended = True
        else:
            self._now, self._is_halted = stop.time, stop.kind is StopKind.HALTED
            self._is_quiet = stop.kind in {StopKind.QUIET, StopKind.HALTED}
        self.read_rest(0)

    def _take(self) -> None:
        with contextlib.suppress(pexpect.EOF):  # the talk ends too
            self._output += fdspawn.read_nonblocking(self, _PIECE, None)
