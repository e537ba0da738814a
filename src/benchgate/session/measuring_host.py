"""The host on which a session measures wall time: this machine, or that of a maker (hooks.RunMaker).

A `MeasuringHost` says which CPUs it has, holds the measuring lock, and measures what figures are compared
with. Fails with LockError if somebody else measures there, and with HostError if its probe guests do not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import Any, Protocol

from benchgate.base.cells import Accel
from benchgate.base.system.qemu import Qemu
from benchgate.build.cache_storage import Notice
from benchgate.host import accel, capacity, envelope, lock, topology
from benchgate.host.accel import AccelProbe
from benchgate.host.capacity import CapacityPair
from benchgate.host.topology import HostTopology
from benchgate.run import stale
from benchgate.run.runner import Runner


class MeasuringHost(Protocol):
    @property
    def topology(self) -> HostTopology:
        """Read once for the whole session."""
        ...

    @property
    def runner(self) -> Runner | None:
        """Makes everything that must run on this host. None: it is this machine, so the session's options say
        who makes the runs."""
        ...

    def held(self, wait_s: float, notice: Notice) -> AbstractContextManager[None]:
        """Only this session measures there while the context is open."""
        ...

    def probe(self, qemu: Qemu, kind: Accel) -> AccelProbe: ...

    def pairs(
        self, qemu: Qemu, probe: AccelProbe, pins: Sequence[int], first: int
    ) -> tuple[CapacityPair, ...]:
        """Samples one more pair, as host/capacity.py does."""
        ...

    def envelope(
        self, qemu: Qemu | None, probes: Iterable[AccelProbe], pins: Iterable[int]
    ) -> dict[str, Any]: ...

    def close(self) -> None: ...


class ThisHost:
    runner = None

    @cached_property
    def topology(self) -> HostTopology:
        return topology.read()

    @contextmanager
    def held(self, wait_s: float, notice: Notice) -> Iterator[None]:
        with lock.measuring(wait_s, notice=notice):
            for line in stale.sweep_stale():
                notice(line)
            yield

    def probe(self, qemu: Qemu, kind: Accel) -> AccelProbe:
        return accel.probe(qemu, kind)

    def pairs(
        self, qemu: Qemu, probe: AccelProbe, pins: Sequence[int], first: int
    ) -> tuple[CapacityPair, ...]:
        return capacity.sample(qemu, probe, pins, first=first)

    def envelope(
        self, qemu: Qemu | None, probes: Iterable[AccelProbe], pins: Iterable[int]
    ) -> dict[str, Any]:
        return envelope.collect(self.topology, qemu=qemu, probes=probes, pins=pins)

    def close(self) -> None:
        """This host has nothing to close."""
