"""A simulated operating system that shares resources, whose truth is known: what each input needs, how much
its score depends on each resource, and how much the system takes from whom.

An input that gets the part g of what it needs of resource j loses the share w_j (1 - g) of its score. So its
true sensitivity to j is w_j, whatever the limit. If the parts together need more than there is, all get the
same part of what they need, but for those that the system starves on purpose.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from benchgate.features.mix import study_orders, studyfile, vectors
from benchgate.features.mix.measurement import MixMeasurement, PartMeasurement, StudyRun, alone
from benchgate.features.mix.sensitivity import uses_enough
from benchgate.features.mix.session.measure import MixAnswer, MixAttemptJob, MixJob
from benchgate.features.mix.study import DUMMY, Study
from benchgate.features.mix.study_orders import Counts, PartOrder
from benchgate.features.mix.vectors import amount

WINDOW_NS = 100_000_000
CPUS_NS = 2 * WINDOW_NS
MEMORY = 1 << 30
CACHE = 16 << 20
BANDWIDTH = 2_000_000_000
DISK = 40_000_000
"""Bytes in a window: what its calibrator reaches, if it needs all of the disk."""
UNITS = {
    "cpu": CPUS_NS,
    "memory": MEMORY,
    "cache": CACHE,
    "bandwidth": BANDWIDTH,
    "disk": DISK,
    "network": DISK,
}
WAYS = 16


@dataclass(frozen=True)
class Truth:
    """The truth about one input."""

    score: Fraction
    needs: Mapping[str, Fraction]
    """Shares of the capacity."""
    weight: Mapping[str, Fraction] = field(default_factory=dict)
    """The true sensitivities."""


@dataclass
class Simulated:
    """A Runner."""

    truth: Mapping[str, Truth]
    starves: Mapping[str, Fraction] = field(default_factory=dict)
    """The part of an input's score that a system that isolates badly takes from it in any company."""
    noise: Fraction = Fraction(0)
    """The largest relative noise of a score; that of each run follows from its key."""
    fails: Mapping[str, str] = field(default_factory=dict)
    """Why a run has no result, by its key."""
    unread: Sequence[str] = ()
    """Resources that the guest does not report."""
    stop_after: int = 10**9
    """After so many runs somebody presses Ctrl-C."""
    ran: list[str] = field(default_factory=list)

    ways: int = WAYS

    def run_all(self, attempts: Iterable[MixAttemptJob]) -> Generator[tuple[MixAttemptJob, MixAnswer]]:
        for attempt in attempts:
            (attempt.folder / "serial.log").write_text(f"{attempt.job.order.key}\n")
            yield attempt, self.measured(attempt.job)

    def measured(self, job: MixJob) -> MixMeasurement | str:
        if len(self.ran) >= self.stop_after:
            raise KeyboardInterrupt
        key = job.order.key
        self.ran.append(key)
        if key in self.fails:
            return self.fails[key]
        parts = [order for order in job.order.parts if order.input != DUMMY]
        limits = {}
        if job.limit is not None:
            limits[job.limit.resource] = job.limit.fraction
        needed: dict[str, Fraction] = {}
        for order in parts:
            for name, share in self._needs(order).items():
                needed[name] = needed.get(name, Fraction(0)) + share
        granted = {
            name: min(Fraction(1), 1 / total) if total else Fraction(1) for name, total in needed.items()
        }
        measured = [self._part(order, n, granted, limits, len(parts), key) for n, order in enumerate(parts)]
        return MixMeasurement(
            window_ns=WINDOW_NS,
            parts=tuple(measured),
            use={},
            capacity={name: None if name in ("disk", "network") else unit for name, unit in UNITS.items()},
            missing=dict.fromkeys(self.unread, "the kernel has no file for it"),
        )

    def _needs(self, order: PartOrder) -> Mapping[str, Fraction]:
        return self.truth[order.input].needs

    def _part(  # noqa: PLR0917
        self,
        order: PartOrder,
        n: int,
        granted: Mapping[str, Fraction],
        limits: Mapping[str, Fraction],
        company: int,
        key: str,
    ) -> PartMeasurement:
        truth = self.truth[order.input]
        gets = {
            name: min(granted[name], limits.get(name, Fraction(1)) if n == 0 else Fraction(1))
            for name in truth.needs
        }
        lost = sum(
            (truth.weight.get(name, Fraction(0)) * (1 - part) for name, part in gets.items()), Fraction(0)
        )
        score = truth.score * (1 - lost)
        if company > 1:
            score *= 1 - self.starves.get(order.input, Fraction(0))
        score *= 1 + self.noise * _between(f"{key} {order.name}")
        use = {
            name: None
            if name in self.unread
            else int(truth.needs.get(name, Fraction(0)) * gets.get(name, 1) * unit)
            for name, unit in UNITS.items()
        }
        return PartMeasurement(order.name, score, 3, use)


