"""Makes the runs of an exploration in guests on the instruction clock, and judges each.

Takes options and planned cells; gives a `Maker`, open for as long as it explores. The guests are built once.
Opening fails with HostError, FetchError, BuildError or UsageError; what goes wrong in a guest is part of its
result, but a QEMU that runs no guest is none: BootError. No lock is taken: runs in serial mode do not
influence each other.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchgate.base.cells import Window
from benchgate.base.console_text import plain
from benchgate.base.errors import BootError, HostError, OracleError, UnusedCpuError, UsageError, VerifyError
from benchgate.base.identity import nonce_of_seed
from benchgate.base.runs import Ending, RawRun, VerifiedRun
from benchgate.base.text import one_line, visible
from benchgate.build.images import guest_digest
from benchgate.evidence import provenance
from benchgate.features.explore.session.loop import ExplorationBench, ExplorationJob, MakerResult, Open
from benchgate.features.explore.session.rows import RowSelection
from benchgate.features.explore.switch import place
from benchgate.features.explore.trouble import RunObservation, settled
from benchgate.insn.log import ClockLog
from benchgate.insn.symbols import Symbols, read_symbols
from benchgate.judge import cpu_use, verify
from benchgate.judge.checks import smoke_check
from benchgate.judge.checks.balance import check_balance
from benchgate.judge.console.kernel_report import kernel_report
from benchgate.judge.oracles.oracle import ORACLES, require_loadable
from benchgate.judge.run_files import RunFiles
from benchgate.plan import catalog
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell
from benchgate.plan.seats import reseated
from benchgate.run import parallel
from benchgate.run.argv import BootOptions
from benchgate.run.attempt import RunRequest
from benchgate.run.console import ConsoleLimits
from benchgate.run.record import load
from benchgate.run.runner import LocalRunner, Runner, execute_ahead
from benchgate.session import makers
from benchgate.session.measuring_host import ThisHost
from benchgate.session.progress import Progress
from benchgate.session.workbench import Workbench, bounded

LIMITS = ConsoleLimits(halted_s=1.0)
"""A guest whose CPUs are halted for good hangs; nothing is typed at it, and it has no network."""
LAST_LINES = 6
DEADLINES = (Ending.BOOT_DEADLINE, Ending.RUN_DEADLINE)


def opened(progress: Progress, given: Mapping[str, object] = MappingProxyType({})) -> Open:
    """What opens a maker for the cells that were selected. `given`: values of features' options."""

    @contextmanager
    def opening(selected: RowSelection) -> Iterator[ExplorationBench]:
        with ExitStack() as stack:
            options = selected.options
            options = replace(options, of_features={**options.of_features, **given})
            maker = GuestMaker(options, progress, stack)
            cells = maker.open(selected.cells)
            yield ExplorationBench(cells, maker, maker.facts(cells))

    return opening


