"""Signals that end a session: the first one interrupts, and then what was measured is kept in peace.

Takes a way to speak; gives watching that begins and ends. SIGTERM and SIGHUP (a terminal that was closed) do
as Ctrl-C does. While the session then ends its guest and writes its reports, a second signal is answered and
held off, for it would leave the session's folder half written; a third one interrupts again. Does not fail:
outside of the main thread, where Python hears no signals, nothing is watched.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
HELD_OFF = 2
"""Which signal, counted from 1, does not interrupt."""


class Interruptions:
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._before: dict[signal.Signals, Any] = {}
        self._heard = 0

    def watch(self) -> None:
        """Until `release`. A signal that is ignored stays so: nohup, or a shell that went on without us."""
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
            self._say("ending the guest and keeping what was measured; once more ends it at once")
            return
        raise KeyboardInterrupt(signal.Signals(number).name)
