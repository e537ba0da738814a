"""The three standard streams of a guest or program: pipes for the console, files for the logs.

Takes a folder and limits; gives the child's ends of the streams and a `Console` on our ends. Fails with
OSError if the folder cannot be written or the host has no more pipes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchgate.run.console import Console, Limits, SerialLog

_PIPE_BYTES = 1 << 20


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
def piped(folder: Path, limits: Limits) -> Iterator[Streams]:
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
