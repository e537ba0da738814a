"""Signals that end a session. SIGTERM and SIGHUP (the terminal was closed) act like Ctrl-C.

Takes a function that prints a line; gives `watch` and `release`. The first signal interrupts: the session
ends its guest and writes its reports. A second signal only prints a line, because it would leave the
session's folder incomplete. A third one interrupts again. Does not fail: outside the main thread, where
Python handles no signals, nothing is watched.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from benchgate.base.interrupts import arrived

WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
HELD_OFF = 2
"""The signal, counted from 1, that does not interrupt."""


class Interruptions:
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._before: dict[signal.Signals, Any] = {}
        self._heard = 0

    def watch(self) -> None:
        """Until `release`. A signal that is ignored (nohup, a background shell) stays ignored."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in WATCHED:
            if number not in self._before and signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._hear)

    def release(self) -> None:
        while self._before:
            number, handler = self._before.popitem()
            signal.signal(number, handler)

    def _hear(self, number: int, _: FrameType | None) -> None:
        self._heard += 1
        if self._heard == HELD_OFF:
            self._say("ending the guest and keeping the results; another signal ends it at once")
            return
        arrived(KeyboardInterrupt(signal.Signals(number).name))
