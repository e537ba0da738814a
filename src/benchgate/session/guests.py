"""What a session starts: its images, the request for each run, smokes, and guests for a user's own tests.

Takes the options and the QEMUs that `Machines` has chosen; gives images, run requests and running guests. It
keeps no results. Fails with FetchError or BuildError if an image cannot be made, with HostError if no QEMU is
prepared for the lane, and with UsageError for a boot that this session cannot make.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchgate.base.cells import Lane
from benchgate.base.clocks import Clock
from benchgate.base.errors import UsageError
from benchgate.base.identity import nonce_of, nonce_of_attempt, nonce_of_seed
from benchgate.base.runs import BootSpec, Image
from benchgate.base.systems import Kind
from benchgate.build import images
from benchgate.build.images import Images, guest_digest
from benchgate.evidence.session_folder import RunFolder
from benchgate.insn.records import NO_RECORDS, Records
from benchgate.plan.ground import of_kinds, wall_lane
from benchgate.plan.options import Options
from benchgate.plan.planned import Ground, PlannedCell
from benchgate.plan.seats import reseated
from benchgate.run import argv, guest, perf, ports, smoke
from benchgate.run.attempt import RunRequest
from benchgate.run.record import clock_log
from benchgate.run.watch import watch_for
from benchgate.session import recordings
from benchgate.session.machines import Machines
from benchgate.session.sweep import PlannedRun


def require_counts(cells: Collection[PlannedCell]) -> None:
    """BuildError if a system has a guest for each CPU count, and a file of one is missing."""
    counts: dict[str, set[int]] = {}
    systems = {one.system.name: one.system for one in cells}
    for one in cells:
        counts.setdefault(one.system.name, set()).add(one.cell.cpus)
    for name, system in systems.items():
        images.require_counts(system, counts[name])


@dataclass(frozen=True, slots=True)
class Guests:
    options: Options
    machines: Machines
    images: Images

    def image(self, planned: PlannedCell) -> Image:
        return self.images.of(planned.booted, planned.workload)

    def check(self, planned: PlannedCell) -> None:
        """BuildError if a file of the image has changed since it was made."""
        self.images.check(planned.booted, planned.workload)

    def symbols(self, planned: PlannedCell) -> Path | None:
        return self.images.symbols(planned.booted, planned.workload)

    def all_symbols(self, planned: PlannedCell) -> tuple[Path | None, Path | None]:
        """The files with the symbols of the kernel and of the workload's program, for a profile."""
        system, workload, qemu = planned.booted, planned.workload, self.machines.vm(planned).qemu
        kernel = recordings.kernel_symbols(self.images, qemu, system, workload)
        return kernel, self.images.program(system, workload)

    def request(self, attempt: PlannedRun, place: RunFolder, records: Records = NO_RECORDS) -> RunRequest:
        planned, nonce = attempt.planned, self._nonce(attempt, place)
        spec = self._spec(planned, nonce, log=clock_log(place.folder), seed=attempt.seed, records=records)
        return RunRequest(
            cell=planned.cell,
            spec=spec,
            folder=place.folder,
            nonce=nonce,
            attempt=place.run,
            order=attempt.order,
            seed=attempt.seed,
            placement=planned.seats.placement,
            warmup=attempt.warmup,
            guest_digest=guest_digest(self.image(planned)),
            script=argv.script(planned, nonce, spec.ports),
            watch=watch_for(planned.system),
        )

    def smoke(self, planned: PlannedCell, append: str, folder: Path) -> RunRequest:
        """Of a system's smokes, with this kernel command line; the folder is to keep what they print."""
        image, nonce, vm = self.image(planned), secrets.token_hex(8), self.machines.vm(planned)
        log, hosts = clock_log(folder), ports.choose(planned.system.ports)
        spec = argv.guest_spec(planned, image, vm, nonce, log=log, words=append, ports=hosts)
        return smoke.request(planned, spec, folder, guest_digest=guest_digest(image), nonce=nonce)

    def profile(self, planned: PlannedCell, folder: Path) -> perf.PerfRecording:
        """Boots once more, under perf."""
        mark = secrets.token_hex(8)
        spec = self._spec(planned, mark, log=clock_log(folder))
        return perf.record(spec, folder, mark=mark, watch=watch_for(planned.system))

    def _spec(
        self, planned: PlannedCell, nonce: str, *, log: Path, seed: int = 0, records: Records = NO_RECORDS
    ) -> BootSpec:
        image, measure = self.image(planned), self.options.measure
        if planned.system.kind is Kind.NATIVE:
            return argv.native_spec(planned, image, nonce, measure=measure)
        vm, hosts = self.machines.vm(planned), ports.choose(planned.system.ports)
        return argv.guest_spec(
            planned,
            image,
            vm,
            nonce,
            log=log,
            seed=seed,
            measure=measure,
            records=records,
            ports=hosts,
        )

    def _nonce(self, attempt: PlannedRun, place: RunFolder) -> str:
        """As judge/binding.py expects it. The session's folder has its id as name."""
        if attempt.planned.seats.lane is Lane.INSN:
            return nonce_of_seed(self.options.order_seed, attempt.planned.cell, attempt.seed)
        return nonce_of_attempt(place.folder.parents[1].name, place.run)

    # ---- boots for a user's own tests

    def seated(self, planned: PlannedCell, cpus: int, clock: Clock, ground: Ground) -> PlannedCell:
        """The seats of a user's own boot with this many CPUs."""
        if clock is Clock.INSN:
            if not self.machines.has_lane(planned, Lane.INSN):
                raise UsageError(
                    'boot(clock="insn"): this session does not use the instruction clock; '
                    "add --clock insn or --clock both"
                )
            lane = Lane.INSN
        else:
            lane = wall_lane(self.machines.accelerator(planned.system))
            planned = replace(planned, system=planned.system.on_ideal)
        return reseated(planned, cpus, replace(ground, lanes=of_kinds(clock, lane)), self.options)

    @contextmanager
    def interactive(self, seated: PlannedCell) -> Iterator[guest.RunningGuest]:
        """A running guest, pinned, with its console as pexpect; it ends with the block. On the instruction
        clock every boot of a cell has the same nonce, so that it repeats."""
        if seated.system.kind is Kind.NATIVE:
            raise UsageError(f"{seated.cell.row}: native Linux cannot be booted; name a QEMU system")
        timed = seated.seats.lane is Lane.INSN
        nonce = nonce_of(f"boot {seated.cell.id}") if timed else secrets.token_hex(8)
        vm = self.machines.vm(seated) if timed else self.machines.untimed(seated)
        with TemporaryDirectory(prefix="benchgate-boot-") as name:
            spec = argv.guest_spec(
                seated,
                self.image(seated),
                vm,
                nonce,
                log=clock_log(Path(name)),
                measure=self.options.measure,
                talks=timed,
                ports=ports.choose(seated.system.ports),
            )
            with guest.boot_interactive(spec, mark=nonce, folder=Path(name)) as running:
                yield running
