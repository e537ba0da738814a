"""How much more n CPUs of this host compute than one: the most that any guest can show.

Takes a QEMU, a probed accelerator and pins; gives the throughput of n probe guests side by side over one of
them alone, with an interval. Fails with ProbeFailed (a HostError) where a guest fails. All but `sample` and
`measure` is pure.

A pair is one guest alone, then all n together, right after each other, so that slow drift falls on both. The
interval is that of the median by order statistics, exact for any distribution of noise: with 5 pairs, the
lowest and the highest; the chance that all 5 lie above the true median is 1/32.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from benchgate.host import probe as guest
from benchgate.host.accel import AccelProbe
from benchgate.host.probe import Emulator, ProbeFailed, ProbeGuest
from benchgate.model import Accel

PAIRS = 5
SECONDS = 0.2
"""What one guest computes alone."""
ERROR = 0.05
"""The most that either bound may err."""

_BOOT_S = 20.0
_SLACK = 20.0
"""How much longer than expected an answer may take: the host may be busy."""


@dataclass(frozen=True, slots=True)
class CapacityPair:
    alone_s: float
    together_s: tuple[float, ...]

    def __post_init__(self) -> None:
        if not (self.together_s and min(self.alone_s, *self.together_s) > 0):
            raise ValueError(f"a pair needs positive times: {self.alone_s}, {self.together_s}")

    @property
    def ratio(self) -> float:
        """All guests' speed together, in units of one alone. All kept computing or polling meanwhile."""
        return math.fsum(self.alone_s / seconds for seconds in self.together_s)


@dataclass(frozen=True, slots=True)
class Capacity:
    """Compared with a threshold: `low` above it means that this host can show it."""

    cpus: int
    ratio: float
    low: float
    high: float
    accel: Accel
    pins: tuple[int, ...]
    pairs: tuple[CapacityPair, ...]


def bound_rank(pairs: int, error: float = ERROR) -> int:
    """Which order statistic, from 0, bounds the median with at most this chance to err. Below 5 pairs none
    does, and the lowest has to serve: rank 0."""
    rank, chance = 0, 0.0
    for below in range(pairs):
        chance += math.comb(pairs, below) / 2**pairs
        if chance > error:
            break
        rank = below
    return rank


def estimate(accel: Accel, pins: Sequence[int], pairs: Sequence[CapacityPair]) -> Capacity:
    """Capacity from pairs, taken in one sitting or several. One CPU is the unit: exactly 1."""
    used = tuple(pins)
    if len(used) == 1:
        return Capacity(1, 1.0, 1.0, 1.0, accel, used, tuple(pairs))
    if not pairs or any(len(pair.together_s) != len(used) for pair in pairs):
        raise ValueError(
            f"pairs of {len(used)} guests are needed, and there is not one pair or another count"
        )
    ratios = sorted(pair.ratio for pair in pairs)
    rank = bound_rank(len(ratios))
    low, high = ratios[rank], ratios[-1 - rank]
    return Capacity(len(used), statistics.median(ratios), low, high, accel, used, tuple(pairs))


def sample(
    qemu: Emulator, accel: AccelProbe, pins: Sequence[int], *, pairs: int = 1, first: int = 0
) -> tuple[CapacityPair, ...]:
    """Takes some pairs with a guest on each pin: 0.1 s to boot them, then about 0.4 s a pair. `first` is the
    guest that computes alone in the first pair; it goes round, so that no CPU stands for all."""
    if not pins:
        raise ValueError("capacity needs at least one CPU")
    if not accel.usable or accel.figure is None or accel.cpu_model is None:
        raise ProbeFailed(f"no capacity without a usable accelerator: {accel.reason}")
    if len(pins) == 1:
        return ()
    steps = max(1, int(accel.figure * 1e6 * SECONDS / guest.INSTRUCTIONS_PER_STEP))
    patience_s = _SLACK * SECONDS * len(pins) + 1.0
    with ExitStack() as stack:
        machines = [
            stack.enter_context(ProbeGuest(qemu, accel.accel, accel.cpu_model, pin=pin)) for pin in pins
        ]
        for machine in machines:
            machine.ready(_BOOT_S)
        guest.answers(machines, max(1, steps // 50), patience_s)  # translated, page-faulted, awake
        turns = ((first + index) % len(pins) for index in range(pairs))
        return tuple(_pair(machines, alone, steps, patience_s) for alone in turns)


def measure(
    qemu: Emulator, accel: AccelProbe, pins: Sequence[int], n: int, *, pairs: int = PAIRS
) -> Capacity:
    """Capacity of the first n pins from one sitting: about 2 s for two CPUs."""
    if not 1 <= n <= len(pins):
        raise ValueError(f"{n} guests cannot be pinned one to one to {len(pins)} CPUs")
    return estimate(accel.accel, pins[:n], sample(qemu, accel, pins[:n], pairs=pairs))


def _pair(machines: Sequence[ProbeGuest], alone: int, steps: int, patience_s: float) -> CapacityPair:
    others = [machine for index, machine in enumerate(machines) if index != alone]
    for machine in others:
        machine.pause()
    (alone_s,) = guest.answers([machines[alone]], steps, patience_s)
    for machine in others:
        machine.resume()
    return CapacityPair(alone_s, guest.answers(machines, steps, patience_s))
