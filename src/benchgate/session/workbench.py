"""What boots of guests need: opened QEMUs, images, the host's ground and ports, and the builder of requests.

Takes the options, the host and who is told of what is fetched; gives images, seats, run requests and running
guests. It keeps no results. Fails with FetchError or BuildError if an image cannot be made, with HostError if
no QEMU is prepared for the lane or if another program uses a port that a system's YAML asks for (it is named,
and never killed), and with UsageError for a boot that these options cannot make.
"""

from __future__ import annotations

import errno
import secrets
import socket
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from benchgate.base.cells import Lane
from benchgate.base.clocks import Clock
from benchgate.base.errors import BuildError, FetchError, HostError, UsageError, VerifyError
from benchgate.base.identity import nonce_of
from benchgate.base.runs import BootSpec, Image
from benchgate.base.system.qemu import Port, Qemu
from benchgate.base.system.systems import System, SystemKind
from benchgate.base.text import one_line
from benchgate.base.workload.workloads import Workload
from benchgate.build import images
from benchgate.build.cache_storage import Notice
from benchgate.build.images import Images, guest_digest
from benchgate.host import capacity
from benchgate.insn.kallsyms import linux_symbols
from benchgate.insn.observe.program import with_operations, with_program
from benchgate.insn.observe.resolve import observe_file
from benchgate.plan.options import Options
from benchgate.plan.planned import Ground, PlannedCell
from benchgate.plan.seats import ground_of, lanes_of_kinds, reseated, wall_lane
from benchgate.run import argv, guest, smoke
from benchgate.run.argv import BootOptions, VmConfig
from benchgate.run.attempt import RunRequest
from benchgate.run.console import ConsoleLimits
from benchgate.run.record import clock_log
from benchgate.run.watch import watch_for
from benchgate.session.emulators import Emulators
from benchgate.session.measuring_host import MeasuringHost
from benchgate.session.warm_starts import WarmStarts


@dataclass(frozen=True, slots=True)
class SymbolFiles:
    """The files with the symbols of a guest's kernel and of its workload's program."""

    kernel: Path | None
    program: Path | None


