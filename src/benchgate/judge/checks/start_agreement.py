"""Checks that a run began where its row says: at the machine's reset, or at a snapshot.

Takes the files of a run in a guest, and its system; gives nothing. Fails with VerifyError if the command
line, the clock's log, the record of the start or the console is of another start: a warm figure must never
stand in a cold row, nor a cold one in a warm row. A system's own YAML may give QEMU any argument, so the
command line of each lane is searched for one that restores a machine.
"""

from __future__ import annotations

from benchgate.base.cells import Lane
from benchgate.base.errors import VerifyError
from benchgate.base.snapshots import FILE, WORDS, StartKind
from benchgate.base.system.systems import System
from benchgate.judge.checks.machine_agreement import files_of_plugins
from benchgate.judge.run_files import ARGV, CONSOLE, THREAD_EVENTS, RunFiles

_RESTORING = frozenset(("incoming", "loadvm"))
"""QEMU's options, with one dash or two, for a machine that does not begin at its reset."""


def check_start(files: RunFiles, system: System) -> None:
    system = system.cold if files.run.cell.is_smoke else system
    warm, record = system.boot.start is StartKind.WARM, files.start
    seen = files.thread_events
    due = (record.time_ns, record.console) if warm and record is not None else None
    restores = {word.removeprefix("-").removeprefix("-") for word in files.argv if word[:1] == "-"}
    has_clock = files.run.lane is Lane.INSN
    found = {
        FILE: (record is not None) == warm,
        ARGV: sorted(restores & _RESTORING) == (["incoming"] if warm else [])
        and files_of_plugins(files.argv, "start") == ([] if due is None else [f"{due[0]}:{due[1]}"]),
        "clock.log": files.clock.start == due if has_clock else not warm,
        THREAD_EVENTS: seen is None or seen.start == (due and due[0]),
        CONSOLE: due is None or len(files.console) >= due[1],
        WORDS: bool(files.words) == system.boot.takes_words,
    }
    if wrong := [name for name, good in found.items() if not good]:
        raise VerifyError(
            f"{wrong[0]} of {files.run.folder.name} is not of a {system.boot.start} start, as its row says: "
            "the run began elsewhere, or one of its files was changed"
        )
