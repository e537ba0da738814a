"""Repeats one run of the instruction clock exactly: with attribution, or stopped under a debugger.

Takes a run's folder and where the replay's files go; gives what to print, and whether it was the same run.
The machine is built anew from our catalog and the files that the caller names; nothing that stands in a
bundle is executed. Fails with UsageError for a run of another lane, and with EvidenceError where the guest,
QEMU or the clock is not what the run was made with: then it could not be the same.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pexpect

from benchgate.base.cells import Accel, Lane, Placement
from benchgate.base.errors import EvidenceError, UsageError, VerifyError
from benchgate.base.runs import BootSpec, RawRun
from benchgate.base.systems import FETCHED_LINUX, System
from benchgate.build.fetch import inputs
from benchgate.build.images import Images, guest_digest
from benchgate.evidence.files import SESSION, read_object
from benchgate.host import accel
from benchgate.insn.linux_symbols import linux_symbols
from benchgate.insn.log import ClockLog, MarkKind, read_log
from benchgate.insn.plugin import prepare
from benchgate.insn.profile import folded, read_profile, top_table
from benchgate.insn.symbols import NO_SYMBOLS, read_symbols, symbol_file
from benchgate.insn.window import window
from benchgate.judge import repeat
from benchgate.plan import catalog
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.run import attempt, guest
from benchgate.run.argv import ClockConfig, VmConfig, guest_spec
from benchgate.run.attempt import RunRequest
from benchgate.run.console import Limits
from benchgate.run.record import clock_log, load
from benchgate.run.watch import watch_for
from benchgate.session.rejudge import find_workload
from benchgate.session.trust import Trusted

Notice = Callable[[str], None]
DEBUGGER_S = 86_400.0
"""How long a replay waits for somebody's debugger."""


@dataclass(frozen=True, slots=True)
class Order:
    folder: Path
    out: Path
    system: str | None
    trusted: Trusted
    attribution: bool
    gdb: bool


@dataclass(frozen=True, slots=True)
class _Stage:
    """The run of old, and all that makes it again."""

    raw: RawRun
    planned: PlannedCell
    images: Images
    machine: VmConfig
    out: Path

    def spec(self, *, profile: Path | None = None) -> BootSpec:
        image = self.images.of(self.planned.system, self.planned.workload)
        log = clock_log(self.out)
        return guest_spec(
            self.planned,
            image,
            self.machine,
            self.raw.nonce,
            log=log,
            seed=self.raw.seed,
            profile=profile,
        )


def replay(order: Order, notice: Notice) -> tuple[str, bool]:
    """What to print, and whether the replay was the same run."""
    stage = _stage(order, notice)
    try:
        order.out.mkdir(parents=True)
    except OSError as error:
        raise UsageError(
            f"--out {order.out}: {error.strerror}; name a folder that is not there yet"
        ) from error
    if order.gdb:
        return _debug(stage, notice), True
    file = order.out / "attribution.txt" if order.attribution else None
    again = attempt.execute(_request(stage, stage.spec(profile=file)))
    difference = repeat.difference(stage.raw, again)
    lines = [f"{order.out}: {difference or 'the same run: marks, counts and console are equal'}"]
    if file is not None:
        lines.append(_attribution(stage, file))
    return "\n".join(lines), not difference


def _stage(order: Order, notice: Notice) -> _Stage:
    raw = load(order.folder)
    if raw.lane is not Lane.INSN or raw.clock_log is None:
        raise UsageError(
            f"{order.folder}: only runs of the instruction clock repeat; this is lane {raw.lane}"
        )
    old = read_log(raw.clock_log)
    facts = read_object(order.folder.parent.parent, SESSION)
    workload = find_workload(facts, raw.cell.workload, order.trusted)
    system = _system(order, facts, raw)
    planned = PlannedCell(raw.cell, system, workload, Seats(Lane.INSN, Placement.VIRTUAL, ()))
    images = Images(None, False, notice)
    if guest_digest(images.of(planned.system, planned.workload)) != raw.guest_digest:
        raise EvidenceError(
            f"{order.folder}: the guest is built from other sources or by another compiler now"
        )
    return _Stage(raw, planned, images, _machine(facts, old, notice), order.out)


