"""Watches one console to its end: patterns in any order, deadlines, and bounds on the output.

Takes a console, a `Watch` and deadlines; gives an `Observation`: why watching stopped, and at which stage. A
guest's failure is an `Observation` too. Fails with OSError only, if a log cannot be written.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pexpect

from benchgate.base.console_text import Stream
from benchgate.base.files import last_line
from benchgate.base.process import Child
from benchgate.base.runs import Deadlines, Ending
from benchgate.base.text import one_line
from benchgate.run.console import Console, FloodError, Limits, SerialLog, readable
from benchgate.run.ending import Cause, Observation, Stage, ending_of
from benchgate.run.watch import Watch

_SLICE_S = 1.0


@dataclass
class Follower:
    """Watches one console to its end. Calls `on_moment` when a pattern is first seen, and `heartbeat` at
    least once a second. An exception from either ends the watch."""

    console: Console
    log: SerialLog
    watch: Watch
    deadlines: Deadlines
    limits: Limits
    on_moment: Callable[[str], None]
    child: Child
    folder: Path
    heartbeat: Callable[[], None] = lambda: None

    def follow(self) -> Observation:
        stage = Stage.BOOTING if self.watch.ready else Stage.RUNNING
        if stage is Stage.RUNNING:
            self.on_moment("ready")
        self.console.plain = self.console.plain or Stream()
        deadline = time.monotonic() + self.deadlines.boot_s
        if self.watch.ready is None:
            deadline += self.deadlines.run_s
        wanted = self._patterns()
        while True:
            try:
                found = self._next(wanted, deadline)
            except FloodError:
                return Observation(
                    Cause.FLOOD, stage, note=f"more than {self.limits.console_bytes} bytes of output"
                )
            if isinstance(found, Observation):
                return Observation(found.cause, stage, one_line(self.log.last_line), found.note)
            key, line = found
            name = key.rstrip("0123456789")
            if name in {"panic", "failure"}:
                return self._failed(Cause(name), stage, line)
            del wanted[key]
            if name == "end" and any(other.startswith("end") for other in wanted):
                # The other end patterns may match on the same line, or before it.
                self.console.buffer = self.console.before + line + self.console.buffer
                continue
            self.on_moment(name)
            if name == "ready":
                stage, deadline = Stage.RUNNING, time.monotonic() + self.deadlines.run_s
            elif name == "end":
                if self.watch.kill_after_end:
                    return Observation(Cause.FINISHED, Stage.ENDED)
                stage, deadline = Stage.ENDED, time.monotonic() + self.limits.leave_s

    def await_exit(self, seen: Observation) -> bool:
        """True if the program exits by itself after its console was closed."""
        return seen.cause is Cause.CLOSED and self.child.wait(self.limits.leave_s)

    def judge(self, seen: Observation, status: int | None) -> tuple[Ending, str]:
        """`status`: None if the program had to be stopped."""
        return ending_of(seen, status, self.watch, self.deadlines, complaint(self.folder))

    def _patterns(self) -> dict[str, re.Pattern[bytes]]:
        named: dict[str, bytes | None] = {f"panic{i}": pattern for i, pattern in enumerate(self.watch.panics)}
        named |= {f"failure{i}": pattern for i, pattern in enumerate(self.watch.failures)}
        named |= {"ready": self.watch.ready, "result": self.watch.result}
        named |= {f"end{i}": pattern for i, pattern in enumerate(self.watch.ends)}
        return {key: re.compile(pattern) for key, pattern in named.items() if pattern}

    def _next(self, wanted: dict[str, re.Pattern[bytes]], deadline: float) -> tuple[str, bytes] | Observation:
        """The next pattern that matches, as its key and text; or why watching stops."""
        names = list(wanted)
        choices = [*wanted.values(), pexpect.EOF, pexpect.TIMEOUT]
        while True:
            self.heartbeat()
            left = deadline - time.monotonic()
            if left <= 0:
                return Observation(Cause.DEADLINE, Stage.RUNNING)
            index = self.console.expect_list(choices, timeout=min(left, _SLICE_S))
            if index < len(names):
                return names[index], self.console.after
            if index == len(names):
                return Observation(Cause.CLOSED, Stage.RUNNING)
            if (self.folder / "stderr.log").stat().st_size > self.limits.stderr_bytes:
                note = f"more than {self.limits.stderr_bytes} bytes on standard error"
                return Observation(Cause.FLOOD, Stage.RUNNING, note=note)
            if self.child.has_ended() and not readable(self.console.child_fd, 0):
                return Observation(Cause.CLOSED, Stage.RUNNING)  # one of its children still holds the pipe

    def _failed(self, cause: Cause, stage: Stage, line: bytes) -> Observation:
        with contextlib.suppress(FloodError):
            self.console.read_rest(self.limits.linger_s)
        return Observation(cause, stage, one_line(line))


def complaint(folder: Path) -> str:
    """The last line on a program's standard error."""
    with (folder / "stderr.log").open("rb") as stream:
        return last_line(stream)
