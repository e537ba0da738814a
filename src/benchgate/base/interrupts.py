"""Interrupts that wait until a step is whole, such as starting a process or running an event loop.

A signal handler gives `arrived` the exception that it wants to raise. Outside of every `held` block this is
raised at once, else when the outermost block ends. Python runs signal handlers in the main thread, between
any two bytecodes, so blocks of other threads have no effect and need none. Does not fail. `quiet_imports` is
for programs whose imports take seconds on a busy host: Ctrl-C then ends them without a traceback.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_blocks: list[None] = []
"""This list has an entry for each open block of the main thread."""
_waiting: list[BaseException] = []


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
