"""What `benchgate threads` prints of one run: its books of threads, and why threads were late.

Takes the folder of a run, or of its replay; gives text, or JSON. Boots nothing and changes nothing. Fails
with EvidenceError for a folder without a run, with UsageError for a run whose threads were not observed,
and with VerifyError if its record contradicts itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.cells import Lane
from benchgate.base.errors import UsageError
from benchgate.base.runs import RawRun
from benchgate.base.text import counted
from benchgate.evidence.facts import stored_symbols
from benchgate.evidence.files import SESSION, read_object
from benchgate.insn.symbols import NO_SYMBOLS, Symbols, read_symbols
from benchgate.judge.accounts.threads.accounting import books_of_run
from benchgate.judge.accounts.threads.books import ThreadBooks, ThreadWait
from benchgate.judge.run_files import THREAD_EVENTS, RunFiles
from benchgate.render.tables import threads
from benchgate.run.record import load


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
    if asked.is_json:
        return json.dumps(threads.plain(view, run.folder.name, books, waits), indent=1)
    lines = threads.text(view, books, waits, phases=asked.phases)
    if asked.late is not None:
        lines += ["", _said_of(asked.late, books, len(waits))]
    return "\n".join(lines)


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
        raise UsageError(
            f"{run.folder}: threads are seen on the instruction clock only, and this run was made on lane "
            f"{run.lane}; next: measure with --clock insn --threads"
        )
    raise UsageError(
        f"{run.folder} has no {THREAD_EVENTS}: its threads were not observed; next: benchgate replay "
        f"{run.folder} --threads, or measure with --threads"
    )


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
