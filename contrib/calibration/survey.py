"""Measures this host's memory system: which measurements, in which order, and how many.

Takes what the host tells, a plan and a way to measure (`meter.measure`); gives `SurveyResult`. What cannot be
measured here is missing, with the reason. Fails as the meter does, if a CPU's own chase is impossible, and
with HostError if no point of the curve that decides is usable. The caller must hold the measuring lock.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Protocol

from benchgate.base.errors import HostError
from benchgate.base.system.machines import LONGEST_NS
from benchgate.base.text import counted
from contrib.calibration import curve
from contrib.calibration.curve import CurvePoint
from contrib.calibration.host_description import HostDescription
from contrib.calibration.meter import MeterSample

SHORTEST_NS = 0.001
"""The file of curves has four digits."""
KIB, MIB = 1 << 10, 1 << 20
SMALLEST = 4 * KIB
PAGE = 4 * KIB
BEYOND = 4
"""The largest array is this many times the largest cache that the host tells."""
LEAST_LARGEST, LARGEST_UNTOLD = 64 * MIB, 256 * MIB
HUGE_ENOUGH = 0.9
"""The part of the memory that must have been on huge pages for a chase on them to be one."""

HUGE, SMALL, LOCAL, PAGES = "huge", "small", "local", "pages"
"""The kinds of chases, which c/chase.c explains."""


class MeterCall(Protocol):
    def __call__(
        self, words: Sequence[object], seen: Callable[[MeterSample], None] = ...
    ) -> tuple[MeterSample, ...]: ...


@dataclass(frozen=True, slots=True)
class SurveyPlan:
    """How much is measured."""

    passes: int
    """How often the chase that decides, and whatever takes no time, is measured."""
    other_passes: int
    """How often the other kinds of chase are measured; 0 leaves them out."""
    an_octave: int
    """Sizes between a size and its double."""
    slices: int
    largest: int
    """The largest array, in bytes."""
    stream_bytes: int
    """The array that each CPU reads: larger than the last cache, so that it comes from memory."""


def plan_for(told: HostDescription, available: int, *, quick: bool) -> SurveyPlan:
    """`available`: the bytes of memory that are free."""
    known = max((cache.size for cache in told.caches), default=0)
    wanted = max(BEYOND * known, LEAST_LARGEST) if known else LARGEST_UNTOLD
    stream = max(min(2 * known or LARGEST_UNTOLD, available // (4 * len(told.cpus))), 4 * MIB)
    if quick:
        return SurveyPlan(3, 0, 4, 5, _at_most(min(wanted, LEAST_LARGEST), available), stream)
    return SurveyPlan(7, 3, 4, 15, _at_most(2 * wanted, available), stream)


def _at_most(size: int, available: int) -> int:
    return max(min(size, available // 4), 8 * MIB)


@dataclass(frozen=True, slots=True)
class PassSpread:
    """Several passes over the same thing."""

    value: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class SurveyResult:
    plan: SurveyPlan
    curves: dict[str, tuple[CurvePoint, ...]]
    """The curve of each kind of chase."""
    huge_share: float
    """The share of the chases' memory that is on huge pages."""
    single: dict[str, PassSpread]
    """cycle, atomic and plain, in ns."""
    transfers: dict[tuple[int, int], PassSpread] = field(default_factory=dict)
    handovers: dict[tuple[int, int], PassSpread] = field(default_factory=dict)
    interrupts: dict[tuple[int, int], PassSpread] = field(default_factory=dict)
    shares: dict[tuple[int, int], float] = field(default_factory=dict)
    """The second CPU's latency of what the first has loaded into the level beyond its private caches."""
    streams: dict[tuple[int, ...], PassSpread] = field(default_factory=dict)
    """Bytes a second that these CPUs read together."""
    remote: dict[tuple[int, int], PassSpread] = field(default_factory=dict)
    """The latency of memory for a CPU of the first node if it lies on the second, by the nodes' places."""
    missing: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of the chase that decides."""
        return HUGE if self.huge_share >= HUGE_ENOUGH else SMALL

    @property
    def points(self) -> tuple[CurvePoint, ...]:
        return self.curves[self.kind]


def sizes(plan: SurveyPlan, told: HostDescription) -> tuple[int, ...]:
    """Sizes of arrays in whole pages: evenly spaced in logarithms, and each that the host tells."""
    known = {cache.size for cache in told.caches if cache.kind != "Instruction"}
    spaced = (round(SMALLEST * 2 ** (n / plan.an_octave)) // PAGE * PAGE for n in itertools.count())
    every = {*known, *itertools.takewhile(lambda size: size <= plan.largest, spaced)}
    return tuple(sorted(size for size in every if size <= plan.largest))


def spread(values: Sequence[float]) -> PassSpread:
    return PassSpread(median(values), min(values), max(values), len(values))


def points_of(samples: Sequence[MeterSample]) -> tuple[CurvePoint, ...]:
    """The lowest pass of each size, because other work can only add time, and the median."""
    by_size: dict[int, list[float]] = {}
    for sample in samples:
        if sample.name == "chase":
            by_size.setdefault(sample.size, []).append(sample.value)
    return tuple(CurvePoint(size, min(passes), median(passes)) for size, passes in sorted(by_size.items()))


def usable_points(kind: str, points: Sequence[CurvePoint], missing: list[str]) -> tuple[CurvePoint, ...]:
    """Drops points that no file can hold, and adds a note to `missing`."""
    good = tuple(point for point in points if SHORTEST_NS <= point.ns <= LONGEST_NS)
    if len(good) < len(points):
        missing.append(
            f"chase ({kind}): {len(points) - len(good)} of {len(points)} points are not usable: a latency "
            f"must be from {SHORTEST_NS} to {LONGEST_NS:,} ns"
        )
    return good


def survey(
    told: HostDescription, plan: SurveyPlan, measure: MeterCall, progress: Callable[[str], None]
) -> SurveyResult:
    return _Survey(told, plan, measure, progress).seen()


@dataclass
class _Survey:
    _told: HostDescription
    _plan: SurveyPlan
    _measure: MeterCall
    _progress: Callable[[str], None]
    _missing: list[str] = field(default_factory=list)

    def seen(self) -> SurveyResult:
        cpu = self._told.cpus[0]
        self._progress(f"a cycle and an atomic operation on CPU {cpu}")
        single = self._measure(["single", cpu, self._plan.passes])
        huge = self._chase(HUGE, self._plan.passes)
        shares = [sample.value for sample in huge if sample.name == "huge_share"]
        curves = {HUGE: usable_points(HUGE, points_of(huge), self._missing)}
        is_huge = min(shares, default=0.0) >= HUGE_ENOUGH
        for kind in (SMALL, LOCAL, PAGES) if self._plan.other_passes else () if is_huge else (SMALL,):
            decides = kind == SMALL and not is_huge
            samples = self._chase(kind, self._plan.passes if decides else self._plan.other_passes)
            curves[kind] = usable_points(kind, points_of(samples), self._missing)
        base = SurveyResult(self._plan, curves, min(shares, default=0.0), _by_name(single))
        if not base.points:
            advice = "next: measure while it is idle"
            raise HostError(f"cannot measure this host's memory: {self._missing[-1]}; {advice}")
        pairs = list(itertools.combinations(self._told.cpus, 2))
        together = self._pairs(pairs)
        return replace(
            base,
            transfers={pair: names["transfer"] for pair, names in together.items() if "transfer" in names},
            handovers={pair: names["handover"] for pair, names in together.items() if "handover" in names},
            interrupts=self._interrupts(pairs),
            shares=self._shares(base, pairs),
            streams=self._streams(),
            remote=self._remote(base.kind),
            missing=tuple(self._missing),
        )

    def _chase(self, kind: str, passes: int) -> tuple[MeterSample, ...]:
        cpu, wanted = self._told.cpus[0], sizes(self._plan, self._told)
        if kind == PAGES:  # as many lines as the other chases, up to 64 times as far apart
            wanted = tuple(number for number in wanted if number >= 64 * KIB)
        done = 0

        def seen(sample: MeterSample) -> None:
            nonlocal done
            done += sample.name == "chase"
            if sample.name == "chase" and sample.size == wanted[-1]:
                self._progress(f"chase ({kind}): pass {done // len(wanted)} of {passes}")

        words = ["chase", cpu, cpu, kind, self._plan.slices, passes, *wanted]
        return self._measure(words, seen)

    def _pairs(self, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], dict[str, PassSpread]]:
        samples = {}
        for n, (first, second) in enumerate(pairs, 1):
            self._progress(f"lines between CPUs {first} and {second}: pair {n} of {len(pairs)}")
            samples[first, second] = _by_name(self._measure(["pair", first, second, self._plan.passes]))
        silent = [f"{first}-{second}" for (first, second), names in samples.items() if len(names) < 2]
        if silent:
            why = "one of both was off its CPU for too long"
            self._missing.append(f"transfers between CPUs {', '.join(silent)}: {why}")
        return samples

    def _interrupts(self, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], PassSpread]:
        """Measures the pairs with the first CPU only: they tell near from far."""
        spreads: dict[tuple[int, int], PassSpread] = {}
        for sender, receiver in [pair for pair in pairs if pair[0] == self._told.cpus[0]]:
            self._progress(f"interrupts from CPU {sender} to CPU {receiver}")
            try:
                samples = _by_name(self._measure(["interrupt", sender, receiver, self._plan.passes]))
            except HostError as error:
                self._missing.append(f"interrupts between CPUs: {error}")
                return spreads
            if "interrupt" in samples:
                spreads[sender, receiver] = samples["interrupt"]
            else:
                why = f"CPU {receiver} was busy with other work"
                self._missing.append(f"interrupts from CPU {sender} to {receiver}: {why}")
        return spreads

    def _shares(self, base: SurveyResult, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], float]:
        """Empty unless the curve has a shared level: private caches, one beyond them, memory."""
        edges = curve.steps(base.points)
        if len(edges) < 3 or not pairs:
            return {}
        between = round((edges[-2].high * edges[-1].low) ** 0.5) // PAGE * PAGE
        costs = {}
        for first, second in pairs:
            self._progress(f"whether CPUs {first} and {second} share a cache")
            samples = _by_name(self._measure(["share", first, second, self._plan.passes, between]))
            costs[first, second] = samples["other"].low
        return costs

    def _streams(self) -> dict[tuple[int, ...], PassSpread]:
        """The bandwidth of the first CPU alone, and of each node's CPUs together."""
        groups = self._told.nodes or (self._told.cpus,)
        spreads = {}
        for cpus in dict.fromkeys([(groups[0][0],), *groups]):
            self._progress(f"bandwidth of {counted(len(cpus), 'CPU')}")
            words = ["stream", 3 * self._plan.passes, self._plan.stream_bytes, *cpus]
            spreads[cpus] = _by_name(self._measure(words))["stream"]
        return spreads

    def _remote(self, kind: str) -> dict[tuple[int, int], PassSpread]:
        spreads = {}
        for one, two in itertools.permutations(range(len(self._told.nodes)), 2):
            cpu, home = self._told.nodes[one][0], self._told.nodes[two][0]
            self._progress(f"memory of CPU {home}'s node from CPU {cpu}")
            words = ["chase", cpu, home, kind, self._plan.slices, self._plan.passes, self._plan.largest]
            spreads[one, two] = _by_name(self._measure(words))["chase"]
        return spreads


def _by_name(samples: Sequence[MeterSample]) -> dict[str, PassSpread]:
    names = dict.fromkeys(sample.name for sample in samples)
    return {name: spread([sample.value for sample in samples if sample.name == name]) for name in names}
