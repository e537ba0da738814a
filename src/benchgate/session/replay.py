"""Repeats one run of the instruction clock exactly: plainly, with recordings, or under a debugger.

Takes a run's folder and a folder for the replay's files; gives the text to print, and whether both runs are
equal. The guest is built again from the catalog and the files that the caller names; nothing from the session
folder is executed. Fails with UsageError for a run on another lane, with NeedsFilesError for a workload or a
system of the user that the caller did not name, and with EvidenceError if QEMU or the guest is not the one of
the run, because the replay would differ.
"""

from __future__ import annotations

import contextlib
import functools
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pexpect

from benchgate.base.cells import Lane
from benchgate.base.errors import EvidenceError, NeedsFilesError, UsageError, VerifyError
from benchgate.base.files import PAGE
from benchgate.base.runs import RawRun
from benchgate.base.system.arch import Architecture
from benchgate.base.system.systems import System, plain_name
from benchgate.build.cache_storage import Notice
from benchgate.build.images import guest_digest
from benchgate.evidence.facts import read_flag, read_machine
from benchgate.evidence.files import SESSION, read_object
from benchgate.insn.arguments import NO_RECORDS, Records, turn_asked
from benchgate.insn.log import MarkKind
from benchgate.insn.log_reader import read_log
from benchgate.insn.plugin import prepare
from benchgate.insn.profile import Profile
from benchgate.insn.symbols import NO_SYMBOLS, is_elf, names_at, read_symbols, symbol_file
from benchgate.insn.window import window
from benchgate.judge import arms
from benchgate.judge.console import printed
from benchgate.judge.run_files import RunFiles
from benchgate.judge.verify import output_of
from benchgate.plan import catalog, choice
from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell, Seats
from benchgate.run import attempt, guest, smoke
from benchgate.run.argv import BootOptions
from benchgate.run.attempt import RunRequest
from benchgate.run.console import ConsoleLimits
from benchgate.run.end_memory import FILE as MEMORY
from benchgate.run.end_memory import read_memory
from benchgate.run.record import clock_log, load
from benchgate.session import keepers, recordings
from benchgate.session.measuring_host import ThisHost
from benchgate.session.rejudging import remembered
from benchgate.session.rejudging.rejudge import find_workload
from benchgate.session.rejudging.trust import TrustedPrograms
from benchgate.session.workbench import SymbolFiles, Workbench, bounded

_MOST_NAMES = 6
DEBUGGER_S = 86_400.0
"""How long a replay waits for the debugger to let the guest end."""


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    folder: Path
    out: Path
    system: str | None
    trusted: TrustedPrograms
    profile: bool
    gdb: bool
    timeline: bool = False
    flame: bool = False
    lines: bool = False
    attribution: bool = False
    """The moved lines, too, if the run was made on a machine that has any."""
    threads: bool = False
    facts: str = SESSION
    """The file, two folders above the run's, that says what it was made with."""
    deadline_ns: int | None = None
    """How much guest time the whole run may take; None: what the system's YAML says."""
    limits: ConsoleLimits = field(default_factory=ConsoleLimits)
    symbols: Path | None = None
    """The file with the kernel's symbols; None: it is found."""
    verb: tuple[str, ...] = ("benchgate", "replay")
    """The command, for messages that give it again."""


