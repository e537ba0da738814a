"""A simulated guest with one known race, as a Maker of explorations.

Each vCPU executes one instruction in each ns. vCPU 1 reads at instruction READ and writes at WRITE; vCPU 0
writes at OTHER. The guest fails if vCPU 0's write falls between both, by the guest's time. Without a stall it
does not. So what is left of a find is one stall of vCPU 1, after READ and not after WRITE, which is long
enough for OTHER.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchgate.base import exploration
from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.exploration import StallPoint, Strategy
from benchgate.base.runs import Ending
from benchgate.features.explore.session.loop import ExplorationBench, ExplorationJob, MakerResult, Open
from benchgate.features.explore.session.rows import RowSelection
from benchgate.features.explore.trouble import RunObservation
from benchgate.insn.explore_log import Delay
from benchgate.insn.symbols import Symbols, sorted_symbols
from benchgate.plan import catalog
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.plan.workloadfile import fill
from benchgate.run.record import clock_log, save
from tests.unit.factories import raw_run

READ, WRITE, OTHER = 500, 700, 900
INSTRUCTIONS = 2000
STALLS = 6
"""Each strategy stalls a run so many times."""
LENGTHS = (10, 2000)
BASES = (0x1000, 0x8000)
PARK, UNPARK = "park", "unpark"


def planned(cpus: int = 2) -> PlannedCell:
    system, workload = catalog.load_system("kernel"), catalog.load_workload("primes")
    values, _ = fill(workload, {})
    of = Cell(system.name, workload.name, workload.mode, values, cpus)
    return PlannedCell(of, system, workload, Seats(Lane.INSN, Placement.VIRTUAL, ()))


def points_of(job: ExplorationJob) -> tuple[StallPoint, ...]:
    if job.exploration.strategy is Strategy.POINTS:
        return job.exploration.points
    rng = random.Random(f"{job.exploration.strategy} {job.exploration.seed}")
    if job.exploration.strategy is Strategy.PLACE:  # each instruction is executed once
        chosen = [pc for pc in job.exploration.places if not rng.randrange(job.exploration.one_in)]
        lengths = job.exploration.shortest_ns, job.exploration.longest_ns
        return tuple(
            sorted(StallPoint(pc >= BASES[1], pc % BASES[0], rng.randint(*lengths)) for pc in chosen)
        )
    result = {(rng.randrange(2), rng.randrange(INSTRUCTIONS)): rng.randint(*LENGTHS) for _ in range(STALLS)}
    return tuple(sorted(StallPoint(vcpu, at, ns) for (vcpu, at), ns in result.items()))


def time_of(points: Sequence[StallPoint], vcpu: int, instruction: int) -> int:
    """The time when the vCPU executes an instruction: stalls before it, and at it, come first."""
    return instruction + sum(
        point.ns for point in points if point.vcpu == vcpu and point.instruction <= instruction
    )


def fails(points: Sequence[StallPoint]) -> bool:
    return time_of(points, 1, READ) < time_of(points, 0, OTHER) < time_of(points, 1, WRITE)


def log_of(points: Sequence[StallPoint]) -> tuple[Delay, ...]:
    """A stall begins when its instruction would be executed without it."""
    delays = []
    for point in points:
        if point.instruction < INSTRUCTIONS:
            time = time_of(points, point.vcpu, point.instruction) - point.ns
            delays.append(
                Delay(point.vcpu, point.instruction, point.ns, time, BASES[point.vcpu] + point.instruction)
            )
    return tuple(sorted(delays, key=lambda delay: (delay.time, delay.vcpu, delay.instruction, -delay.ns)))


@dataclass
class Simulated:
    """A Maker."""

    ending: Ending = Ending.PANIC
    always: bool = False
    """It fails in each run."""
    unstalled: bool = False
    """No stall of a strategy falls into a run."""
    stop_after: int = 10**9
    """After so many runs somebody presses Ctrl-C."""
    ran: list[ExplorationJob] = field(default_factory=list)

    def at_once(self, planned: PlannedCell) -> int:
        assert planned.cell.cpus
        return 2

    def at(self, planned: PlannedCell, cpus: int) -> PlannedCell | None:
        return replace(planned, cell=replace(planned.cell, cpus=cpus)) if cpus >= 2 else None

    def symbols(self, planned: PlannedCell) -> Sequence[Symbols]:
        assert planned.cell.cpus
        size = INSTRUCTIONS
        return [sorted_symbols([(BASES[0], size, UNPARK), (BASES[1], size, PARK)])]

    def make(self, jobs: Iterable[ExplorationJob], at_once: int) -> Generator[MakerResult, None, None]:
        assert at_once > 0
        for job in jobs:
            if len(self.ran) >= self.stop_after:
                raise KeyboardInterrupt
            self.ran.append(job)
            raw = raw_run(job.planned.cell, lane=Lane.INSN, folder=job.folder)
            save(replace(raw, exploration=job.exploration, clock_log=clock_log(job.folder)))
            (job.folder / exploration.FILE).write_text(job.exploration.text)
            (job.folder / "serial.log").write_text("tern: ready\n")
            yield MakerResult(self.read(job), 0.5)

    def read(self, job: ExplorationJob) -> RunObservation:
        points = () if self.unstalled else points_of(job)
        log = log_of(points)
        bad = self.always or fails(points)
        end = max(time_of(points, vcpu, INSTRUCTIONS) for vcpu in (0, 1))
        return RunObservation(
            self.ending if bad else Ending.DONE,
            "the guest panicked: panic: cpu=1 why=assert" if bad else "",
            work_ns=None if bad else end,
            end_ns=end,
            steps=len(job.exploration.places) or INSTRUCTIONS,
            stalls=log,
            all_stalls=len(log),
            delayed_ns=sum(point.ns for point in points),
            last_lines=("tern: ready", "panic: cpu=1 why=assert") if bad else ("tern: ready",),
            places=("unpark+0x10", "park+0x20"),
        )


def opener(maker: Simulated, cells: Sequence[PlannedCell] = (), **facts: Any) -> Open:
    @contextmanager
    def opening(_: RowSelection) -> Iterator[ExplorationBench]:
        yield ExplorationBench(tuple(cells) or (planned(),), maker, {"inputs": {"qemu": "1"}, **facts})

    return opening


def folder_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
