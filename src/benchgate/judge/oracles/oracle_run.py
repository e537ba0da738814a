"""What an oracle may know of a run besides its answers: clock, windows and histograms.

Takes a transcript's figures; gives a frozen `OracleRun`, which goes to the oracle's process as JSON. It
imports little, because that process does. Nothing fails: the transcript was checked before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from benchgate.base.statistics.histogram import Histogram, merged


@dataclass(frozen=True, slots=True)
class OracleRun:
    """The fourth parameter of a `check`. Times are the guest's own, in its unit."""

    cpus: int
    unit: str
    hz: int | None
    """How many of `unit` are one second; None if the guest did not say."""
    work: int
    total: int
    by_worker: Mapping[str, tuple[Histogram, ...]]
    """Each histogram's name, and one for each worker in the order of their ids."""

    @property
    def histograms(self) -> Mapping[str, Histogram]:
        """The histograms by name, each merged over all workers."""
        return MappingProxyType({name: merged(of_workers) for name, of_workers in self.by_worker.items()})