@dataclass(frozen=True, slots=True)
class _Replay:
    """The recorded run and everything needed to repeat it."""

    order: ReplayRequest
    raw: RawRun
    planned: PlannedCell
    bench: Workbench
    measure: bool
    """The guest counted while it ran (--measure), so it must again."""
    has_memory: bool
    """The run was made on a machine with a memory system."""

    def request(self, records: Records = NO_RECORDS) -> RunRequest:
        raw, files = self.raw, RunFiles(self.raw)
        boot = BootOptions(
            raw.nonce,
            seed=raw.seed,
            measure=self.measure,
            records=records,
            exploration=raw.exploration,
            turn=turn_asked(files.argv),
            boot=None if files.start is None else files.start.boot,
            keeps_memory=files.end_memory is not None,
        )
        request = self.bench.smoke_request if raw.cell.is_smoke else self.bench.request
        made = request(self.planned, boot, self.order.out, attempt=raw.attempt)
        made = replace(made, order=raw.order, warmup=raw.warmup)
        return bounded(made, self.order.deadline_ns, self.order.limits)

    def execute(self, records: Records = NO_RECORDS) -> RawRun:
        return attempt.execute(self.request(records))

    @property
    def window(self) -> tuple[int, int] | None:
        """The place of the recorded window on the console; None: between marks."""
        system = self.planned.system
        if self.raw.cell.is_smoke or system.result.is_marked:
            return None
        files = RunFiles(self.raw)
        try:
            return printed.span(files, output_of(files, system), system.result)
        except VerifyError as error:
            raise EvidenceError(f"{self.raw.folder}: the run has no window to record: {error}") from error

    def symbols(self) -> SymbolFiles:
        return self.bench.symbols(self.planned, self.order.symbols)

    @property
    def guest(self) -> Architecture:
        return self.bench.emulators.vm(self.planned).qemu.guest


def replay(order: ReplayRequest, notice: Notice) -> tuple[str, bool]:
    """The text to print, and True if both runs are equal."""
    new = _prepare(order, notice)
    with _own_folder(order.out):
        return (_debug(new, notice), True) if order.gdb else _repeat(new)


@contextlib.contextmanager
def _own_folder(out: Path) -> Iterator[None]:
    """Makes the replay's folder. A replay that does not come to its end leaves none, so that the next is not
    refused because of it."""
    try:
        out.mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}; name a folder that does not exist") from error
    try:
        yield
    except BaseException:
        shutil.rmtree(out)
        raise


def _repeat(new: _Replay) -> tuple[str, bool]:
    order, symbols = new.order, functools.cache(new.symbols)
    wanted = keepers.records(
        order.out,
        profile=order.profile,
        events=order.timeline,
        stacks=order.flame,
        lines=order.lines or (order.attribution and new.has_memory),
        observed=new.bench.observed(new.planned) if order.threads else "",
        window=new.window if order.profile or order.flame else None,
    )
    again = new.execute(wanted)
    difference = arms.difference(new.raw, again)
    lines = [f"{order.out}: {difference or f'the same run: {_equal_in(new.raw, again)}'}"]
    lines += _held(new, again, symbols)
    if wanted.profile is not None:
        lines.append(recordings.profile_table(order.out, symbols()))
    if wanted.stacks is not None:
        label = f"Instructions of {new.raw.cell.id}, run {new.raw.attempt:04}, by call stack"
        lines += recordings.flame_graph(wanted.stacks, symbols(), label)
    if wanted.sharing is not None:
        label = f"Lines that moved between CPUs, {new.raw.cell.id}, run {new.raw.attempt:04}"
        lines += recordings.moved_lines(wanted.sharing, symbols(), label)
    if wanted.threads is not None:
        lines.append(f"threads: {wanted.threads}")
    if wanted.events is not None:
        lines += recordings.write_trace(order.out, order.out / recordings.TRACE)
    return "\n".join(lines), not difference


def _equal_in(raw: RawRun, again: RawRun) -> str:
    if None in (raw.exit_status, again.exit_status):
        return "marks and console are equal up to the end of the shorter one, which the host chose"
    memory = again.folder.joinpath(MEMORY).exists()
    return f"marks, counts{', console and memory' if memory else ' and console'} are equal"


