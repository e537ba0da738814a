"""How a figure of a drafted machine file is known, and what it is drafted from, as types.

Takes numbers; gives them with their basis, and words for sizes and ranges. Takes CPUs in groups: cores,
clusters, sockets, nodes; gives their arithmetic. Nothing fails, unless a pair names a CPU of no group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from contrib.calibration.curve import CapacityStep, LatencyLevel
from contrib.calibration.host_description import HostDescription
from contrib.calibration.survey import SurveyResult


class Basis(StrEnum):
    MEASURED = "measured"
    TOLD = "told by the host"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class DraftFigure:
    """A number of the file."""

    value: float
    basis: Basis
    why: str
    """The interval, or what it is assumed from."""

    @property
    def ns(self) -> int:
        """The figure as the file has it: whole ns, at least 1."""
        return max(1, round(self.value))


@dataclass(frozen=True, slots=True)
class DraftCache:
    name: str
    size: DraftFigure
    ways: DraftFigure
    latency: DraftFigure | None
    """None for the first level: a hit there costs its instruction's own ns."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a draft is made from."""

    told: HostDescription
    seen: SurveyResult
    levels: tuple[LatencyLevel, ...]
    steps: tuple[CapacityStep, ...]
    say: Callable[[str], None]
    """Takes what the host hides, contradicts, or cannot show."""


def measured(level: LatencyLevel) -> DraftFigure:
    interval = f"{level.ns:.2f} ns ({level.low:.2f} to {level.high:.2f})"
    why = f"{interval} from {size_text(level.first)} to {size_text(level.last)}"
    return DraftFigure(level.ns, Basis.MEASURED, why)


def size_text(size: int) -> str:
    return f"{size >> 20} MiB" if size % (1 << 20) == 0 else f"{size / 1024:g} KiB"


def range_text(values: Sequence[float]) -> str:
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return f"{low} ns" if low == high else f"{low} to {high} ns"


# ---- CPUs in groups


Groups = tuple[tuple[int, ...], ...]


def group_of(groups: Iterable[tuple[int, ...]], cpu: int) -> tuple[int, ...]:
    return next((group for group in groups if cpu in group), (cpu,))


def joined(groups: Iterable[tuple[int, ...]], pairs: Iterable[tuple[int, int]]) -> list[tuple[int, ...]]:
    """The groups, those of a pair as one."""
    result = [set(group) for group in groups]
    for one, two in pairs:
        first = next(group for group in result if one in group)
        second = next(group for group in result if two in group)
        if first is not second:
            first |= second
            result.remove(second)
    return sorted(tuple(sorted(group)) for group in result)


def renamed(groups: Groups, order: Sequence[int]) -> Groups:
    return tuple(sorted(tuple(sorted(order.index(cpu) for cpu in group)) for group in groups))


def distance(pair: tuple[int, int], clusters: Groups, sockets: Groups) -> str:
    if group_of(clusters, pair[0]) == group_of(clusters, pair[1]):
        return "cluster_ns"
    same = group_of(sockets, pair[0]) == group_of(sockets, pair[1])
    return "across_ns" if same else "socket_ns"


def is_needed(key: str, clusters: Groups, sockets: Groups) -> bool:
    if key == "cluster_ns":
        return any(len(group) > 1 for group in clusters)
    if key == "socket_ns":
        return len(sockets) > 1
    return any(sum(set(cluster) <= set(socket) for cluster in clusters) > 1 for socket in sockets)