def runs_of(study: Study, system: Simulated, *mixes: Counts) -> dict[str, StudyRun]:
    """Everything that a study measures, and these mixes, without a folder."""
    made = {order.key: _done(system, MixJob(order, study)) for order in study_orders.alone(study)}
    result = {vector.input.name: vector for vector in vectors.compute(study, made)}
    for order in study_orders.limited(study):
        name = order.parts[0].input
        if order.limit and uses_enough(study, result[name], order.limit.resource):
            limit = amount(order.limit, result[name], [*alone(study, made, name).values()], WAYS)
            assert not isinstance(limit, str)
            made[order.key] = _done(system, MixJob(order, study, limit))
    for order in (
        *study_orders.pressed(study),
        *study_orders.of_mixes(study, mixes),
        *study_orders.swept(study),
    ):
        made[order.key] = _done(system, MixJob(order, study))
    return made


def _done(system: Simulated, job: MixJob) -> StudyRun:
    result = system.measured(job)
    fraction = None if job.limit is None else job.limit.fraction
    where = f"runs/{job.order.key}/1"
    return (
        StudyRun(None, result, fraction, where)
        if isinstance(result, str)
        else StudyRun(result, "", fraction, where)
    )


def study(text: str = "") -> Study:
    return studyfile.parse(text or STUDY, Path("study.yaml"))


def _between(text: str) -> Fraction:
    """A number from -1 to 1, the same for equal texts."""
    digest = hashlib.sha256(text.encode()).digest()
    return Fraction(int.from_bytes(digest[:4]), 2**31) - 1


def shares(**of: str) -> dict[str, Fraction]:
    return {name: Fraction(word) for name, word in of.items()}


STUDY = """\
name: simulated
about: three applications whose truth is known
cpus: 2
machine: desktop8
seeds: 3
calibrate: {disk: writer.large, network: writer.large}
applications:
  prime:
    workload: primes
    inputs:
      small: {workers: 1, hi: 20000}
      large: {workers: 2, hi: 20000}
  writer:
    workload: checksum
    inputs:
      large: {workers: 1}
  walker:
    workload: stencil
    inputs:
      small: {workers: 1}
scaling: prime
sweep: {input: prime.small, cpus: [1], beside: walker.small, beside_cpus: 1}
overcommit: [1, 1.5]
near: 3
"""
TRUTH = {
    "prime.small": Truth(Fraction(100), shares(cpu="0.25", memory="0.02"), shares(cpu="1", memory="0.2")),
    "prime.large": Truth(Fraction(200), shares(cpu="0.5", memory="0.04"), shares(cpu="1", memory="0.2")),
    "writer.large": Truth(
        Fraction(30),
        shares(cpu="0.1", disk="1", network="1", memory="0.1"),
        shares(disk="0.8", cpu="0.1", memory="0.3"),
    ),
    "walker.small": Truth(
        Fraction(50),
        shares(cpu="0.2", cache="0.75", bandwidth="0.4", memory="0.2"),
        shares(cpu="0.5", cache="0.6", bandwidth="0.7", memory="0.1"),
    ),
}
