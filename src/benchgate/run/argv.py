"""Makes the command line that runs a planned cell, and its deadlines. Pure.

Takes a `PlannedCell`, an `Image` and the session's QEMU settings; gives a `BootSpec`. Fails with UsageError
if the instruction clock is not prepared or if the image has no program for a native system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from benchgate.base import exploration as exploring
from benchgate.base import snapshots
from benchgate.base.cells import Accel, Cell, Lane
from benchgate.base.errors import UsageError
from benchgate.base.exploration import Exploration
from benchgate.base.runs import BootSpec, Deadlines, Image, Uses
from benchgate.base.system.arch import X86_64
from benchgate.base.system.boots import NO_FIRMWARE
from benchgate.base.system.guest_topology import GuestTopology, backends_of, topology_of
from benchgate.base.system.machines import MemoryRange
from benchgate.base.system.qemu import (
    DEFAULT_MODEL,
    Qemu,
    comma_safe,
    command,
    controlled,
    disk_options,
    guest_name,
    network_options,
)
from benchgate.base.system.results import ResultFormat
from benchgate.base.system.script import Script, port_values, values_of
from benchgate.base.system.systems import AskMethod, System
from benchgate.base.text import filled
from benchgate.base.workload.workloads import GUEST_FILES
from benchgate.insn import machine_shape
from benchgate.insn.arguments import NO_RECORDS, ClockArguments, ClockRun, Records, arguments
from benchgate.insn.log import AccessOrder, TurnedClock
from benchgate.insn.machine_shape import capacities_of, shape_of
from benchgate.plan.planned import PlannedCell
from benchgate.run import end_memory

NO_CLOCK = ClockArguments((), MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class VmConfig:
    """The settings of all QEMU boots of a session."""

    qemu: Qemu
    accel: Accel
    cpu_model: str
    clock: Path | None = None
    """The plugin of the instruction clock."""


def manifest(  # noqa: PLR0913 - keyword arguments
    cell: Cell,
    nonce: str,
    *,
    needs: tuple[str, ...] = (),
    pins: tuple[int, ...] = (),
    measure: bool = False,
    files: str = "",
) -> str:
    """The words that tell the guest which workload to run (`benchgate docs wire`). An empty nonce is
    left out: each run of a part of a mix gets its own nonce in the guest."""
    own = {"workload": cell.program, "mode": cell.mode, "workers": cell.cpus, "cpus": cell.cpus}
    words = {**own, **({"nonce": nonce} if nonce else {}), **dict(cell.params)}
    more = {
        "needs": ",".join(needs),
        GUEST_FILES: files,
        "measure": int(measure),
        "pin": ",".join(map(str, pins)),
    }
    words |= {key: value for key, value in more.items() if value}
    return " ".join(f"bench.{key}={value}" for key, value in words.items())


@dataclass(frozen=True, slots=True)
class BootOptions:
    """The options that one boot of a cell has for itself."""

    nonce: str
    log: Path | None = None
    """The path at which the instruction clock writes its log, which it needs."""
    seed: int = 0
    """The seed of the instruction clock."""
    measure: bool = False
    """Whether the guest prints measure lines (`benchgate docs wire`)."""
    words: str | None = None
    """Replaces the whole kernel command line, including the workload's manifest."""
    records: Records = NO_RECORDS
    talks: bool = False
    """Whether something is typed at the console although the system's YAML does not say so."""
    ports: Mapping[str, int] = field(default_factory=dict)
    """Maps the name of each guest port to its port on the host."""
    start: snapshots.GuestSnapshot | None = None
    """The snapshot from which a system starts that starts warm."""
    boot: int | None = None
    """The boot behind such a start, by its seed; None: the one that belongs to this run's seed."""
    saves: Path | None = None
    """The folder for the memory and the caches of a guest of which a snapshot is taken."""
    exploration: Exploration | None = None
    """The exploration that stalls its vCPUs; None if none does."""
    turn: TurnedClock | None = None
    """The other rules to which its clock turns (run/moments.py); None if it does not."""
    keeps_memory: bool = False
    """Whether digests of the guest's memory are kept at its end, if it has nothing that never repeats."""

    @property
    def kept(self) -> Path | None:
        """The folder with the guest's memory and caches; None for a guest that boots and is not saved."""
        return self.saves if self.start is None else self.start.folder


