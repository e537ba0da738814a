"""What a replay recorded besides the run's log, made into files that people and other programs read.

Takes the replay's folder and the files with the symbols; writes next to what the plugin wrote, and gives the
lines to print. Fails with VerifyError if a recording is not as the plugin writes it.
"""

from __future__ import annotations

from pathlib import Path

from benchgate.base.boots import FETCHED_LINUX
from benchgate.base.qemu import Qemu
from benchgate.base.systems import System
from benchgate.base.workloads import Workload
from benchgate.build.images import Images
from benchgate.insn.linux_symbols import linux_symbols
from benchgate.insn.profile import folded, read_profile, top_table
from benchgate.insn.records import Records
from benchgate.insn.stacks import Stacks, read_stacks
from benchgate.insn.stacks import folded as folded_stacks
from benchgate.insn.symbols import NO_SYMBOLS, Symbols, read_symbols
from benchgate.judge.flames import FOLDED
from benchgate.judge.story.clock import EVENTS
from benchgate.render.page.pictures import flame
from benchgate.session import timeline

STACKS, PICTURE, TRACE = "stacks.txt", "flame.svg", "trace.json"


def records(folder: Path, *, profile: bool = False, events: bool = False, stacks: bool = False) -> Records:
    return Records(
        profile=folder / "profile.txt" if profile else None,
        events=folder / EVENTS if events else None,
        stacks=folder / STACKS if stacks else None,
    )


def profile_table(file: Path, kernel: Path | None, user: Path | None) -> str:
    """Writes the folded stacks next to the profile; gives the table of the top symbols."""
    seen = read_profile(file, _symbols(kernel) or NO_SYMBOLS, _symbols(user))
    stacks = file.with_name("folded.txt")
    stacks.write_text(folded(seen), encoding="utf-8")
    return f"{top_table(seen)}folded stacks: {stacks}"


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


def kernel_symbols(images: Images, qemu: Qemu, system: System, workload: Workload) -> Path | None:
    """The file with the kernel's symbols: the kernel itself, except for a distribution's Linux."""
    kernel = images.of(system, workload).kernel
    return linux_symbols(qemu, kernel) if kernel and system.boot.kernel == FETCHED_LINUX else kernel


def _symbols(file: Path | None) -> Symbols | None:
    return None if file is None else read_symbols(file)
