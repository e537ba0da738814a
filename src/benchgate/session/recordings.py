"""What a replay recorded besides the run's log, made into files that people and other programs read.

Takes the replay's folder and the files with the symbols; writes next to what the plugin wrote, and gives the
lines to print. Fails with VerifyError if a recording is not as the plugin writes it.
"""

from __future__ import annotations

from pathlib import Path

from benchgate.base.qemu import Qemu
from benchgate.base.systems import System
from benchgate.base.workloads import Workload
from benchgate.build.images import Images
from benchgate.insn.arguments import Records
from benchgate.insn.profile import Profile, folded, read_profile, top_table
from benchgate.insn.sharing import Sharing, named, read_sharing
from benchgate.insn.sharing import text as text_of_lines
from benchgate.insn.stacks import Stacks, read_stacks
from benchgate.insn.stacks import folded as folded_stacks
from benchgate.insn.symbols import NO_SYMBOLS, Symbols, linux_symbols, read_symbols
from benchgate.judge import sharing
from benchgate.judge.story.clock import EVENTS
from benchgate.judge.timeline import FOLDED
from benchgate.render.page.pictures import flame, line_map
from benchgate.render.tables import shared_lines
from benchgate.session import timeline

PROFILE, STACKS, PICTURE, TRACE = "profile.txt", "stacks.txt", "flame.svg", "trace.json"
SHARING, LINES_PICTURE = "sharing.txt", "lines.svg"


def records(  # noqa: PLR0913 - keyword arguments
    folder: Path,
    *,
    profile: bool = False,
    events: bool = False,
    stacks: bool = False,
    lines: bool = False,
    window: tuple[int, int] | None = None,
) -> Records:
    """`window`: insn/arguments.py."""
    return Records(
        profile=folder / PROFILE if profile else None,
        events=folder / EVENTS if events else None,
        stacks=folder / STACKS if stacks else None,
        sharing=folder / SHARING if lines else None,
        window=window if profile or stacks else None,
    )


def profile(folder: Path, kernel: Path | None, user: Path | None) -> Profile:
    return read_profile(folder / PROFILE, _symbols(kernel) or NO_SYMBOLS, _symbols(user))


def profile_table(folder: Path, kernel: Path | None, user: Path | None) -> str:
    """Writes the folded stacks next to the profile; gives the table of the top symbols."""
    seen = profile(folder, kernel, user)
    stacks = folder / "folded.txt"
    stacks.write_text(folded(seen), encoding="utf-8")
    return f"{top_table(seen)}folded stacks: {stacks}{_missing(kernel)}"


def _missing(kernel: Path | None) -> str:
    """A sentence if nothing names the kernel's functions."""
    if kernel is not None and _symbols(kernel) != NO_SYMBOLS:
        return ""
    what = "no file has" if kernel is None else f"{kernel} does not have"
    return (
        f"\nnote: {what} the symbols of the kernel, so its functions have no names; next: --symbols FILE, "
        "its System.map or an ELF file of the same build that has symbols"
    )


def trace(folder: Path) -> list[str]:
    return timeline.write(folder, folder / TRACE)


def flame_graph(file: Path, kernel: Path | None, user: Path | None, label: str) -> list[str]:
    """Writes folded stacks and a picture next to the call stacks."""
    seen, picture = fold(file, kernel, user), file.with_name(PICTURE)
    picture.write_text(flame.standalone(seen, label), encoding="utf-8")
    total = sum(seen.values()) or 1
    lines = ["  instructions     own  with callees  function"]
    lines += [
        f"{own:14} {own / total:7.2%} {whole / total:13.2%}  {name}"
        for name, own, whole in flame.by_function(seen)
    ]
    return [*lines, f"flame graph: {picture}", f"folded stacks: {file.with_name(FOLDED)}"]


def fold(file: Path, kernel: Path | None, user: Path | None) -> Stacks:
    """Writes folded stacks next to the call stacks."""
    seen = read_stacks(file, _symbols(kernel) or NO_SYMBOLS, _symbols(user))
    file.with_name(FOLDED).write_text(folded_stacks(seen), encoding="utf-8")
    return seen


def moved_lines(file: Path, kernel: Path | None, user: Path | None, label: str) -> list[str]:
    """Writes the named lines and a picture next to the plugin's file."""
    seen, picture = name_lines(file, kernel, user), file.with_name(LINES_PICTURE)
    picture.write_text(line_map.standalone(seen, label), encoding="utf-8")
    told = shared_lines.text(seen)
    return [*told, f"picture: {picture}", f"the lines: {file.with_name(sharing.KEPT)}"]


def name_lines(file: Path, kernel: Path | None, user: Path | None) -> Sharing:
    """Writes the lines with the variables in them next to the plugin's file."""
    variables = [NO_SYMBOLS if one is None else read_symbols(one, data=True) for one in (kernel, user)]
    seen = named(read_sharing(file), *variables)
    file.with_name(sharing.KEPT).write_text(text_of_lines(seen), encoding="utf-8")
    return seen


def kernel_symbols(images: Images, qemu: Qemu, system: System, workload: Workload) -> Path | None:
    """The file with the kernel's symbols: the kernel itself, except for a distribution's Linux."""
    kernel = images.of(system, workload).kernel
    return linux_symbols(qemu, kernel) if kernel and system.boot.is_linux else kernel


def _symbols(file: Path | None) -> Symbols | None:
    return None if file is None else read_symbols(file)
