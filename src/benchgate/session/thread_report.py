"""What `benchgate threads` prints: of one run its books of threads, and why threads were late; of several
what their wasted time has in common, side by side; or what a run's machine counted, with lines that its
workload could promise.

Takes the folder of a run, of its replay or of a session; gives text, or JSON. Boots nothing and changes
nothing. Fails with EvidenceError for a folder without a run, with UsageError for a run whose threads were not
observed, and with VerifyError if its record contradicts itself.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.cells import Lane
from benchgate.base.console_text import plain
from benchgate.base.errors import UsageError
from benchgate.base.jsonfields import as_json
from benchgate.base.runs import RawRun
from benchgate.base.text import counted
from benchgate.base.workload.witness import EVENTS, PROGRAM
from benchgate.evidence.facts import stored_symbols
from benchgate.evidence.files import SESSION, read_object
from benchgate.insn.counts import SYSCALLS, CountedCpu
from benchgate.insn.counts import witnessed as counts_by_name
from benchgate.insn.log import ConsoleLine
from benchgate.insn.symbols import NO_SYMBOLS, Symbols, read_symbols
from benchgate.judge.accounts.threads.accounting import books_of_run
from benchgate.judge.accounts.threads.books import ThreadBooks, ThreadWait
from benchgate.judge.run_files import THREAD_EVENTS, RunFiles
from benchgate.render.tables import thread_account, threads
from benchgate.render.tables.thread_account import ToldRun
from benchgate.run.record import load
from benchgate.session.rejudging.rejudge import system_of

_OFFERED = ("atomics", "faults", "switches", "wakes", "forks")
_FEWEST, _MOST_TIMES, _FAR = 8, 16, 1.5
"""Of a figure below the first nothing is proposed; a count may be up to the second times a figure, and up to
the third times the promised one."""
_NUMBER, _MOST_NUMBERS = re.compile(r"(?<![\w.])[1-9][0-9]{0,11}(?![\w.])"), 1000
_UNNAMED = (SYSCALLS, "spaces", "halts")
"""What is proposed, too, of a system that names no system calls."""
_LENGTH = re.compile(r"_(?:ns|us|ms|s|kb|mb|bytes)\Z")
"""Parameters that are no counts, by the end of their names."""


@dataclass(frozen=True, slots=True)
class ThreadReportRequest:
    folder: Path
    most: int
    """How many of the longest waits are explained, if there is no limit."""
    late: float | None = None
    """All waits longer than so many ns are explained; None: the longest ones."""
    symbols: Path | None = None
    """A file with the kernel's symbols; None: those that the session kept."""
    is_json: bool = False
    phases: bool = False
    """What each thread did in each phase, too."""


def report_threads(asked: ThreadReportRequest) -> str:
    run = load(asked.folder)
    books = _books(run)
    view = threads.view_of(books, _symbols(asked, run))
    waits = _chosen(asked, books.waits)
    account = thread_account.account([ToldRun(run.folder.name, books, view)])
    if asked.is_json:
        return json.dumps(threads.plain(view, run.folder.name, books, waits, account), indent=1)
    told = [*thread_account.lines(account)]
    lines = threads.text(view, books, waits, told, phases=asked.phases)
    if asked.late is not None:
        lines += ["", _said_of(asked.late, books, len(waits))]
    return "\n".join(lines)


def report_several(folders: Sequence[Path], symbols: Path | None = None, *, is_json: bool = False) -> str:
    """Of runs, and of all runs of sessions whose threads were observed."""
    runs = []
    for folder in itertools.chain.from_iterable(map(runs_in, folders)):
        run = load(folder)
        books = _books(run)
        view = threads.view_of(books, _symbols(ThreadReportRequest(folder, 0, symbols=symbols), run))
        runs.append(ToldRun(run.folder.name, books, view))
    if not is_json:
        return "\n".join(thread_account.beside(runs))
    each = {run.name: as_json(thread_account.account([run])) for run in runs}
    return json.dumps({"runs": each, "together": as_json(thread_account.account(runs))}, indent=1)


def runs_in(folder: Path) -> list[Path]:
    """The folder of a run itself; of a session its observed runs, each seed once."""
    inside = folder / "runs"
    if not inside.is_dir():
        return [folder]
    found = sorted(run for run in inside.iterdir() if (run / THREAD_EVENTS).is_file())
    if not found:
        raise UsageError(f"{folder} has no run with {THREAD_EVENTS}; next: measure with --threads")
    # A seed that was run twice would count twice in what the runs have in common.
    return [run for run in found if not load(run).warmup] or found


def report_witness(folder: Path) -> str:
    """What the machine counted in a run's window, and lines for `witness:` of its workload's YAML to edit."""
    run = load(folder)
    files, observe, session = RunFiles(run), None, folder.parent.parent
    if (session / SESSION).is_file():
        facts = read_object(session, SESSION)
        observe = system_of(facts, run.cell.system, str(session / SESSION)).observe
    calls = {name: call.number for name, call in observe.calls.items()} if observe else {}
    figures = {name: value for name, value in run.cell.params if isinstance(value, int)}
    lines = files.clock.lines if run.lane is Lane.INSN else ()
    if lines and lines[-1].counted is not None:
        return _of_lines(files, lines, calls, figures)
    seen = _seen_in(files, calls)
    if b"@bench " in files.console:
        said = files.transcript
        figures |= {f"result.{name}": value for name, value in said.result.items()}
        printed: Counter[str] = Counter()
        for report in said.reports:
            printed.update(report.values)
        figures |= {f"printed.{name}": value for name, value in printed.items()}
    return _with_lines(f"In the window of {folder.name}", seen, figures)


