"""How a figure of a drafted machine file is known, and what it is drafted from, as types.

Takes numbers; gives them with their basis, and words for sizes and ranges. Nothing fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchgate.host.memory.curve import Level, Step
from benchgate.host.memory.survey import Seen
from benchgate.host.memory.told import Told


class Basis(StrEnum):
    MEASURED = "measured"
    TOLD = "told by the host"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class Known:
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
    size: Known
    ways: Known
    latency: Known | None
    """None for the first level: a hit there costs its instruction's own ns."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a draft is made from."""

    told: Told
    seen: Seen
    levels: tuple[Level, ...]
    steps: tuple[Step, ...]
    say: Callable[[str], None]
    """Takes what the host hides, contradicts, or cannot show."""


def measured(level: Level) -> Known:
    interval = f"{level.ns:.2f} ns ({level.low:.2f} to {level.high:.2f})"
    why = f"{interval} from {size_text(level.first)} to {size_text(level.last)}"
    return Known(level.ns, Basis.MEASURED, why)


def size_text(size: int) -> str:
    return f"{size >> 20} MiB" if size % (1 << 20) == 0 else f"{size / 1024:g} KiB"


def range_text(values: Sequence[float]) -> str:
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return f"{low} ns" if low == high else f"{low} to {high} ns"
