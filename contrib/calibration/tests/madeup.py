"""A made-up host for the survey: a stand-in for the measuring program that answers by arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchgate.base.errors import HostError
from benchgate.host.caches import CacheDescription
from contrib.calibration.host_description import HostDescription
from contrib.calibration.meter import MeterSample
from contrib.calibration.survey import SurveyPlan
from contrib.calibration.tests.curves import KIB, MEMORY_NS, MIB, THREE, Caches, sharp

QUICK = SurveyPlan(3, 0, 2, 5, 64 * MIB, 16 * MIB)
FULL = SurveyPlan(3, 2, 4, 5, 64 * MIB, 16 * MIB)


def told(
    cpus: int = 4, *, clusters: int = 1, caches: Caches = THREE, is_virtual: bool = False
) -> HostDescription:
    """A host that tells the truth about itself: one socket, one node, no hyperthreads."""
    everyone = tuple(range(cpus))
    size = cpus // clusters
    groups = tuple(everyone[n : n + size] for n in range(0, cpus, size))
    descriptions = [
        CacheDescription(n, "Unified" if n > 1 else "Data", size, 8, 64, ())
        for n, (size, _) in enumerate(caches, 1)
    ]
    return HostDescription(
        cpus=everyone,
        caches=(
            *descriptions[:1],
            CacheDescription(1, "Instruction", 64 * KIB, 4, 64, ()),
            *descriptions[1:],
        ),
        l3_groups=groups,
        sockets=(everyone,),
        cores=tuple((cpu,) for cpu in everyone),
        nodes=(everyone,),
        is_virtual=is_virtual,
        model="Made-up 4000",
    )


@dataclass
class MadeUp:
    """What it measures, whatever it tells."""

    caches: Caches = THREE
    memory_ns: float = MEMORY_NS
    huge_share: float = 1.0
    clusters: Sequence[Sequence[int]] = ((0, 1, 2, 3),)
    transfer_ns: Mapping[frozenset[int], float] = field(default_factory=dict)
    remote_ns: float = 160.0
    busy: bool = False
    """The second CPU of every pair is always off."""
    no_membarrier: bool = False
    asked: list[list[str]] = field(default_factory=list)

    def __call__(
        self, words: Sequence[object], seen: Callable[[MeterSample], None] = lambda _: None
    ) -> tuple[MeterSample, ...]:
        asked = [str(word) for word in words]
        self.asked.append(asked)
        result = tuple(getattr(self, asked[0])(*asked[1:]))
        for one in result:
            seen(one)
        return result

    def chase(
        self, cpu: str, home: str, kind: str, slices: str, passes: str, *sizes: str
    ) -> Iterator[MeterSample]:
        assert int(slices) > 0
        memory_ns = self.memory_ns if cpu == home else self.remote_ns
        for number in range(int(passes)):
            for size in map(int, sizes):
                ns = sharp(size, self.caches, memory_ns) * (1 + 0.02 * number)
                yield MeterSample("chase", size, ns)
            if kind == "huge":
                yield MeterSample("huge_share", 0, self.huge_share)

    def single(self, _cpu: str, passes: str) -> Iterator[MeterSample]:
        for _ in range(int(passes)):
            yield from (
                MeterSample("cycle", 0, 0.25),
                MeterSample("atomic", 0, 5.2),
                MeterSample("plain", 0, 0.3),
            )

    def pair(self, one: str, two: str, passes: str) -> Iterator[MeterSample]:
        near = any({int(one), int(two)} <= set(group) for group in self.clusters)
        ns = self.transfer_ns.get(frozenset((int(one), int(two))), 25.0 if near else 90.0)
        for number in range(0 if self.busy else int(passes)):
            yield from (MeterSample("transfer", 0, ns + number), MeterSample("handover", 0, 2 * ns))

    def interrupt(self, _one: str, _two: str, passes: str) -> Iterator[MeterSample]:
        if self.no_membarrier:
            raise HostError("cannot measure this host's memory: the kernel refuses membarrier")
        for _ in range(0 if self.busy else int(passes)):
            yield MeterSample("interrupt", 0, 1600.0)

    def share(self, one: str, two: str, passes: str, _bytes: str) -> Iterator[MeterSample]:
        near = any({int(one), int(two)} <= set(group) for group in self.clusters)
        for _ in range(int(passes)):
            yield MeterSample("own", 0, self.caches[-1][1])
            yield MeterSample("other", 0, 1.3 * self.caches[-1][1] if near else self.memory_ns)

    def stream(self, passes: str, _bytes: str, *cpus: str) -> Iterator[MeterSample]:
        for number in range(int(passes)):
            yield MeterSample("stream", 0, (20e9 + 1e8 * number) * len(cpus))
