"""From a planned cell and its image to what starts it: argv, manifest, what to look for. Pure.

Takes a `PlannedCell`, an `Image` and what the host chose; gives a `BootSpec` and a `Watch`. Fails with
UsageError where the words of a system's YAML contradict each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from benchgate import insn
from benchgate.errors import UsageError
from benchgate.fetch import Qemu
from benchgate.host.quirks import cpu_words
from benchgate.insn import ClockMode, Level
from benchgate.machine import qemu as qemu_line
from benchgate.machine.watch import GUEST_WATCH, NATIVE_WATCH, Watch
from benchgate.model import Accel, BootSpec, Cell, Deadlines, Image, Lane
from benchgate.plaintext import by_lines
from benchgate.plan import PlannedCell
from benchgate.systems import Ask, EndBy, Kind, Result, ResultFormat, System

NO_CLOCK = insn.Launch((), MappingProxyType({}))
PATIENCE = {Lane.KVM: 1.0, Lane.TCG: 1.0, Lane.NATIVE: 1.0, Lane.INSN: 3.0}
"""How much longer than on a plain machine a lane may take; on `insn` also times the CPU count."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The instruction clock of a session's QEMU."""

    plugin: Path
    level: Level
    mode: ClockMode


@dataclass(frozen=True, slots=True)
class Machine:
    """What the host chose for all QEMU boots of a session."""

    qemu: Qemu
    accel: Accel
    cpu_model: str
    clock: Clock | None = None


def manifest(cell: Cell, nonce: str, *, pins: tuple[int, ...] = (), measure: bool = False) -> str:
    """The words by which a workload is asked for (docs/wire.md)."""
    words = {
        "workload": cell.workload,
        "mode": cell.mode,
        "workers": cell.cpus,
        "cpus": cell.cpus,
        "nonce": nonce,
        **dict(cell.params),
    }
    if measure:
        words["measure"] = 1
    if pins:
        words["pin"] = ",".join(map(str, pins))
    return " ".join(f"bench.{key}={value}" for key, value in words.items())


def clock_log(folder: Path) -> Path:
    """Where the instruction clock writes, in a run's folder."""
    return folder / "clock.log"


def guest_spec(  # noqa: PLR0913 - one boot has this many sides
    planned: PlannedCell,
    image: Image,
    machine: Machine,
    nonce: str,
    *,
    log: Path | None = None,
    seed: int = 0,
    measure: bool = False,
    words: str | None = None,
    attribution: Path | None = None,
) -> BootSpec:
    """One boot of a QEMU system; on the instruction clock it takes a `log` and a `seed`, and may write where
    the window's instructions went. `words`: its whole command line, in place of the system's own and the
    workload's manifest."""
    system, cell = planned.system, planned.cell
    launch = NO_CLOCK
    if planned.seats.lane is Lane.INSN:
        launch = _launch(planned, machine.clock, log, seed, attribution)
    asked = manifest(cell, nonce, measure=measure) if system.ask is Ask.CMDLINE else ""
    argv = qemu_line.command(
        machine.qemu,
        machine=system.qemu.machine,
        cpu=cpu_words(system.qemu.cpu or machine.cpu_model, machine.accel, machine.qemu.version),
        memory=system.qemu.memory,
        smp=qemu_line.smp_option(system.qemu.smp, cell.cpus),
        accel=machine.accel,
        kernel=image.kernel,
        initrd=image.initrd,
        append=" ".join(word for word in (system.append, asked) if word) if words is None else words,
        extra=system.qemu.arguments + launch.argv_extra,
        name=qemu_line.guest_name(nonce),
    )
    return BootSpec(
        argv=argv,
        environment={**machine.qemu.environment, **launch.environment},
        lane=planned.seats.lane,
        cpus=cell.cpus,
        pins=_pins_per_vcpu(planned),
        deadlines=deadlines(planned),
    )


def _launch(
    planned: PlannedCell, clock: Clock | None, log: Path | None, seed: int, attribution: Path | None
) -> insn.Launch:
    if clock is None or log is None:
        raise UsageError(f"{planned.cell.id}: the instruction clock was not made ready")
    return insn.arguments(
        clock.plugin,
        level=clock.level,
        mode=clock.mode,
        log=log,
        seed=seed,
        cpus=planned.cell.cpus,
        machine=planned.system.qemu.machine,
        marked=planned.system.result.format is ResultFormat.BENCH,
        attribution=attribution,
    )


def native_spec(planned: PlannedCell, image: Image, nonce: str, *, measure: bool = False) -> BootSpec:
    """One process on this host."""
    if image.program is None:
        raise UsageError(f"{planned.cell.id}: the image of a native system is a program")
    pins = planned.seats.pins
    words = manifest(planned.cell, nonce, pins=_pins_per_vcpu(planned), measure=measure).split()
    return BootSpec(
        argv=(str(image.program), *words),
        environment={},
        lane=Lane.NATIVE,
        cpus=planned.cell.cpus,
        pins=pins,
        deadlines=deadlines(planned),
    )


def _pins_per_vcpu(planned: PlannedCell) -> tuple[int, ...]:
    """One pin a vCPU; an oversubscribed cell goes round over the pins there are."""
    pins = planned.seats.pins
    return tuple(pins[vcpu % len(pins)] for vcpu in range(planned.cell.cpus)) if pins else ()


def deadlines(planned: PlannedCell) -> Deadlines:
    stated, lane = planned.system.deadlines, planned.seats.lane
    crowd = 1.0
    if lane is Lane.INSN:
        crowd = planned.cell.cpus
    elif planned.seats.pins:
        crowd = max(1.0, planned.cell.cpus / len(planned.seats.pins))
    factor = PATIENCE[lane] * crowd
    return Deadlines(boot_s=stated.boot_s * factor, run_s=stated.run_s * factor)


def watch(system: System) -> Watch:
    """What to look for on this system's console."""
    if system.kind is Kind.NATIVE:
        return NATIVE_WATCH
    base = replace(
        GUEST_WATCH,
        ready=by_lines(system.ready) if system.ready else None,
        failures=GUEST_WATCH.failures + tuple(by_lines(pattern) for pattern in system.failures),
        success=frozenset(system.exit_codes),
        kill_after_end=system.end_by is EndBy.KILL,
    )
    if system.result.format is ResultFormat.BENCH:
        return base
    ends = _said(system.result) if system.end_by is EndBy.KILL else ()
    return replace(base, result=None, ends=ends)


def _said(result: Result) -> tuple[bytes, ...]:
    """All that the verifier will ask for."""
    figures = tuple(figure.regex for figure in (result.work, result.total) if figure)
    return tuple(whole_line(pattern) for pattern in (*result.answers, *figures))


def whole_line(pattern: str) -> bytes:
    """To the line's end: a number that is still being printed is another number."""
    return rb"(?:%b)[^\n]*\n" % by_lines(pattern)
