"""Makes the runs of a study in guests: each boots one mix.

Takes a Study; gives a MixRunner, open for as long as it measures. What a run gave is in the units of a study
(mix/measurement.py). Opening fails as MixBooter does; a run that has no result gives the reason.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from benchgate.base.snapshots import FORK, StartKind
from benchgate.base.system.machines import IDEAL, Cache, Machine
from benchgate.base.system.systems import System
from benchgate.base.text import visible
from benchgate.features.mix.guest import mix_runs
from benchgate.features.mix.measurement import MixMeasurement, PartMeasurement
from benchgate.features.mix.session.booter import MixAttempt, MixBooter
from benchgate.features.mix.session.measure import MixAnswer, MixAttemptJob, MixJob, MixRunner, VoidMixRun
from benchgate.features.mix.study import DUMMY, PRESSED, RATE, Study
from benchgate.features.mix.study_orders import PartOrder, input_of
from benchgate.features.mix.vectors import MILLIONTHS, Amount
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.run.parallel import AttemptJob

_PART = re.compile(r"part ([^ ]+): ")
NO_MACHINE = "only the instruction clock with a machine that has a memory system tells it: name a `machine`"


@contextmanager
def opened(study: Study, *, forks: bool = False) -> Iterator[MixRunner]:
    """With `forks` runs that start warm are forks where they can be."""
    start = FORK if forks else StartKind.COLD  # the study's system says whether it starts warm
    machine_word = study.machine or IDEAL
    options = replace(
        Options(), systems=(study.system,), clock=study.clock, machine=machine_word, start=start
    )
    system = catalog.load_system(study.system)
    machine = catalog.memory_machine(study.machine) if study.machine else None
    with MixBooter(options, _notice) as booter:
        booter.require_oracles(catalog.load_workload(study_input.workload) for study_input in study.inputs)
        yield GuestRunner(booter, system, machine, study.cpus)


@dataclass(frozen=True, slots=True)
class GuestRunner:
    booter: MixBooter
    system: System
    machine: Machine | None
    cpus: int

    @property
    def ways(self) -> int | None:
        return ways_of(self.machine)

    def run_all(self, attempts: Iterable[MixAttemptJob]) -> Generator[tuple[MixAttemptJob, MixAnswer]]:
        refused: list[tuple[MixAttemptJob, str]] = []
        begun: list[tuple[MixAttemptJob, mix_runs.Mix]] = []

        def requests() -> Iterator[AttemptJob]:
            for asked in attempts:
                mix = self._mix(asked.job)
                if isinstance(mix, str):
                    refused.append((asked, mix))
                    continue
                begun.append((asked, mix))
                request = self.booter.request(mix, asked.folder, seed=asked.job.order.seed)
                yield AttemptJob(request, lambda _: None)

        at_once, runner = self.booter.at_once(self._usual), self.booter.runner
        with closing(runner.execute_all(requests(), at_once)) as results:
            for index, raw in results:  # a run that was interrupted has none, and a later one may have one
                while refused:
                    yield refused.pop(0)
                asked, mix = begun[index]
                yield asked, self._answer(self.booter.judged(raw, mix), asked.job.study)
        yield from refused

    @property
    def _usual(self) -> mix_runs.Mix:
        """One that needs as much of the host as any of the study."""
        system = self.system if self.machine is None else self.system.on(self.machine)
        return mix_runs.Mix(system, self.cpus, (mix_runs.Part(DUMMY, None),))

    def _mix(self, job: MixJob) -> mix_runs.Mix | str:
        """The reason if a part needs what the system lacks."""
        machine = None if self.machine is None else limited_machine(self.machine, job.limit)
        system = self.system if machine is None else self.system.on(machine)
        try:
            return mix_of(job, system)
        except ValueError as error:
            return with_place(str(error), job.study)

    def _answer(self, attempt: MixAttempt, study: Study) -> MixAnswer:
        if attempt.run is None:
            return with_place(attempt.reason, study)
        if attempt.run.void:
            return VoidMixRun(attempt.run.void)
        return measured(attempt.run, self.machine, study)


def ways_of(machine: Machine | None) -> int | None:
    """Gives what `MixRunner.ways` describes."""
    if machine is None:
        return None
    return machine.l3.ways if machine.l3 else 0


def with_place(reason: str, study: Study) -> str:
    """Puts before the reason the file and line of the input whose part it is about."""
    part = _PART.match(reason)
    result = [one.where for one in study.inputs if part and one.name == input_of(part[1])]
    return f"{result[0]}: {reason}" if result else reason


def mix_of(job: MixJob, system: System) -> mix_runs.Mix:
    parts = tuple(
        _part(part, job.study, limits_of(job.limit) if n == 0 else mix_runs.PartLimits())
        for n, part in enumerate(job.order.parts)
    )
    runs = mix_runs.COLD_RUNS + job.study.least
    return mix_runs.Mix(system, job.study.cpus, parts, runs, job.study.limit_ms)


def limits_of(limit: Amount | None) -> mix_runs.PartLimits:
    """Limits the part; cache and bandwidth are limited in the machine instead."""
    if limit is None:
        return mix_runs.PartLimits()
    # What a part used is both directions together, and each has a limit of its own.
    half = max(1, limit.amount // 2)
    named = {
        "cpu": mix_runs.PartLimits(cpu_ppm=limit.amount),
        "memory": mix_runs.PartLimits(memory_bytes=limit.amount),
        "disk": mix_runs.PartLimits(disk_bytes_per_s=half),
        "network": mix_runs.PartLimits(network_bytes_per_s=half),
    }
    return named.get(limit.resource, mix_runs.PartLimits())


def limited_machine(machine: Machine, limit: Amount | None) -> Machine:
    """The machine with fewer ways of the shared cache, or with less bandwidth of memory."""
    if limit is not None and limit.resource == "cache" and machine.l3 is not None:
        whole = machine.l3
        less = Cache(whole.size // whole.ways * limit.amount, limit.amount, whole.latency_ns)
        return replace(machine, l3=less)
    if limit is not None and limit.resource == "bandwidth":
        return replace(machine, bandwidth_gb_s=machine.bandwidth_gb_s * limit.amount / MILLIONTHS)
    return machine


def measured(run: mix_runs.MixRun, machine: Machine | None, study: Study) -> MixMeasurement:
    units = {one.name: one.units for one in study.inputs if one.units is not None}
    scores = {part.name: part.score * units.get(input_of(part.name), 1) for part in run.parts}
    parts = tuple(
        PartMeasurement(part.name, scores[part.name], part.runs, _use(part.use), part.starved)
        for part in run.parts
        if input_of(part.name) != DUMMY
    )
    return MixMeasurement(
        window_ns=run.window_ns,
        parts=parts,
        use={"cache": run.use.get(mix_runs.CACHE), "bandwidth": run.use.get(mix_runs.MOVED)},
        capacity={
            "cpu": run.window_ns * run.cpus,
            "memory": run.memory_bytes,
            "cache": run.cache_bytes if machine is None else machine.shared_bytes(run.cpus),
            "bandwidth": _movable_bytes(machine, run.window_ns),
        },
        missing=_missing(run, machine),
    )


def _part(order: PartOrder, study: Study, limits: mix_runs.PartLimits) -> mix_runs.Part:
    if order.input == DUMMY:
        return mix_runs.Part(order.name, None)
    of = study.input_named(order.input)
    return mix_runs.Part(
        name=order.name,
        workload=catalog.load_workload(of.workload),
        params=of.params,
        workers=order.workers or of.workers,
        limits=limits,
        cpus=order.cpus,
        score="" if of.score == RATE else of.score,
    )


def _use(found: Mapping[str, int | None]) -> Mapping[str, int | None]:
    read, written = found.get(mix_runs.READ), found.get(mix_runs.WRITTEN)
    return {
        "cpu": found.get(mix_runs.CPU),
        "memory": found.get(mix_runs.MEMORY),
        "disk": None if read is None or written is None else read + written,
        "network": found.get(mix_runs.NETWORK),
    }


def _movable_bytes(machine: Machine | None, window_ns: int) -> int | None:
    """What the memory of all nodes can move in the window: one GB/s is a byte per ns."""
    if machine is None or not machine.bandwidth_gb_s:
        return None
    return round(window_ns * machine.bandwidth_gb_s * len(machine.nodes))


_SOURCES = {
    "cpu": (mix_runs.CPU,),
    "memory": (mix_runs.MEMORY,),
    "disk": (mix_runs.READ, mix_runs.WRITTEN),
    "network": (mix_runs.NETWORK,),
    "cache": (mix_runs.CACHE,),
    "bandwidth": (mix_runs.MOVED,),
}


def _missing(run: mix_runs.MixRun, machine: Machine | None) -> Mapping[str, str]:
    """Gives the reasons by resource; MixRun has them by what is counted."""
    result = {}
    for resource, keys in _SOURCES.items():
        reasons = [run.missing[key] for key in keys if key in run.missing]
        if reasons:
            result[resource] = reasons[0]
        elif machine is None and resource in PRESSED and run.use.get(keys[0]) is None:
            result[resource] = NO_MACHINE
    return result


def _notice(text: str) -> None:
    sys.stderr.write(f"benchgate: {visible(text)}\n")
