"""Keeps a command going when its standard output or error is closed, full, or read by nobody.

A command whose reader went away must still come to its verdict, and must not get a better status by it.
Inside `lasting` no text that is printed raises an error of the operating system: after the first one, the
stream writes to /dev/null. Takes `sys.stdout` and `sys.stderr`; gives what happened to the first. Does not
fail.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

_STANDARD_ERROR = 2


class _LastingStream:
    """Passes everything on to a stream until the stream cannot be written."""

    def __init__(self, under: TextIO) -> None:
        self._under = under
        self.lost: OSError | None = None

    def write(self, text: str) -> int:
        try:
            return self._under.write(text)
        except OSError as error:
            self._lose(error)
            return len(text)

    def flush(self) -> None:
        try:
            self._under.flush()
        except OSError as error:
            self._lose(error)
            self._under.flush()  # what Python still holds of the text; else its own flush at the end fails

    def _lose(self, error: OSError) -> None:
        self.lost = error
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, self._under.fileno())
        os.close(nothing)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._under, name)


class OutputState:
    """What happened to standard output."""

    def __init__(self, stream: _LastingStream) -> None:
        self._stream = stream

    @property
    def problem(self) -> str:
        """Why text was lost; empty if none was, or if the reader went away as `head` does."""
        lost = self._stream.lost
        return "" if lost is None or isinstance(lost, BrokenPipeError) else lost.strerror or str(lost)


@contextlib.contextmanager
def lasting() -> Iterator[OutputState]:
    """Lets both streams be printed to until the block ends, whatever happens to them."""
    _open_closed()
    before = sys.stdout, sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as nothing:  # noqa: PTH123 - as sys.stdout is opened
        streams = [_LastingStream(one or nothing) for one in before]  # None if it was closed from the start
        sys.stdout, sys.stderr = (cast("TextIO", stream) for stream in streams)
        try:
            yield OutputState(streams[0])
        finally:
            for stream in streams:
                stream.flush()
            sys.stdout, sys.stderr = before


def _open_closed() -> None:
    """Opens closed standard streams, so that no later file or child's pipe gets one of their numbers."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= _STANDARD_ERROR:
        os.set_inheritable(number, True)
    os.close(number)
