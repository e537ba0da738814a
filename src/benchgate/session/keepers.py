"""What a session records of its runs, and what it keeps of that.

Takes a workbench, planned cells and their runs; gives the `Records` of each run (`RecordKeeper`), replaces
what the plugin wrote by files that can be read without the programs, and collects the symbols that readers of
the session need (`SymbolKeeper`). Fails with VerifyError if a recording is not as the plugin writes it, and
with BuildError if the symbols of a kernel cannot be had.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.runs import RawRun
from benchgate.base.system.arch import X86_64
from benchgate.base.system.results import ResultFormat
from benchgate.base.text import one_line
from benchgate.base.workload.metrics import WASTED
from benchgate.evidence.facts import stored_symbols, symbols_of
from benchgate.insn.arguments import NO_RECORDS, Records
from benchgate.insn.observe.resolve import FILE as OBSERVED
from benchgate.insn.plugin import INLINE_API, api_of
from benchgate.insn.profile import Stacks, folded_stacks, read_stacks
from benchgate.insn.sharing import Sharing, named, read_sharing
from benchgate.insn.sharing import text as text_of_lines
from benchgate.insn.symbols import NO_SYMBOLS, Symbols, read_symbols
from benchgate.insn.threads_log import WakeEvent
from benchgate.judge import wire
from benchgate.judge.accounts import attribution, sharing
from benchgate.judge.accounts.timeline import FOLDED
from benchgate.judge.judged_run import JudgedRun
from benchgate.judge.run_files import EVENTS, THREAD_EVENTS, UNOBSERVED, RunFiles, read_console
from benchgate.plan.planned import PlannedCell
from benchgate.session.workbench import SymbolFiles, Workbench

PROFILE, STACKS, SHARING = "profile.txt", "stacks.txt", "sharing.txt"


def records(  # noqa: PLR0913 - keyword arguments
    folder: Path,
    *,
    profile: bool = False,
    events: bool = False,
    stacks: bool = False,
    lines: bool = False,
    observed: str = "",
    threads: bool = True,
    window: tuple[int, int] | None = None,
) -> Records:
    """`window`: insn/arguments.py. `observed`: how the guest's threads are seen (Workbench.observed), which
    is written to the folder; empty: they are not recorded. Without `threads` it is what is counted."""
    observe = folder / OBSERVED
    if observed:
        observe.write_text(observed, encoding="ascii")
    return Records(
        profile=folder / PROFILE if profile else None,
        events=folder / EVENTS if events else None,
        stacks=folder / STACKS if stacks else None,
        sharing=folder / SHARING if lines else None,
        threads=folder / THREAD_EVENTS if observed and threads else None,
        observe=observe if observed else None,
        window=window if profile or stacks else None,
    )


def fold(file: Path, symbols: SymbolFiles) -> Stacks:
    """Writes folded stacks next to the call stacks."""
    seen = read_stacks(file, symbols_in(symbols.kernel) or NO_SYMBOLS, symbols_in(symbols.program))
    file.with_name(FOLDED).write_text(folded_stacks(seen), encoding="utf-8")
    return seen


def name_lines(file: Path, symbols: SymbolFiles) -> Sharing:
    """Writes the lines with the variables in them next to the plugin's file."""
    files = symbols.kernel, symbols.program
    variables = [NO_SYMBOLS if path is None else read_symbols(path, data=True) for path in files]
    seen = named(read_sharing(file), *variables)
    file.with_name(sharing.KEPT).write_text(text_of_lines(seen), encoding="utf-8")
    return seen


def symbols_in(file: Path | None) -> Symbols | None:
    return None if file is None else read_symbols(file)


