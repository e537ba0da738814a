"""Measures capacity: how much more n CPUs of this host compute than one. No guest can scale better.

Takes a QEMU, a probed accelerator and pins; gives the throughput of n concurrent probe guests relative to one
guest alone, with an interval. Fails with ProbeError (a HostError) if a guest fails. Everything except
`sample`, `measure_capacity` and `guests_at_once` is pure.

A pair is one guest alone, then all n together, immediately after each other, so that slow drift affects both.
The interval of the median comes from order statistics, which is exact for any distribution of noise. With 5
pairs it is the lowest and the highest value; the chance that all 5 are above the true median is 1/32.

`guests_at_once` is for guests whose time on the host does not matter: how many of them fit, by their memory
in the form of QEMU's `-m`. If that has an unknown form, the count is one.
"""

from __future__ import annotations

import math
import os
import re
import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import psutil

from benchgate.base.cells import Accel
from benchgate.base.system.qemu import Qemu
from benchgate.host.accel import AccelProbe
from benchgate.host.probe import INSTRUCTIONS_PER_STEP, ProbeError, ProbeGuest, answers

PAIRS = 5
SECONDS = 0.2
"""How long one guest computes alone."""
_TALKS, _MOST_S = 10, 1.0
"""It computes at least so many times as long as a request and its answer take, which in a nested guest is
0.1 s; but no longer than this."""
ERROR = 0.05
"""The highest error probability of either bound."""

_BOOT_S = 60.0
_SLACK = 20.0
"""An answer may take this many times longer than expected, because the host may be busy."""
_UNITS = {"": 20, "K": 10, "M": 20, "G": 30, "T": 40}
_BYTES_OF_LINE = 200
"""What the simulation of a memory system keeps of each line of the guest, at most."""
_ALWAYS_BYTES = 512 << 20
"""The memory of QEMU itself in addition to its guest's, mainly translated code."""


@dataclass(frozen=True, slots=True)
class CapacityPair:
    alone_s: float
    together_s: tuple[float, ...]

    def __post_init__(self) -> None:
        if not (self.together_s and min(self.alone_s, *self.together_s) > 0):
            raise ValueError(f"need positive times, not {self.alone_s}, {self.together_s}")

    @property
    def ratio(self) -> float:
        """The total speed of all guests, in units of one guest alone. A finished guest keeps polling."""
        return math.fsum(self.alone_s / seconds for seconds in self.together_s)


@dataclass(frozen=True, slots=True)
class Capacity:
    """The capacity of `cpus` CPUs. The host can show a speedup if `low` is above it."""

    cpus: int
    ratio: float
    low: float
    high: float
    accel: Accel
    pins: tuple[int, ...]
    pairs: tuple[CapacityPair, ...]


def bound_rank(pairs: int) -> int:
    """The index of the order statistic that bounds the median with an error probability of at most ERROR.
    With fewer than 5 pairs there is none, and the lowest is used: index 0."""
    rank, chance = 0, 0.0
    for below in range(pairs):
        chance += math.comb(pairs, below) / 2**pairs
        if chance > ERROR:
            break
        rank = below
    return rank


def estimate(accel: Accel, pins: Sequence[int], pairs: Sequence[CapacityPair]) -> Capacity:
    """Capacity from pairs, which may come from several calls of `sample`. For one CPU it is exactly 1."""
    used = tuple(pins)
    if len(used) == 1:
        return Capacity(1, 1.0, 1.0, 1.0, accel, used, tuple(pairs))
    if not pairs or any(len(pair.together_s) != len(used) for pair in pairs):
        raise ValueError(f"need pairs of {len(used)} guests, not {[len(pair.together_s) for pair in pairs]}")
    ratios = sorted(pair.ratio for pair in pairs)
    rank = bound_rank(len(ratios))
    low, high = ratios[rank], ratios[-1 - rank]
    return Capacity(len(used), statistics.median(ratios), low, high, accel, used, tuple(pairs))


def sample(
    qemu: Qemu, accel: AccelProbe, pins: Sequence[int], *, pairs: int = 1, first: int = 0
) -> tuple[CapacityPair, ...]:
    """Takes pairs with a guest on each pin: 0.1 s to boot, then about 0.4 s per pair. `first` is the guest
    that computes alone in the first pair; each further pair uses the next guest, so that every CPU counts."""
    if not pins:
        raise ValueError("capacity needs at least one CPU")
    if not accel.usable or accel.figure is None or accel.cpu_model is None:
        raise ProbeError(f"capacity needs a usable accelerator: {accel.reason}")
    if len(pins) == 1:
        return ()
    with ExitStack() as stack:
        guest_on = partial(ProbeGuest, qemu, accel.accel, accel.cpu_model)
        guests = [stack.enter_context(guest_on(pin=pin)) for pin in pins]
        for guest in guests:
            guest.ready(_BOOT_S)
        seconds = max(SECONDS, min(_MOST_S, _TALKS * max(answers(guests, 1, _BOOT_S))))
        steps = max(1, int(accel.figure * 1e6 * seconds / INSTRUCTIONS_PER_STEP))
        patience_s = _SLACK * seconds * len(pins) + 1.0
        answers(guests, max(1, steps // 50), patience_s)  # warm-up: translation, page faults, wake-up
        turns = ((first + index) % len(pins) for index in range(pairs))
        return tuple(_pair(guests, alone, steps, patience_s) for alone in turns)


def measure_capacity(
    qemu: Qemu, accel: AccelProbe, pins: Sequence[int], n: int, *, pairs: int = PAIRS
) -> Capacity:
    """Capacity of the first n pins: about 2 s for two CPUs."""
    if not 1 <= n <= len(pins):
        raise ValueError(f"{n} guests cannot be pinned one to one to {len(pins)} CPUs")
    return estimate(accel.accel, pins[:n], sample(qemu, accel, pins[:n], pairs=pairs))


def _pair(guests: Sequence[ProbeGuest], alone: int, steps: int, patience_s: float) -> CapacityPair:
    others = [guest for index, guest in enumerate(guests) if index != alone]
    for guest in others:
        guest.pause()
    (alone_s,) = answers([guests[alone]], steps, patience_s)
    for guest in others:
        guest.resume()
    return CapacityPair(alone_s, answers(guests, steps, patience_s))


def guests_at_once(memory: str, kept_to: Sequence[int] = (), line: int = 0) -> int:
    """`kept_to`: the host CPUs of the guests; default: all CPUs of this process. `line`: the bytes of a cache
    line of their machine; 0: no memory is simulated."""
    cpus = len(kept_to) or len(os.sched_getaffinity(0))
    return fitting(memory, cpus, psutil.virtual_memory().available, line)


def fitting(memory: str, cpus: int, free_bytes: int, line: int = 0) -> int:
    """One guest per CPU, limited to half of the free memory."""
    size = re.fullmatch(r"([0-9]{1,9})([KMGT]?)", memory.upper())
    if size is None:
        return 1
    guest = int(size[1]) << _UNITS[size[2]]
    each = guest + _ALWAYS_BYTES + (guest // line * _BYTES_OF_LINE if line else 0)
    return max(1, min(cpus, free_bytes // 2 // each))