def guest_spec(planned: PlannedCell, image: Image, vm: VmConfig, boot: BootOptions) -> BootSpec:
    """Makes the BootSpec of one boot of a QEMU system."""
    system, cell, lane = planned.system, planned.cell, planned.seats.lane
    warm = system.boot.start is snapshots.StartKind.WARM
    boot = replace(boot, talks=boot.talks or warm or (system.script is not None and boot.words is None))
    memory = _kept_memory(system, cell.cpus) if boot.keeps_memory else ()
    boot = replace(boot, keeps_memory=bool(memory))
    clock = _clock_arguments(planned, vm, boot) if lane is Lane.INSN else _no_clock(planned, boot)
    topology = topology_of(system, cell.cpus)
    argv = command(
        vm.qemu,
        machine=system.qemu.machine,
        cpu=_cpu(system, vm),
        console=controlled(system.qemu.console),
        memory=system.qemu.memory,
        smp=topology.smp,
        accel=vm.accel,
        kernel=image.kernel,
        initrd=image.start or image.initrd,
        append=system.boot.append if system.boot.takes_words else _append(planned, image, boot),
        extra=(
            *_start_options(system, topology, image, boot),
            *_boot_media(system, image, boot),
            *network_options(system.ports, boot.ports, system.qemu.network),
            *_with_files(topology.arguments, boot),
            *system.qemu.arguments,
            *clock.argv_extra,
        ),
        name=guest_name(boot.nonce),
        one_insn=clock.one_insn,
    )
    return BootSpec(
        argv=argv,
        environment={**vm.qemu.environment, **clock.environment},
        lane=lane,
        cpus=cell.cpus,
        pins=_pins_per_vcpu(planned),
        deadlines=deadlines(planned),
        host_cpus=planned.seats.host_cpus,
        ports=boot.ports,
        talks=boot.talks and lane is Lane.INSN,
        shape=shape_of(system, cell.cpus),
        exploration=boot.exploration,
        start=boot.start,
        words=_append(planned, image, boot) if system.boot.takes_words and not boot.saves else "",
        kept_memory=memory,
        uses=Uses(vm.qemu, vm.clock, image.files),
    )


_NO_RANDOM = ",-rdrand,-rdseed"
"""QEMU does not save where the random numbers of these instructions are."""


def _cpu(system: System, vm: VmConfig) -> str:
    model = system.qemu.cpu or vm.cpu_model
    varies = system.boot.start is snapshots.StartKind.WARM and system.arch is X86_64
    return f"{model or DEFAULT_MODEL}{_NO_RANDOM}" if varies else model


def _start_options(
    system: System, topology: GuestTopology, image: Image, boot: BootOptions
) -> tuple[str, ...]:
    """QEMU's options for a guest that starts from a snapshot, or of which one is taken: its memory is a file,
    and what it is to run comes by fw_cfg. The one that is saved has a stand-in there, so that both are one
    machine."""
    if system.boot.start is not snapshots.StartKind.WARM:
        return _memory_backend(system, topology, boot) if boot.keeps_memory else ()
    if boot.log is None or (boot.start is None) == (boot.saves is None):
        raise ValueError("a warm start needs a log, and either a snapshot or a file for the memory")
    own, result = _own_words(boot), [*_memory_backend(system, topology, boot)]
    if system.boot.takes_words:
        words = boot.log.with_name(snapshots.WORDS)
        for name, path in {"files": image.brought, snapshots.WORDS: words}.items():
            if path is None:
                continue
            content = own.content + ("" if boot.saves else comma_safe(str(path)))
            result += ["-fw_cfg", f"name=opt/benchgate/{name},{content}"]
    return (*result, *own.more)