class Workbench:
    """Call `prepare` and `choose` before the first request."""

    def __init__(self, options: Options, host: MeasuringHost, notice: Notice) -> None:
        self.options, self.host = options, host
        self.emulators = Emulators(options, host, notice)
        self.images = Images(options.locked, notice)
        self.warm = WarmStarts(notice, options.boots)

    def prepare(self, cells: Collection[PlannedCell]) -> None:
        """Fetches QEMUs and builds images. It needs no lock."""
        require_counts(cells)
        self.emulators.fetch(cell.system for cell in cells)
        self.emulators.check(cells)
        for cell in cells:
            self.image(cell)

    def choose(self) -> None:
        """Decides how guests run. Where this may be wall time, the caller holds the measuring lock."""
        self.emulators.choose(self.ground.pins)

    @property
    def ground(self) -> Ground:
        """The host's CPUs, and the lanes: those that are expected, until they are chosen."""
        chosen = self.emulators
        why_not = chosen.no_insn, chosen.no_machine
        return ground_of(self.host.topology, self.options, chosen.lanes, *why_not)

    def at_once(self, planned: PlannedCell) -> int:
        """How many guests of this cell the host's memory and CPUs can hold."""
        system = planned.system
        line = system.memory_machine.line if system.memory_machine else 0
        return capacity.guests_at_once(system.qemu.memory, planned.seats.host_cpus, line)

    # ---- images

    def image(self, planned: PlannedCell) -> Image:
        return self.images.of(planned.booted, planned.workload)

    def check(self, planned: PlannedCell) -> None:
        """BuildError if a file of the image has changed since it was made."""
        self.images.check(planned.booted, planned.workload)

    def symbols(self, planned: PlannedCell, kernel: Path | None = None) -> SymbolFiles:
        """`kernel` is the file that the user names; None: it is found."""
        system, workload, qemu = planned.booted, planned.workload, self.emulators.vm(planned).qemu
        kernel = kernel or kernel_symbols(self.images, qemu, system, workload)
        return SymbolFiles(kernel, self.images.program(system, workload))

    def observed(self, planned: PlannedCell, *, threads: bool = True) -> str:
        """How the clock sees the threads of this cell's guest, for the plugin; without `threads`: what it
        counts of the kernel's functions. VerifyError: why not."""
        observation, kernel = planned.observe, self.image(planned).kernel
        what = f"the {'threads' if threads else 'events'} of {planned.system.name} cannot be seen"
        if observation is None or not (observation.sees_threads if threads else observation.hooks):
            raise VerifyError(f"{what}: it does not say how (`observe` in its YAML)")
        if kernel is None:
            raise VerifyError(f"{what}: it boots no kernel file")
        try:
            files = self.symbols(planned)
            text = observe_file(observation, kernel, files.kernel or kernel, threads=threads)
            return completed(text, planned, files.program)
        except (VerifyError, BuildError, FetchError) as error:
            raise VerifyError(f"{what}: {error}") from error

    # ---- requests

    def request(  # noqa: PLR0913 - keyword arguments
        self,
        planned: PlannedCell,
        boot: BootOptions,
        folder: Path,
        *,
        image: Image | None = None,
        attempt: int = 1,
        order: int = 0,
        warmup: bool = False,
    ) -> RunRequest:
        """Asks for a run in this folder, which gets the clock's log. `image` None is the cell's own."""
        image = image or self.image(planned)
        boot = replace(boot, log=clock_log(folder), ports=choose_ports(planned.system.ports))
        spec = self._spec(planned, image, boot)
        return RunRequest(
            cell=planned.cell,
            spec=spec,
            folder=folder,
            nonce=boot.nonce,
            attempt=attempt,
            order=order,
            seed=boot.seed,
            placement=planned.seats.placement,
            warmup=warmup,
            guest_digest=guest_digest(image),
            script=argv.script(planned, boot.nonce, spec.ports) if boot.words is None else None,
            watch=watch_for(planned.system),
        )

    def smoke_request(
        self, planned: PlannedCell, boot: BootOptions, folder: Path, *, attempt: int = 1
    ) -> RunRequest:
        """The smokes of the cell's system at its CPU count, whatever its workload. A boot has them."""
        planned = replace(planned, system=planned.system.cold)
        boot = replace(boot, words=smoke.smoke_of(planned.system).append)
        return smoke.as_smoke(self.request(planned, boot, folder, attempt=attempt), planned.system)

    def _spec(self, planned: PlannedCell, image: Image, boot: BootOptions) -> BootSpec:
        if planned.system.kind is SystemKind.NATIVE:
            return argv.native_spec(planned, image, boot.nonce, measure=boot.measure)
        vm = self.emulators.vm(planned)
        return argv.guest_spec(planned, image, vm, self._started(planned, image, vm, boot))

    def _started(self, planned: PlannedCell, image: Image, vm: VmConfig, boot: BootOptions) -> BootOptions:
        """Adds the snapshot of a cell that starts warm."""
        if not planned.starts_warm or planned.seats.lane is not Lane.INSN:
            return boot
        seed = self.warm.boot_of(boot.seed) if boot.boot is None else boot.boot
        return replace(boot, start=self.warm.of(planned, image, vm, seed))

    # ---- boots for a user's own tests

    def seated(self, planned: PlannedCell, cpus: int, clock: Clock) -> PlannedCell:
        """The seats of a user's own boot with this many CPUs."""
        if clock is Clock.INSN:
            if not self.emulators.has_lane(planned, Lane.INSN):
                why = "this session does not use the instruction clock; add --clock insn or --clock both"
                raise UsageError(f'boot(clock="insn"): {why}')
            lane = Lane.INSN
        else:
            lane = wall_lane(self.emulators.accelerator(planned.system))
            planned = replace(planned, system=planned.system.on_ideal.cold)
        return reseated(planned, cpus, replace(self.ground, lanes=lanes_of_kinds(clock, lane)), self.options)

    @contextmanager
    def interactive(self, seated: PlannedCell) -> Iterator[guest.RunningGuest]:
        """A running guest, pinned, with its console as pexpect; it ends with the block. On the instruction
        clock every boot of a cell has the same nonce, so that it repeats."""
        if seated.system.kind is SystemKind.NATIVE:
            raise UsageError(f"{seated.cell.row}: native Linux cannot be booted; name a QEMU system")
        timed = seated.seats.lane is Lane.INSN
        nonce = nonce_of(f"boot {seated.cell.id}") if timed else secrets.token_hex(8)
        vm = self.emulators.vm(seated) if timed else self.emulators.untimed(seated)
        with TemporaryDirectory(prefix="benchgate-boot-") as name:
            log, ports = clock_log(Path(name)), choose_ports(seated.system.ports)
            boot = BootOptions(nonce, log=log, measure=self.options.measure, talks=timed, ports=ports)
            image = self.image(seated)
            spec = argv.guest_spec(seated, image, vm, self._started(seated, image, vm, boot))
            with guest.boot_interactive(spec, mark=nonce, folder=Path(name)) as running:
                yield running


