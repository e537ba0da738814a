"""Signals that end a program: they wait until a step is whole, and a session ends in order.

A signal handler gives `arrived` the exception that it wants to raise. Outside of every `held` block this is
raised at once, else when the outermost block ends. Python runs signal handlers in the main thread, between
any two bytecodes, so blocks of other threads have no effect and need none. `quiet_imports` is for programs
whose imports take seconds on a busy host: Ctrl-C then ends them without a traceback.

`Interruptions` takes a function that prints a line and an exit status. SIGTERM and SIGHUP (the terminal was
closed) act like Ctrl-C. The first signal interrupts: the session ends its guest and writes its reports. The
second one only prints a line, because it would leave the session's folder incomplete. Later ones do nothing
until the first is BURST_S old: then somebody waits, and the process ends at once, without a traceback and
with its status. Its guests end with it. Nothing here fails: outside the main thread, where Python handles no
signals, nothing is watched.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_blocks: list[None] = []
"""This list has an entry for each open block of the main thread."""
_waiting: list[BaseException] = []
WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
BURST_S = 5.0
"""Signals that follow each other so soon mean one thing: a held key, or one for the process and one for its
group."""


def arrived(interrupt: BaseException) -> None:
    """Raises the interrupt now or, inside `held`, later. Call this from a signal handler."""
    if not _blocks:
        raise interrupt
    _waiting.append(interrupt)


@contextmanager
def held() -> Iterator[None]:
    """Delays interrupts until the block ends, which should therefore be short."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _blocks.append(None)
    try:
        yield
    finally:
        _blocks.pop()
        if _waiting and not _blocks:
            first = _waiting[0]
            _waiting.clear()
            raise first


@contextmanager
def quiet_imports(status: int) -> Iterator[None]:
    """Ends the program with this status if Ctrl-C arrives inside the block, which holds its imports."""
    try:
        yield
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would be a traceback
        print("benchgate: interrupted", file=sys.stderr)
        raise SystemExit(status) from None


class Interruptions:
    def __init__(
        self,
        say: Callable[[str], None],
        status: int = 130,
        folder: Callable[[], str] = str,
        doing: str = "ending the guest and keeping the results",
    ) -> None:
        """`folder` gives the session's folder; empty as long as there is none. `doing` says what happens
        after the first signal."""
        self._say, self._status, self._folder, self._doing = say, status, folder, doing
        self._first_s = 0.0
        self._before: dict[signal.Signals, Any] = {}
        self._heard = 0

    def watch(self) -> None:
        """Lasts until `release`. A signal that is ignored (nohup, a background shell) stays ignored."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in WATCHED:
            if number not in self._before and signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._hear)

    def hold_off(self) -> None:
        """The program ends by itself from now on, so no signal interrupts it."""
        if not self._heard:
            self._heard, self._first_s = 1, time.monotonic()

    def release(self) -> None:
        while self._before:
            number, handler = self._before.popitem()
            signal.signal(number, handler)

    def _hear(self, number: int, _: FrameType | None) -> None:
        self._heard += 1
        if self._heard == 1:
            self._first_s = time.monotonic()
            arrived(KeyboardInterrupt(signal.Signals(number).name))
        elif self._heard == 2:
            self._say(f"{self._doing}; another signal ends it at once")
        elif time.monotonic() - self._first_s > BURST_S:
            folder = self._folder()
            resume = f"the session's folder is not complete; next: --resume={folder}"
            left = resume if folder else "nothing is kept"
            self._say(f"ended at once: {left}")
            os._exit(self._status)
