"""Limits the CPU time of work on untrusted files: a malicious pattern may need endless time to match.

Takes seconds of this process's CPU time; gives a context manager. Its block fails with Exhausted when they
are used up. Outside the main thread, where Python handles no signals, nothing is limited.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Exhausted(BaseException):
    """More CPU time was used than allowed. A BaseException, so that no `except Exception` catches it."""


@contextmanager
def cpu_seconds(most: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, most)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise Exhausted