def _system(order: Order, facts: Mapping[str, Any], raw: RawRun) -> System:
    """Ours by name, somebody's own by the path that they give, with the settings of the run."""
    name = raw.cell.system.partition(".")[0]
    chosen = dict(facts.get("settings", {}).get(raw.cell.system, {}))
    word = ":".join([order.system or name, *(f"{key}={value}" for key, value in chosen.items())])
    found = catalog.load_system(word)
    if found.name != raw.cell.system:
        raise UsageError(
            f"--system {order.system} is {found.name}, and the run was made on {raw.cell.system}"
        )
    return found


def _machine(facts: Mapping[str, Any], old: ClockLog, notice: Notice) -> VmConfig:
    qemu = inputs.qemu(notice=notice)
    was = facts.get("inputs", {}).get("qemu", {}).get("digest")
    if was != qemu.digest:
        raise EvidenceError(f"the run was made with another QEMU (digest {was!r:.80}); it would not repeat")
    probe = accel.probe(qemu, Accel.TCG)
    clock = ClockConfig(prepare(qemu, old.level), old.level, old.mode)
    return VmConfig(qemu, Accel.TCG, probe.cpu_model or "", clock)


def _request(stage: _Stage, spec: BootSpec) -> RunRequest:
    raw = stage.raw
    return RunRequest(
        cell=raw.cell,
        spec=spec,
        folder=stage.out,
        nonce=raw.nonce,
        attempt=raw.attempt,
        order=raw.order,
        seed=raw.seed,
        placement=raw.placement,
        warmup=raw.warmup,
        guest_digest=raw.guest_digest,
        watch=watch_for(stage.planned.system),
    )


def _attribution(stage: _Stage, file: Path) -> str:
    """Writes the folded stacks beside the raw file; gives the top table."""
    user, kernel = stage.images.symbols(stage.planned.system, stage.planned.workload), _kernel_symbols(stage)
    seen = read_profile(
        file,
        NO_SYMBOLS if kernel is None else read_symbols(kernel),
        None if user is None else read_symbols(user),
    )
    (stage.out / "folded.txt").write_text(folded(seen), encoding="utf-8")
    return f"{top_table(seen)}folded stacks: {stage.out / 'folded.txt'}"


def _kernel_symbols(stage: _Stage) -> Path | None:
    kernel = stage.images.of(stage.planned.system, stage.planned.workload).kernel
    if kernel is not None and stage.planned.system.kernel == FETCHED_LINUX:
        return linux_symbols(stage.machine.qemu, kernel)
    return kernel


def _debug(stage: _Stage, notice: Notice) -> str:
    """Stopped before the first instruction; runs when the debugger says so."""
    socket = stage.out / "gdb.sock"
    spec = stage.spec()
    argv = (*spec.argv, "-gdb", f"unix:{socket},server=on,wait=off")
    stopped = BootSpec(argv, spec.environment, spec.lane, spec.cpus, spec.pins, spec.deadlines)
    command = shlex.join(["gdb", *_gdb_symbols(stage), "-ex", f"target remote {socket}"])
    with guest.started(stopped, stage.out, mark=stage.raw.nonce, limits=Limits()) as machine:
        machine.prepare()
        notice(f"stopped before its first instruction; {command}; Ctrl-C here ends it")
        machine.console.expect(pexpect.EOF, timeout=DEBUGGER_S)
        machine.child.wait(10.0)
    return f"{stage.out}: the debugged run has ended: {_compared(stage)}; its console is serial.log"


def _gdb_symbols(stage: _Stage) -> list[str]:
    """For gdb: an ELF kernel itself, or the symbols of a distribution's Linux, whose file has none."""
    symbols = _kernel_symbols(stage)
    if symbols is None or stage.planned.system.kernel != FETCHED_LINUX:
        return [] if symbols is None else [str(symbols)]
    made = stage.out / "symbols.elf"
    made.write_bytes(symbol_file(read_symbols(symbols)))
    return [str(made)]


def _compared(stage: _Stage) -> str:
    """The debugged run's window beside the original's."""
    assert stage.raw.clock_log is not None  # see _stage
    old, new = read_log(stage.raw.clock_log), read_log(clock_log(stage.out))
    if old.marks == new.marks:
        return "every mark at the time of the original"
    workers = sum(mark.kind == MarkKind.WORK_BEGIN for mark in old.marks)
    try:
        was, now = window(old, workers).work, window(new, workers).work
    except VerifyError as error:
        return f"it is not the whole run ({error})"
    return f"work window {now} ns, {was} in the original (a stop may move a CPU by up to a quantum)"