def completed(text: str, planned: PlannedCell, program: Path | None) -> str:
    """What the clock sees of this kernel, with what this cell's workload asks for."""
    calls = planned.observe.calls if planned.observe else {}
    if program:
        text = with_program(text, program, planned.functions, accesses=planned.counts_accesses)
    return with_operations(text, planned.operations, calls, program)


def require_counts(cells: Collection[PlannedCell]) -> None:
    """BuildError if a system has a guest for each CPU count, and a file of one is missing."""
    for name, system in {cell.system.name: cell.system for cell in cells}.items():
        images.require_counts(system, {cell.cell.cpus for cell in cells if cell.system.name == name})


def bounded(made: RunRequest, deadline_ns: int | None, limits: ConsoleLimits) -> RunRequest:
    """The run may take at most this guest time; None: what its system's YAML says."""
    deadlines = made.spec.deadlines.at_most(deadline_ns)
    return replace(made, spec=replace(made.spec, deadlines=deadlines), limits=limits)


def kernel_symbols(images: Images, qemu: Qemu, system: System, workload: Workload) -> Path | None:
    """The file with the kernel's symbols: the kernel itself, except for a distribution's Linux."""
    kernel = images.of(system, workload).kernel
    return linux_symbols(qemu, kernel) if kernel and system.boot.is_linux else kernel


def choose_ports(ports: Mapping[str, Port]) -> dict[str, int]:
    """Chooses the ports. All are held until the last one is chosen, so that no two are equal."""
    with ExitStack() as held:
        return {name: _free_port(name, port, held) for name, port in ports.items()}


def _free_port(name: str, port: Port, held: ExitStack) -> int:
    listener = held.enter_context(socket.socket())
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as QEMU does
    try:
        listener.bind(("127.0.0.1", port.host))
    except OSError as error:
        if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
            raise
        why = "needs more rights"
        if error.errno == errno.EADDRINUSE:
            why = f"is used by {_port_user(port.host)}"
        advice = "end that program, or leave out `host` so that a free port is taken"
        raise HostError(f"host port {port.host} (`ports.{name}`) {why}; {advice}") from error
    return int(listener.getsockname()[1])


def _port_user(port: int) -> str:
    with suppress(psutil.Error):
        for used in psutil.net_connections("tcp"):
            if used.laddr and used.laddr.port == port and used.pid is not None:
                return f"{one_line(psutil.Process(used.pid).name(), 60)} (process {used.pid})"
    return "a process that this user may not see"