def _held(new: _Replay, again: RawRun, symbols: Callable[[], SymbolFiles]) -> list[str]:
    """What the kernel holds in the first pages of memory that differ at the end, as far as it is known."""
    memory, other = read_memory(new.raw.folder), read_memory(again.folder)
    found = memory.differing(other)[: arms.MOST_PAGES] if memory and other else []
    kernel = symbols().kernel if found else None
    if kernel is None:
        return []
    lines = []
    for address in found:
        names = names_at(kernel, new.guest, address, address + PAGE)
        told = ", ".join(names[:_MOST_NAMES]) + (" ..." if len(names) > _MOST_NAMES else "")
        lines.append(f"memory {address:#x}: {told or 'no symbol of the kernel'}")
    return lines


def profiled(order: ReplayRequest, notice: Notice) -> Profile:
    """Counts where the window's instructions went. EvidenceError if the replay is not equal to the run."""
    new = _prepare(order, notice)
    with _own_folder(order.out):
        wanted = keepers.records(order.out, profile=True, window=new.window)
        again = new.execute(wanted)
        if difference := arms.difference(new.raw, again):
            raise EvidenceError(f"{order.folder}: its replay is another run: {difference}")
        return recordings.profile(order.out, new.symbols())


def _prepare(order: ReplayRequest, notice: Notice) -> _Replay:
    raw = load(order.folder)
    if raw.lane is not Lane.INSN or raw.clock_log is None:
        lane = f"this one is on lane {raw.lane}"
        raise UsageError(f"{order.folder}: only runs on lane insn can be repeated; {lane}")
    clock = read_log(raw.clock_log)
    if order.lines and not clock.machine:
        raise UsageError(
            f"{order.folder}: the run was made on a machine without memory, where no line of it moves; "
            "measure with --machine desktop8, for example, and repeat that run"
        )
    if order.symbols is not None and read_symbols(order.symbols) == NO_SYMBOLS:
        raise UsageError(
            f"--symbols {order.symbols} names no function; next: name the System.map of this kernel (not a "
            "stub), or an ELF file of the same build that was not stripped"
        )
    facts = read_object(order.folder.parent.parent, order.facts)
    system = _system(_with_system(order, raw, notice), facts, raw)
    is_smoke, name = raw.cell.is_smoke, raw.cell.workload
    workload = smoke.stand_in(system) if is_smoke else find_workload(facts, name, order.trusted)
    planned = PlannedCell(raw.cell, system, workload, Seats(Lane.INSN, raw.placement, ()))
    bench = Workbench(Options(), ThisHost(), notice)
    if guest_digest(bench.image(planned)) != raw.guest_digest:
        raise EvidenceError(f"{order.folder}: the guest's sources, or the compiler, changed after the run")
    measure = read_flag(facts, "measure", str(order.folder.parent.parent / order.facts))
    _prepare_qemu(bench, facts, system)
    return _Replay(order, raw, planned, bench, measure, has_memory=bool(clock.machine))


def _with_system(order: ReplayRequest, raw: RawRun, notice: Notice) -> ReplayRequest:
    """Adds the word for the run's system, if the caller gave none and it is known here."""
    if order.system is not None:
        return order
    word, notes = remembered.system_of(order.folder.parent.parent, raw.cell.system)
    for note in notes:
        notice(note)
    return replace(order, system=word)


def _system(order: ReplayRequest, facts: Mapping[str, Any], raw: RawRun) -> System:
    """A built-in system by name, or a user's own by the path in --system, with the settings of the run."""
    name = plain_name(raw.cell.system)
    if order.system is None and name not in catalog.names("system"):
        advice = f"next: {shlex.join([*order.verb, str(order.folder), '--system'])} PATH, its YAML file"
        raise NeedsFilesError(f"{order.folder}: system {name} is not built in; {advice}")
    word, given = catalog.split_system(order.system or name)
    recorded = _settings(facts, raw)
    known = catalog.system_with(word, {}).settings
    own = [key for key in known.files if recorded.get(key, known.defaults[key]) != known.defaults[key]]
    if unnamed := [key for key in own if key not in given]:
        raise NeedsFilesError(
            f"{order.folder}: the run used a file of its user, {recorded[unnamed[0]]!r:.200}; next, if you "
            f"trust it: {shlex.join([*order.verb, str(order.folder), '--system'])} "
            f"{word}:{unnamed[0]}=PATH"
        )
    kept = {key: value for key, value in recorded.items() if key not in known.files}
    system = catalog.system_with(word, {**kept, **given})
    if raw.cell.machine:  # the file may have changed since the session
        where = str(order.folder.parent.parent / order.facts)
        system = system.on(read_machine(facts, raw.cell.machine, where))
    if raw.cell.system not in (system.name, choice.by_content(system).name):
        made = f"the run was made on {raw.cell.system}"
        raise UsageError(f"--system {order.system} is {system.name}, but {made}")
    return system


