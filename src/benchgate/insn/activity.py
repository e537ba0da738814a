"""Reads what each vCPU did in the window, and which vCPU woke which, from the clock's log
(c/record/activity.c).

`ActivityReader` takes one line after the other, in words; `activity` gives an `Activity`, or None if the log
has no such lines (older versions wrote none, and neither does a QEMU that was killed). The lines are
untrusted: a line outside the format is a ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from benchgate.insn.log_text import number

MOST_COLUMNS = 200
MOST_PAIRS = 4096
FULL = 255
"""This number in the log means a whole column."""
_SHARES = re.compile(r"(?:[0-9a-f]{2})+")


@dataclass(frozen=True, slots=True)
class Column:
    """The use of one column by one vCPU, in shares of 1."""

    worked: float
    spun: float
    """The share in loops that only wait, and in `pause`."""

    @property
    def halted(self) -> float:
        return max(0.0, 1.0 - self.worked - self.spun)


@dataclass(frozen=True, slots=True)
class Wakes:
    """How often `by` woke the halted vCPU `target`, and interrupted it while it ran. `by` is None for a timer
    or a device."""

    target: int
    by: int | None
    wakes: int
    interrupts: int


@dataclass(frozen=True, slots=True)
class Activity:
    """The activity from `begin` to `end`, in ns of guest time. Each column but the last is `width` long."""

    begin: int
    end: int
    width: int
    vcpus: tuple[tuple[Column, ...], ...]
    wakes: tuple[Wakes, ...] = ()

    @property
    def repeatable(self) -> tuple[object, ...]:
        """The parts that are equal in two runs of a seed. Wake-ups by no vCPU are not: QEMU also wakes a
        halted vCPU for its own jobs, and how often depends on the host. So the log has them among the
        host's counters."""
        by_vcpus = tuple(wake for wake in self.wakes if wake.by is not None)
        return self.begin, self.end, self.width, self.vcpus, by_vcpus


class ActivityReader:
    def __init__(self) -> None:
        self._head: tuple[int, int, int, int] | None = None
        self._shares: dict[str, list[bytes]] = {"worked": [], "spun": []}
        self._wakes: list[Wakes] = []
        self.words: Mapping[str, Callable[[list[str], int], None]] = {
            "columns": self._columns,
            "worked": self._add_shares,
            "spun": self._add_shares,
            "woke": self._woke,
        }
        """Maps a line's first word to its reader, which also takes the number of vCPUs."""

    def _columns(self, words: list[str], _vcpus: int) -> None:
        if len(words) != 5 or self._head is not None:
            raise ValueError("expected `columns COUNT WIDTH BEGIN END`, once")
        count, width, begin, end = map(number, words[1:])
        if not (0 < count <= MOST_COLUMNS and width and (count - 1) * width < end - begin <= count * width):
            raise ValueError(f"{count} columns of {width} ns do not fit into {begin} to {end}")
        self._head = count, width, begin, end

    def _add_shares(self, words: list[str], _vcpus: int) -> None:
        known = self._shares[words[0]]
        if self._head is None or len(words) != 3 or words[1] != str(len(known)):
            raise ValueError(f"expected `{words[0]} VCPU HEX` after `columns`, in order of the vCPUs")
        if len(words[2]) != 2 * self._head[0] or not _SHARES.fullmatch(words[2]):
            raise ValueError(f"expected {self._head[0]} columns of two hex digits")
        known.append(bytes.fromhex(words[2]))

    def _woke(self, words: list[str], vcpus: int) -> None:
        if len(words) != 5 or len(self._wakes) >= MOST_PAIRS:
            raise ValueError(f"expected `woke VCPU BY WAKES INTERRUPTS`, at most {MOST_PAIRS} times")
        target, by = number(words[1]), number(words[2])
        wakes = Wakes(target, by, *map(number, words[3:]))
        if max(target, by) >= vcpus:
            raise ValueError(f"there is no vCPU {max(target, by)}")
        self._wakes.append(wakes)

    def activity(self, vcpus: int, host: Mapping[str, int]) -> Activity | None:
        """Gives what was read. `host` has the counters that depend on the host, also wake-ups by no vCPU."""
        if self._head is None:
            return None
        worked, spun = self._shares["worked"], self._shares["spun"]
        if len(worked) < vcpus or len(spun) < vcpus:  # QEMU died while it wrote them
            return None
        if len(worked) != vcpus or len(spun) != vcpus:
            raise ValueError("there are columns of a vCPU that does not exist")
        _, width, begin, end = self._head
        lanes = tuple(_lane(one, other, width, end - begin) for one, other in zip(worked, spun, strict=True))
        woken = [c for c in range(vcpus) if f"wakes_of_{c}" in host]
        by_none = [Wakes(c, None, host[f"wakes_of_{c}"], host.get(f"interrupts_of_{c}", 0)) for c in woken]
        wakes = sorted((*by_none, *self._wakes), key=lambda one: one.target)
        return Activity(begin, end, width, lanes, tuple(wakes))


def _lane(worked: bytes, spun: bytes, width: int, length: int) -> tuple[Column, ...]:
    """Converts the log's shares of a whole column, because the last column may be shorter."""
    last = (length - (len(worked) - 1) * width) / width
    parts = [1.0] * (len(worked) - 1) + [last]
    return tuple(map(_column, worked, spun, parts))


@lru_cache(4096)  # most columns of a run are equal to others
def _column(worked: int, spun: int, part: float) -> Column:
    return Column(min(1.0, worked / FULL / part), min(1.0, spun / FULL / part))