def _with_lines(where: str, seen: Mapping[str, int], figures: Mapping[str, int]) -> str:
    told = ", ".join(f"{count:,} {name}" for name, count in sorted(seen.items(), key=lambda one: -one[1]))
    return "\n".join([f"# {where} the machine saw: {told}.", *proposed(seen, figures)])


def _of_lines(
    files: RunFiles, lines: Sequence[ConsoleLine], calls: Mapping[str, int], figures: Mapping[str, int]
) -> str:
    """The same of a system without marks: since something was typed last, or since its first line. What the
    guest says is every number that it printed since, and that was typed."""
    typed = files.clock.inputs[-1].console if files.clock.inputs else lines[0].end
    before = [line.counted for line in lines if line.end <= typed and line.counted is not None]
    after = lines[-1].counted or ()
    since = before[-1] if before else tuple(CountedCpu({}) for _ in after)
    seen = counts_by_name([cpu.since(old) for cpu, old in zip(after, since, strict=True)], calls)
    text = plain(files.console[typed:]).decode("ascii", "replace")
    said = {word: int(word) for word in _NUMBER.findall(text)[:_MOST_NUMBERS]}
    begin = "its last input" if files.clock.inputs else "its first line"
    where = f"In {files.run.folder.name}, since {begin},"
    return _with_lines(where, {name: count for name, count in seen.items() if count}, {**figures, **said})


def _seen_in(files: RunFiles, calls: Mapping[str, int]) -> dict[str, int]:
    """What the machine counted in the work window, under the names of claims. UsageError if nothing was."""
    counts = files.clock.counts if files.run.lane is Lane.INSN else None
    span = counts and (counts.work or counts.total)
    if not span:
        advice = f"measure with --clock insn, or benchgate replay {files.run.folder}"
        raise UsageError(f"{files.run.folder}: its machine counted nothing; next: {advice}")
    return {name: count for name, count in counts_by_name(span.vcpus, calls).items() if count}


def proposed(seen: Mapping[str, int], figures: Mapping[str, int]) -> list[str]:
    """YAML lines: each count that is about a whole multiple of a figure is promised to be at least that."""
    lines: list[str] = []
    has_names = any(name.startswith(f"{SYSCALLS}.") for name in seen)
    offered = _OFFERED if has_names else (*_OFFERED, *_UNNAMED)
    for name, count in sorted(seen.items()):
        near = [
            (count / (count // figure * figure), len(known), known, count // figure)
            for known, figure in figures.items()
            if figure >= _FEWEST and figure <= count < _MOST_TIMES * figure and not _LENGTH.search(known)
        ]
        if name in offered or name.startswith((f"{SYSCALLS}.", EVENTS)):
            off, _, known, times = min(near, default=(_FAR, 0, "", 0))
            if off < _FAR:
                counted_as = name.replace(f"{EVENTS}p_", PROGRAM)
                why = f"the machine saw {count:,}, the guest says {figures[known]:,}"
                lines.append(f"  - claim: {counted_as} >= {f'{times} * ' if times > 1 else ''}{known}")
                lines.append(f"    because: TODO  # {why}")
    return ["witness:", *lines] if lines else ["# No count is near a multiple of what the guest says."]


def _said_of(late: float, books: ThreadBooks, told: int) -> str:
    """How many waits were as long as --late, and whether all of them are explained."""
    count = sum(length >= late for length in books.wait_lengths)
    if not count:
        return "no thread waited as long as --late"
    cut = f"; explained are the {told:,} longest" if told < count else ""
    return f"{count:,} of {counted(len(books.wait_lengths), 'wait')} were as long as --late{cut}"


def _books(run: RawRun) -> ThreadBooks:
    books = books_of_run(RunFiles(run))
    if books is not None:
        return books
    if run.lane is not Lane.INSN:
        but = f"this run was made on lane {run.lane}; next: measure with --clock insn --threads"
        raise UsageError(f"{run.folder}: threads are seen on the instruction clock only, and {but}")
    advice = f"next: benchgate replay {run.folder} --threads, or measure with --threads"
    raise UsageError(f"{run.folder} has no {THREAD_EVENTS}: its threads were not observed; {advice}")


def _chosen(asked: ThreadReportRequest, waits: Sequence[ThreadWait]) -> Sequence[ThreadWait]:
    if asked.late is None:
        return waits[: asked.most]
    return [wait for wait in waits if wait.length >= asked.late]


def _symbols(asked: ThreadReportRequest, run: RawRun) -> Symbols:
    if asked.symbols is not None:
        return read_symbols(asked.symbols)
    session = asked.folder.parent.parent
    if not (session / SESSION).is_file():
        return NO_SYMBOLS
    facts = read_object(session, SESSION)
    return stored_symbols(facts, str(session / SESSION), run.cell.id, run.cell.row)