def _settings(facts: Mapping[str, Any], raw: RawRun) -> dict[str, str]:
    """The settings that the session recorded for the run's system."""
    result = facts.get("settings", {}).get(raw.cell.system, {})
    if not isinstance(result, Mapping) or not all(isinstance(value, str) for value in result.values()):
        raise EvidenceError(f"session.json: the settings of {raw.cell.system} cannot be read")
    return dict(result)


def _prepare_qemu(bench: Workbench, facts: Mapping[str, Any], system: System) -> None:
    bench.emulators.fetch([system])
    qemu = bench.emulators.qemus[system.emulator]
    digest = facts.get("inputs", {}).get(system.emulator, {}).get("digest")
    if digest != qemu.digest:
        raise EvidenceError(f"the run was made with another QEMU (digest {digest!r:.80})")
    bench.emulators.emulate(system, prepare(qemu))


def _debug(new: _Replay, notice: Notice) -> str:
    """The guest is stopped where it begins, until the debugger continues it."""
    socket, spec = new.order.out / "gdb.sock", new.request().spec
    stopped = replace(spec, argv=(*spec.argv, "-gdb", f"unix:{socket},server=on,wait=off"))
    debugger = "gdb" if new.guest.is_host else "gdb-multiarch"
    command = shlex.join([debugger, *_gdb_symbols(new), "-ex", f"target remote {socket}"])
    with guest.started(stopped, new.order.out, mark=new.raw.nonce, limits=ConsoleLimits()) as running:
        running.prepare()
        where = "before its first instruction" if spec.start is None else "where the snapshot was taken"
        running.load()
        notice(f"stopped {where}; {command}; Ctrl-C here ends it")
        running.begin_when_continued(DEBUGGER_S)
        running.console.expect(pexpect.EOF, timeout=DEBUGGER_S)
        running.child.wait(10.0)
    return f"{new.order.out}: the debugged run has ended: {_comparison(new)}; its console is serial.log"


def _gdb_symbols(new: _Replay) -> list[str]:
    """The file with the kernel's symbols. It is the kernel itself, except for a distribution's Linux."""
    file = new.symbols().kernel
    if file is None or is_elf(file):
        return [] if file is None else [str(file)]
    symbols, made = read_symbols(file), new.order.out / "symbols.elf"
    if symbols == NO_SYMBOLS:
        return []
    made.write_bytes(symbol_file(symbols, new.guest.elf_machine))
    return [str(made)]


def _comparison(new: _Replay) -> str:
    """How the marks and the window of the debugged run differ from the original's."""
    assert new.raw.clock_log is not None  # see _prepare
    before, after = read_log(new.raw.clock_log), read_log(clock_log(new.order.out))
    if before.marks == after.marks:
        return "every mark at the time of the original"
    workers = sum(mark.kind == MarkKind.WORK_BEGIN for mark in before.marks)
    try:
        original, debugged = window(before, workers).work, window(after, workers).work
    except VerifyError as error:
        return f"it is not a complete run ({error})"
    return f"work window {debugged} ns, {original} in the original (a stop may move a CPU by up to a quantum)"
