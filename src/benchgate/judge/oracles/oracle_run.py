"""What an oracle may know of a run besides its answers: clock, windows and histograms.

Takes a transcript's figures; gives a frozen `OracleRun`, and the plain values that carry it to the oracle's
process. It imports little, because that process does. Nothing fails: the transcript was checked before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

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

    def as_json(self) -> dict[str, Any]:
        plain = {name: [_plain(one) for one in of_workers] for name, of_workers in self.by_worker.items()}
        return {**{key: getattr(self, key) for key in _PLAIN}, "by_worker": plain}


_PLAIN = ("cpus", "unit", "hz", "work", "total")


_FIGURES = ("count", "sum", "min", "max")


def _plain(one: Histogram) -> dict[str, Any]:
    return {**{key: getattr(one, key) for key in _FIGURES}, "buckets": list(one.buckets.items())}


def read(value: Mapping[str, Any]) -> OracleRun:
    """The inverse of `as_json`."""
    by_worker = {name: tuple(map(_histogram, of_workers)) for name, of_workers in value["by_worker"].items()}
    return OracleRun(**{key: value[key] for key in _PLAIN}, by_worker=MappingProxyType(by_worker))


def _histogram(value: Mapping[str, Any]) -> Histogram:
    return Histogram(**{**value, "buckets": MappingProxyType(dict(value["buckets"]))})