def _own_words(boot: BootOptions) -> snapshots.SnapshotWords:
    return snapshots.SAVED if boot.saves else snapshots.STARTED


_IN_MEMORY = "memory-backend-ram,"
_NEVER_REPEATS = ("-netdev", "-nic", "-net")
"""The host decides when a guest hears from a network."""


def _kept_memory(system: System, cpus: int) -> tuple[MemoryRange, ...]:
    """The parts of the memory of a guest that can leave it behind; none if it cannot, or never repeats it."""
    own = system.qemu.arguments
    if system.ports or any(word in (*_NEVER_REPEATS, "-numa") or "memory-backend" in word for word in own):
        return ()
    try:
        ranges = backends_of(system, cpus)
    except ValueError:
        return ()
    return ranges if len(ranges) <= len(end_memory.DESCRIPTORS) else ()


def _memory_backend(system: System, topology: GuestTopology, boot: BootOptions) -> tuple[str, ...]:
    """QEMU's options for the memory of a guest without nodes; each node has its own."""
    size = system.qemu.memory
    if not size or "-numa" in topology.arguments:
        return ()
    text = f"{_IN_MEMORY}id={snapshots.RAM},size={size}{'M' * size.isdecimal()}"  # as -m reads a plain number
    return (*_with_files(("-object", text), boot), "-machine", f"memory-backend={snapshots.RAM}")


def _with_files(arguments: Sequence[str], boot: BootOptions) -> list[str]:
    """The arguments, with a file for each node's memory if the guest is saved, starts from a snapshot, or
    leaves its memory behind."""
    result, backends = [*arguments], [word.startswith(_IN_MEMORY) for word in arguments]
    for place, at in enumerate(number for number, is_backend in enumerate(backends) if is_backend):
        rest = result[at].removeprefix(_IN_MEMORY)
        if file := _memory_file(rest.partition(",")[0].removeprefix("id="), place, boot):
            result[at] = f"memory-backend-file,{rest},mem-path={file}"
    return result


def _memory_file(name: str, place: int, boot: BootOptions) -> str:
    """The path of this backend's file and how QEMU maps it; empty: its memory is in no file."""
    if boot.keeps_memory:
        return f"{end_memory.path_of(place)},share=on"
    if boot.kept is None:
        return ""
    file = snapshots.RAM if name == snapshots.RAM else f"{snapshots.RAM}-{name}"
    path = comma_safe(str(boot.kept / file))
    return f"{path},{_own_words(boot).memory}"


def _boot_media(system: System, image: Image, boot: BootOptions) -> tuple[str, ...]:
    """QEMU's options for the firmware and the disks: those of a snapshot are in its folder."""
    firmware = NO_FIRMWARE if system.boot.firmware == NO_FIRMWARE else image.firmware
    bios = () if firmware is None else ("-bios", str(firmware))
    files = image.disk_files
    images = files if boot.kept is None else {name: boot.kept / name for name in files}
    return bios + disk_options(system.boot.disks, list(images.values()), _own_words(boot).disk)


def _append(planned: PlannedCell, image: Image, boot: BootOptions) -> str:
    """The kernel command line. A system that is asked in another way gets no manifest."""
    words = boot.words
    if words is None:
        needs, asks = planned.workload.needs, planned.system.ask is AskMethod.CMDLINE
        measure, files = boot.measure, image.data_folder
        request = manifest(planned.cell, boot.nonce, needs=needs, measure=measure, files=files)
        words = " ".join(filter(None, (planned.system.boot.append, request if asks else "")))
    return filled(words, {name: str(port) for name, port in port_values(boot.ports).items()})


