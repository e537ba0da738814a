"""What was recorded besides a run's log, made into files that people and other programs read.

Takes the folder of a run or of its replay and the files with the symbols; writes next to what the plugin
wrote, and gives the lines to print. Fails with VerifyError if a recording is not as the plugin writes it. A
trace fails with EvidenceError for a folder without a run, and with UsageError for a file that exists or
cannot be written.
"""

from __future__ import annotations

from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.base.text import counted
from benchgate.insn.profile import Profile, folded, read_profile, top_table
from benchgate.insn.symbols import NO_SYMBOLS
from benchgate.judge.accounts import sharing
from benchgate.judge.accounts.story import story
from benchgate.judge.accounts.timeline import FOLDED
from benchgate.render.page.details import flame, shared_lines
from benchgate.render.tables import memory
from benchgate.render.trace import trace
from benchgate.run.record import load
from benchgate.session import keepers
from benchgate.session.keepers import symbols_in
from benchgate.session.workbench import SymbolFiles

PICTURE, TRACE, LINES_PICTURE = "flame.svg", "trace.json", "lines.svg"


def profile(folder: Path, symbols: SymbolFiles) -> Profile:
    return read_profile(
        folder / keepers.PROFILE, symbols_in(symbols.kernel) or NO_SYMBOLS, symbols_in(symbols.program)
    )


def profile_table(folder: Path, symbols: SymbolFiles) -> str:
    """Writes the folded stacks next to the profile; gives the table of the top symbols."""
    seen = profile(folder, symbols)
    stacks = folder / "folded.txt"
    stacks.write_text(folded(seen), encoding="utf-8")
    return f"{top_table(seen)}folded stacks: {stacks}{_missing(symbols.kernel)}"


def _missing(kernel: Path | None) -> str:
    """A sentence if nothing names the kernel's functions."""
    if kernel is not None and symbols_in(kernel) != NO_SYMBOLS:
        return ""
    what = "no file has" if kernel is None else f"{kernel} does not have"
    advice = "next: --symbols FILE, its System.map or an ELF file of the same build that has symbols"
    return f"\nnote: {what} the symbols of the kernel, so its functions have no names; {advice}"


def write_trace(folder: Path, out: Path) -> list[str]:
    """The trace of the run in this folder, for a viewer of traces; nothing else is changed there."""
    told = story(load(folder))
    try:
        with out.open("x", encoding="ascii") as stream:
            stream.write(trace(told))
    except FileExistsError:
        raise UsageError(f"--out {out} already exists; it was not changed; name another file") from None
    except OSError as error:
        raise UsageError(f"--out {out} cannot be written: {error.strerror}") from error
    spans, arrows = counted(len(told.spans), "span"), counted(len(told.arrows), "wake-up")
    has = f"{spans}, {arrows}, {counted(len(told.counters), 'sample')}"
    made = f"{out}: {has}; open it in Perfetto's viewer or chrome://tracing"
    return [made, *(f"note: {note}" for note in told.notes)]


def flame_graph(file: Path, symbols: SymbolFiles, label: str) -> list[str]:
    """Writes folded stacks and a picture next to the call stacks."""
    seen, picture = keepers.fold(file, symbols), file.with_name(PICTURE)
    picture.write_text(flame.standalone(seen, label), encoding="utf-8")
    total = sum(seen.values()) or 1
    lines = ["  instructions     own  with callees  function"]
    for name, own, whole in flame.by_function(seen):
        lines.append(f"{own:14} {own / total:7.2%} {whole / total:13.2%}  {name}")
    return [*lines, f"flame graph: {picture}", f"folded stacks: {file.with_name(FOLDED)}"]


def moved_lines(file: Path, symbols: SymbolFiles, label: str) -> list[str]:
    """Writes the named lines and a picture next to the plugin's file."""
    seen, picture = keepers.name_lines(file, symbols), file.with_name(LINES_PICTURE)
    picture.write_text(shared_lines.standalone(seen, label), encoding="utf-8")
    told = memory.shared_lines_text(seen)
    return [*told, f"picture: {picture}", f"the lines: {file.with_name(sharing.KEPT)}"]