@dataclass
class GuestMaker:
    """A Maker, as long as the stack is open."""

    options: Options
    progress: Progress
    stack: ExitStack
    _began: dict[Path, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._bench = Workbench(replace(self.options, boots=1), ThisHost(), self.progress.note)
        self._symbols: dict[str, Sequence[Symbols]] = {}
        self._runner: Runner = LocalRunner()
        self.stack.callback(ORACLES.close)

    def open(self, cells: Sequence[PlannedCell]) -> tuple[PlannedCell, ...]:
        """Fetches and builds; gives the cells with the seats that they really have."""
        require_loadable(cell.workload for cell in cells)
        self._bench.prepare(cells)
        self._bench.choose()
        if not self._bench.emulators.is_exact:
            raise HostError("exploration needs the instruction clock; see `benchgate doctor`")
        planned_cells = tuple(self._seated(cell, cell.cell.cpus) for cell in cells)
        for refused in planned_cells:
            if refused.skip:
                raise UsageError(f"{refused.cell.id}: {refused.skip}")
        makers.require_makeable(self.options, planned_cells)
        self._runner = makers.maker_of(self.options, self.progress.note)
        self.stack.callback(self._runner.close)
        return planned_cells

    def _seated(self, planned: PlannedCell, cpus: int) -> PlannedCell:
        if planned.cell.is_smoke:
            return replace(planned, cell=replace(planned.cell, cpus=cpus))
        return reseated(planned, cpus, self._bench.ground, self.options)

    def facts(self, cells: Sequence[PlannedCell]) -> dict[str, Any]:
        """What a replay needs, and what must be the same for the exploration to go on."""
        digests = {cell.guest: guest_digest(self._bench.image(cell)) for cell in cells}
        systems, shipped = [cell.system for cell in cells], catalog.names("system")
        return {
            "inputs": {**self._bench.emulators.described(), "guests": digests},
            "settings": {system.name: dict(system.settings.values) for system in systems},
            "workloads": {cell.workload.name: catalog.word_of(cell.workload) for cell in cells},
            "systems": {system.name: str(system.file) for system in systems if system.name not in shipped},
            "options": {"measure": False},
            **provenance.machines(cells),
        }

    # ---- a Maker

    def at_once(self, planned: PlannedCell) -> int:
        return self._runner.slots(self._bench.at_once(planned))

    def at(self, planned: PlannedCell, cpus: int) -> PlannedCell | None:
        low, high = planned.system.cpus
        cell = self._seated(planned, cpus) if low <= cpus <= high else None
        return None if cell is None or cell.skip else cell

    def symbols(self, planned: PlannedCell) -> Sequence[Symbols]:
        key = planned.cell.row
        if key not in self._symbols:
            files = self._bench.symbols(planned)
            given = (file for file in (files.kernel, files.program) if file is not None)
            self._symbols[key] = [read_symbols(file) for file in given]
        return self._symbols[key]

    def make(self, jobs: Iterable[ExplorationJob], at_once: int) -> Generator[MakerResult, None, None]:
        taken: list[ExplorationJob] = []

        def requests() -> Iterator[parallel.AttemptJob]:
            for job in jobs:
                taken.append(job)
                yield parallel.AttemptJob(self.request(job), partial(self._phase, job))

        with closing(execute_ahead(self._runner, requests(), at_once)) as runs:
            for number, raw in runs:
                job = taken[number]
                if raw.ending is Ending.NO_START:
                    raise BootError(
                        f"{job.planned.cell.id}: no guest ran: {raw.detail} That says nothing of its "
                        "kernel; next: the same command makes the runs that are missing"
                    )
                seconds = time.monotonic() - self._began.pop(job.folder, time.monotonic())
                yield MakerResult(self._made(job, raw), seconds)

    def _phase(self, job: ExplorationJob, phase: str) -> None:
        self._began.setdefault(job.folder, time.monotonic())
        self.progress.phase(job.planned.cell.id, job.label, phase)

    def request(self, job: ExplorationJob) -> RunRequest:
        planned, number = job.planned, max(job.number, 1)
        self._bench.check(planned)
        nonce = nonce_of_seed(self.options.order_seed, planned.cell, job.seed)
        boot = BootOptions(nonce, seed=job.seed, exploration=job.exploration)
        if planned.cell.is_smoke:
            made = self._bench.smoke_request(planned, boot, job.folder, attempt=number)
        else:
            made = self._bench.request(planned, boot, job.folder, attempt=number, order=job.number)
        return bounded(made, job.deadline_ns, LIMITS)

    # ---- judging

    def read(self, job: ExplorationJob) -> RunObservation:
        return self._made(job, load(job.folder))

    def _made(self, job: ExplorationJob, raw: RawRun) -> RunObservation:
        planned, work_ns, reason, unused, used = job.planned, None, "", "", None
        files = RunFiles(raw)
        try:
            if planned.cell.is_smoke and planned.system.smoke:
                reason = smoke_check.problem(raw, planned.system, planned.system.smoke)
            else:
                run = verify.verify_files(
                    files, planned.workload, planned.system, exploration=job.exploration
                )
                work_ns, use = window_ns(run), run.cpu_work.used.get(Window.WORK)
                used = use.awake.high if use else None
                unused = cpu_use.badly_placed(files, run, planned.workload)
        except OracleError as error:
            raise HostError(f"{raw.folder.name} could not be judged: {error}") from error
        except VerifyError as error:
            reason = visible(str(error)).replace(visible(f"{raw.folder}/"), "")
            unused = reason if isinstance(error, UnusedCpuError) else ""
        lines = _lines(files)
        report = kernel_report(lines) if planned.system.boot.is_linux else ()
        last = lines[-LAST_LINES:]
        made = RunObservation(
            raw.ending, reason, work_ns, last_lines=last, report=report, unused=unused, cpus_used=used
        )
        try:
            return self._with_clock(made, planned, files.clock_log)
        except VerifyError as error:
            return made if made.reason else replace(made, reason=visible(str(error)))

    def _with_clock(self, made: RunObservation, planned: PlannedCell, log: ClockLog) -> RunObservation:
        seen = log.explored
        if seen is None:
            return made
        places = []
        if made.reason and len(seen.places) == log.vcpus:
            tables, hangs = self.symbols(planned), made.ending in DEADLINES
            looks = seen.before if hangs else {vcpu: (pc,) for vcpu, pc in seen.places.items()}
            places = [settled([place(pc, tables) for pc in looks[vcpu]]) for vcpu in range(log.vcpus)]
        return replace(
            made,
            end_ns=log.end,
            steps=seen.steps,
            stalls=seen.delays,
            all_stalls=(seen.made or len(seen.delays) + 1) if seen.full else len(seen.delays),
            delayed_ns=sum(delay.ns for delay in seen.delays),
            unbalanced=unbalanced(log),
            places=tuple(places),
            typed_ns=log.inputs[0].time if log.inputs else None,
        )


def window_ns(run: VerifiedRun) -> int | None:
    """The window, if its unit is guest time: between marks, between lines, or a figure that the clock agreed
    with. None: the guest counts something else."""
    return run.work if run.unit in (verify.INSN_UNIT, "ns") else None


def unbalanced(log: ClockLog) -> str:
    """Checks the books of a clock that came to its end; a guest that was killed leaves none."""
    try:
        if log.closed:
            check_balance(log)
    except VerifyError as error:
        return visible(str(error))
    return ""


def _lines(files: RunFiles) -> tuple[str, ...]:
    """The lines of its console that are not blank."""
    try:
        text = plain(files.console)
    except VerifyError:
        return ()
    return tuple(one_line(line) for line in text.split(b"\n") if line.strip())
