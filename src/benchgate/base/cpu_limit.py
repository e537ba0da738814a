"""Limits the CPU time of work on untrusted files: a malicious pattern may need endless time to match.

Takes seconds of CPU time; gives a context manager. Its block fails with CpuLimitExceeded when this process
has used them up, or when its helper processes have, whose time is reported to `charge`. Outside the main
thread, where Python handles no signals, nothing is limited.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class CpuLimitExceeded(BaseException):
    """More CPU time was used than allowed. A BaseException, so that no `except Exception` catches it."""


_left_s: list[float] = []
"""The seconds that each open block (innermost last) leaves to helper processes."""


@contextmanager
def cpu_seconds(most: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, most)
    _left_s.append(most)
    try:
        yield
    finally:
        _left_s.pop()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def charge(seconds: float) -> None:
    """Counts CPU time of a helper process."""
    if _left_s:
        _left_s[-1] -= seconds
        if _left_s[-1] <= 0:
            raise CpuLimitExceeded


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise CpuLimitExceeded