class RecordKeeper:
    """What a session records of its runs on the instruction clock.

    With --threads, and for cells whose gates need it: what the guest's threads did, in every run. With
    --measure, of each cell's first run: that, too, call stacks, and, on a machine with memory, the lines
    that moved between CPUs. A guest whose calls cannot be followed has no stacks
    (insn/c/record/stacks.h)."""

    def __init__(self, bench: Workbench, note: Callable[[str], None]) -> None:
        self._bench, self._note = bench, note
        self._recorded: set[str] = set()
        self.needs_threads: frozenset[str] = frozenset()
        """The ids of the cells whose gates are of threads."""
        self.needs_events: frozenset[str] = frozenset()
        """The ids of the cells whose workloads promise what only functions of kernel or program show."""
        self.needs_look: frozenset[str] = frozenset()
        """The ids of the cells whose workloads promise what only threads show: in one run of each."""
        self._noted: set[str] = set()

    def records(self, planned: PlannedCell, folder: Path) -> Records:
        options = self._bench.options
        wants_threads = options.threads or planned.cell.id in self.needs_threads
        if planned.seats.lane is not Lane.INSN:
            if wants_threads:
                why = "only the instruction clock sees them"
                self._note_once(f"no threads of {planned.cell.id} are recorded: {why}")
            return NO_RECORDS
        is_new = planned.cell.id not in self._recorded
        is_first, is_looked_at = options.measure and is_new, is_new and planned.cell.id in self.needs_look
        self._recorded.add(planned.cell.id)
        observed = ""
        if wants_threads or is_first or is_looked_at:
            observed = self._observed(planned, folder, is_wanted=wants_threads)
        threads = bool(observed)
        if not threads and planned.cell.id in self.needs_events:
            observed = self._observed(planned, folder, is_wanted=False, threads=False)
        stacks = is_first and self._can_follow(planned)
        lines = is_first and planned.system.memory_machine is not None
        return records(folder, stacks=stacks, lines=lines, observed=observed, threads=threads)

    def _observed(self, planned: PlannedCell, folder: Path, *, is_wanted: bool, threads: bool = True) -> str:
        """How the threads are seen. If they cannot be, the run's folder says why, for those that need it."""
        if maker := self._bench.options.maker:
            why = f"{maker.who} {'send no records of threads back' if threads else 'count no events'}"
        else:
            try:
                return self._bench.observed(planned, threads=threads)
            except VerifyError as error:
                why = str(error)
        if is_wanted:
            self._note_once(why)
        if is_wanted or planned.workload.machine:
            (folder / UNOBSERVED).write_text(f"{one_line(why, 600)}\n", encoding="utf-8")
        return ""

    def _note_once(self, text: str) -> None:
        if text not in self._noted:
            self._noted.add(text)
            self._note(text)

    def keep(self, planned: PlannedCell, raw: RawRun) -> None:
        """Replaces what the clock recorded by folded stacks and named lines, before the run's folder is
        closed: the plugin's own files have addresses, which nobody can read without the symbols."""
        for name, make in {STACKS: fold, SHARING: name_lines}.items():
            file = raw.folder / name
            if not file.exists():
                continue
            try:
                make(file, self._bench.symbols(planned))
            except VerifyError as error:
                self._note(f"nothing of {name} of {planned.cell.id} is kept: {error}")
            file.unlink()

    def _can_follow(self, planned: PlannedCell) -> bool:
        if planned.system.result.format is not ResultFormat.BENCH:
            return False
        qemu = self._bench.emulators.vm(planned).qemu
        return qemu.guest is X86_64 and api_of(qemu) >= INLINE_API


class SymbolKeeper:
    """The symbols that readers of a session need, who do not have its programs: of the addresses that guests
    sampled (for `rejudge`), and of the kernel's where threads were woken (for `benchgate threads`)."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._read: dict[Path, Symbols] = {}
        """By file: a kernel has so many that they are read once."""
        self.kept: dict[str, list[list[int | str]]] = {}
        """By guest, in the form of session.json."""

    def keep(self, planned: PlannedCell, judged: JudgedRun) -> bool:
        """True if the run has symbols that no run before it had."""
        if judged.verified is None:
            return False
        before = self.kept.get(planned.guest)
        if self._bench.options.measure:
            self._keep_samples(planned, judged)
        if WASTED in judged.verified.metrics:
            self._keep_trails(planned, judged)
        return self.kept.get(planned.guest) != before

    def _keep_samples(self, planned: PlannedCell, judged: JudgedRun) -> None:
        file = self._bench.images.symbols(planned.booted, planned.workload)
        if file is None or planned.system.result.format is not ResultFormat.BENCH:
            return
        transcript = wire.parse(read_console(judged.run), nonce=judged.run.nonce)
        self._add(planned.guest, attribution.sampled_symbols(transcript, self._symbols_in(file)))

    def _keep_trails(self, planned: PlannedCell, judged: JudgedRun) -> None:
        events, file = RunFiles(judged.run).thread_events, self._bench.symbols(planned).kernel
        if events is None or file is None:
            return
        wakes = (event for event in events.events if isinstance(event, WakeEvent))
        places = {address for wake in wakes for address in wake.trail}
        self._add(planned.guest, self._symbols_in(file).containing(places))

    def _symbols_in(self, file: Path) -> Symbols:
        if file not in self._read:
            self._read[file] = read_symbols(file)
        return self._read[file]

    def _add(self, guest: str, symbols: Symbols) -> None:
        known = stored_symbols({"symbols": self.kept}, "this session", guest)
        self.kept[guest] = symbols_of(known, symbols)
