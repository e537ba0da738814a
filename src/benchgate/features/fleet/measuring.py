"""What a worker does that is a measuring host: one session at a time holds it, and asks about the host.

`hold` takes the host's measuring lock for one session and keeps it until that session does not want it any
more; only that session's runs are made meanwhile. `told` answers a question (host_json.py). Both fail with
LockError, RefusedError, FleetError or HostError; what they say goes to the session.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchgate.base.errors import LockError
from benchgate.base.jsonfields import as_json
from benchgate.base.system.qemu import Qemu
from benchgate.features.fleet import host_json
from benchgate.features.fleet.equipment import Equipment
from benchgate.features.fleet.errors import RefusedError
from benchgate.features.fleet.host_json import HostQuestion, QuestionKind
from benchgate.host import accel, capacity, envelope, lock, topology
from benchgate.run import stale

_LOOK_S = 0.5


class CancelledError(BaseException):
    """Nobody waits for this any more. Like KeyboardInterrupt, it ends the guest."""


@dataclass
class MeasuringPlace:
    equipment: Mapping[str, Equipment]
    """The equipment by QEMU's digest."""
    lock_name: str = lock.NAME
    _turn: threading.Lock = field(default_factory=threading.Lock)
    """The session that holds the host has it; the host's own lock does not tell two sessions here apart."""
    _busy: threading.Lock = field(default_factory=threading.Lock)
    _holder: str = ""
    _waits: str = ""

    def hold(self, token: str, wait_s: float, is_wanted: Callable[[], bool]) -> None:
        """Returns when the session does not want it any more."""
        until = time.monotonic() + wait_s

        def wait(why: str = "") -> None:
            self._waits = why
            if not is_wanted():
                raise CancelledError

        while not self._turn.acquire(timeout=_LOOK_S):
            wait("another session of the fleet measures there")
            if time.monotonic() >= until:
                raise LockError(f"another session of the fleet measures there; waited {wait_s:g} s")
        try:
            left = max(0.0, until - time.monotonic())
            with lock.measuring(left, notice=wait, name=self.lock_name):
                stale.sweep_stale()
                self._holder = token
                while is_wanted():
                    time.sleep(_LOOK_S)
                with self._busy:  # the last guest has ended before somebody else may measure
                    self._holder = ""
        finally:
            self._waits = ""
            self._turn.release()

    @contextmanager
    def under(self, token: str) -> Iterator[None]:
        """RefusedError unless the session with this token holds the host; it does until the end."""
        with self._busy:
            if not token or token != self._holder:
                raise RefusedError("another session holds this measuring host, or none does")
            yield

    def told(self, question: HostQuestion) -> Any:
        match question.ask:
            case QuestionKind.ABOUT:
                held = lock.holder(self.lock_name)
                seen = as_json(topology.read())
                return {"topology": seen, "busy": "" if held is None else str(held)}
            case QuestionKind.HELD:
                return {"held": question.hold == self._holder != "", "waits": self._waits}
            case QuestionKind.ENVELOPE:
                return envelope.of_host(topology.read(), question.pins)
        with self.under(question.hold):
            qemu = self._qemu(question.qemu)
            probe = accel.probe(qemu, question.accel)
            if question.ask is QuestionKind.PROBE:
                return as_json(probe)
            return host_json.pairs_as_json(capacity.sample(qemu, probe, question.pins, first=question.first))

    def _qemu(self, digest: str) -> Qemu:
        if digest not in self.equipment:
            lacks = f"this worker has no QEMU with digest {digest:.12}"
            raise RefusedError(f"{lacks}: name its architecture with --guests")
        return self.equipment[digest].qemu
