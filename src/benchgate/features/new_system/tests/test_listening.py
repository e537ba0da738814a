"""Why listening ends, also when its time is over before the guest has been silent for long enough."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pexpect
import pytest

from benchgate.features.new_system.listening import ListeningEnd, _Listener


@dataclass
class Console:
    """Gives its pieces, and then nothing, or its end."""

    pieces: list[bytes]
    ends: bool
    listener: _Listener = field(init=False)

    def read_nonblocking(self, _size: int, _timeout: float) -> bytes:
        if self.pieces:
            return self.pieces.pop(0)
        if self.ends:
            raise pexpect.EOF("closed")
        self.listener.until = 0.0  # the time is over
        raise pexpect.TIMEOUT("nothing")


def heard(*pieces: bytes, ends: bool = False) -> ListeningEnd:
    console = Console(list(pieces), ends)
    guest: Any = SimpleNamespace(console=console, child=SimpleNamespace(pid=os.getpid()))
    shown: list[str] = []
    console.listener = _Listener(guest, time.monotonic() + 3600, shown.append)
    return console.listener.listen()


@pytest.mark.parametrize(
    ("printed", "ends", "stop"),
    [
        (b"xv6 kernel is booting\n", False, ListeningEnd.QUIET),
        (b"xv6 kernel is booting\n", True, ListeningEnd.EXITED),
        (b"xv6 kernel is booting\npanic: could not find virtio disk\n", False, ListeningEnd.SUSPECT),
        (b"xv6 kernel is booting\npanic: could not find virtio disk\n", True, ListeningEnd.SUSPECT),
    ],
)
def test_a_panic_is_asked_for_when_the_time_is_over_or_the_machine_is_off(
    printed: bytes, ends: bool, stop: ListeningEnd
) -> None:
    assert heard(printed, ends=ends) is stop
