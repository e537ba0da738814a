"""The sessions that these tests end by Ctrl-C must be able to hear it."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def hears_ctrl_c() -> Iterator[None]:
    """A shell starts its background jobs deaf to SIGINT, and a child inherits that through exec: without
    this, `./run tests &` would wait in vain for sessions to end."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
