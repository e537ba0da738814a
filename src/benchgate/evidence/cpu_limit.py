"""CPU time that work on a stranger's files may take: a search pattern of theirs can be made never to end.

Takes seconds of this process's CPU time; gives a context. Raises Exhausted inside it once they are used up.
Outside of the main thread, where Python hears no signals, nothing is limited.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Exhausted(BaseException):
    """More CPU time was used than allowed. No `except Exception` on the way holds it up."""


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