def _no_clock(planned: PlannedCell, boot: BootOptions) -> ClockArguments:
    if planned.system.machine is not None:
        raise UsageError(f"{planned.cell.id}: only the instruction clock has machines")
    if boot.exploration is not None:
        raise UsageError(f"{planned.cell.id}: only the instruction clock explores; use --clock insn")
    if planned.system.boot.start is snapshots.StartKind.WARM:
        raise UsageError(f"{planned.cell.id}: only the instruction clock starts warm; use --clock insn")
    return NO_CLOCK


def _clock_arguments(planned: PlannedCell, vm: VmConfig, boot: BootOptions) -> ClockArguments:
    if vm.clock is None or boot.log is None:
        raise UsageError(f"{planned.cell.id}: the instruction clock is not prepared, so lane insn cannot run")
    system, on = planned.system, planned.system.memory_machine
    run = ClockRun(
        boot.log,
        seed=boot.seed,
        cpus=planned.cell.cpus,
        guest=vm.qemu.guest,
        machine=system.qemu.machine,
        disks=bool(system.boot.disks),
        marked=system.result.format is ResultFormat.BENCH,
        lengths={} if system.observe is None else system.observe.lengths,
        talks=boot.talks,
        start=None if boot.start is None else (boot.start.record.time_ns, boot.start.record.console),
        records=boot.records,
        shape=None if on is None else boot.log.with_name(machine_shape.FILE),
        capacities=capacities_of(system, planned.cell.cpus),
        order=AccessOrder.STRICT if on is not None and on.strict else AccessOrder.UNSAID,
        caches=None if on is None or boot.kept is None else boot.kept / snapshots.CACHES,
        turn=boot.turn,
        explore=None if boot.exploration is None else boot.log.with_name(exploring.FILE),
    )
    return arguments(vm.clock, run)


def native_spec(planned: PlannedCell, image: Image, nonce: str, *, measure: bool = False) -> BootSpec:
    """Makes the BootSpec of one process on this host."""
    if image.program is None:
        raise UsageError(f"{planned.cell.id}: the image has no program, which a native system needs")
    pins = planned.seats.pins
    needs, each = planned.workload.needs, _pins_per_vcpu(planned)
    words = manifest(planned.cell, nonce, needs=needs, pins=each, measure=measure, files=image.data_folder)
    return BootSpec(
        argv=(str(image.program), *words.split()),
        environment={"BENCHGATE_TOOL": str(image.tool)} if image.tool else {},
        lane=Lane.NATIVE,
        cpus=planned.cell.cpus,
        pins=pins,
        deadlines=deadlines(planned),
    )


def _pins_per_vcpu(planned: PlannedCell) -> tuple[int, ...]:
    """One pin per vCPU; an oversubscribed cell uses its pins in turn."""
    pins = planned.seats.pins
    return tuple(pins[vcpu % len(pins)] for vcpu in range(planned.cell.cpus)) if pins else ()


def script(
    planned: PlannedCell, nonce: str, ports: Mapping[str, int] = MappingProxyType({})
) -> Script | None:
    """The script for a guest of this cell, with the deadlines of the cell's seats."""
    if planned.system.script is None:
        return None
    values = {**values_of(planned.cell, nonce), **port_values(ports)}
    typed, sharing = planned.system.script.filled(values), _sharing(planned)
    steps = (replace(step, deadline_s=step.deadline_s * sharing) for step in typed.steps)
    return replace(typed, steps=tuple(steps))


def deadlines(planned: PlannedCell) -> Deadlines:
    """The cell's deadlines. On the instruction clock they are guest time (run/pace.py), free of host load."""
    stated, sharing = planned.system.deadlines, _sharing(planned)
    return Deadlines(boot_s=stated.boot_s * sharing, run_s=stated.run_s * sharing)


def _sharing(planned: PlannedCell) -> float:
    """The number of vCPUs that share one host CPU."""
    pins = planned.seats.pins
    if not pins or planned.seats.lane is Lane.INSN:
        return 1.0
    return max(1.0, planned.cell.cpus / len(pins))
