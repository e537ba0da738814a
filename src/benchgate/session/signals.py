"""Signals that end a session. SIGTERM and SIGHUP (the terminal was closed) act like Ctrl-C.

Takes a function that prints a line and an exit status; gives `watch`, `hold_off` and `release`. The first
signal interrupts: the session ends its guest and writes its reports. The second one only prints a line,
because it would leave the session's folder incomplete. Later ones do nothing until the first is BURST_S old:
then somebody waits, and the process ends at once, without a traceback and with its status. Its guests end
with it. Does not fail: outside the main thread, where Python handles no signals, nothing is watched.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from benchgate.base.interrupts import arrived

WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
BURST_S = 5.0
"""Signals that follow each other so soon mean one thing: a held key, or one for the process and one for its
group."""


class Interruptions:
    def __init__(
        self, say: Callable[[str], None], status: int = 130, folder: Callable[[], str] = str
    ) -> None:
        """`folder` gives the session's folder; empty as long as there is none."""
        self._say, self._status, self._folder = say, status, folder
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
            self._say("ending the guest and keeping the results; another signal ends it at once")
        elif time.monotonic() - self._first_s > BURST_S:
            folder = self._folder()
            left = (
                f"the session's folder is not complete; next: --resume={folder}"
                if folder
                else "nothing is kept"
            )
            self._say(f"ended at once: {left}")
            os._exit(self._status)
