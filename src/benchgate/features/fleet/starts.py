"""On a worker: the snapshot from which a task's guest starts, which the worker makes itself.

No snapshot travels, because QEMU trusts the file from which it restores a machine. The worker boots the
task's guest with the words that it has checked (words.py), less what a restored guest needs, and compares the
digests of what it saved with those of the task. So a guest is restored only with the words with which it was
saved here, and every worker repeats the session's boot.

Takes a checked task, and where this worker has everything; gives the snapshot, None for a task without one.
Fails with RefusedError if the worker's boot is not the session's, and like run/snapshot_cache.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path

from benchgate.base.exploration import FILE as EXPLORATION
from benchgate.base.runs import BootSpec, Uses
from benchgate.base.snapshots import SAVED, STARTED, GuestSnapshot, SnapshotRecord
from benchgate.base.system.qemu import guest_name
from benchgate.base.text import counted
from benchgate.build.cache_storage import Notice
from benchgate.features.fleet.equipment import Equipment
from benchgate.features.fleet.errors import RefusedError
from benchgate.features.fleet.packing import unpacked
from benchgate.features.fleet.task import INITRD, PROGRAM, START, FolderFile, KeptFile, Task, Word
from benchgate.run.snapshot_cache import BootToKeep, kept

_OPTION = re.compile(rf",({'|'.join(STARTED.options)})=[0-9:]*")


def start_of(
    task: Task, equipment: Equipment, files: Mapping[str, Path], notice: Notice
) -> GuestSnapshot | None:
    """`files`: where this worker has the guest's, by SHA-256."""
    if task.start is None:
        return None
    boot = _boot(task, task.start, equipment, files)
    snapshot = kept(boot, notice)
    if differs := _difference(snapshot.record, task.start):
        raise RefusedError(
            f"the snapshot that this worker makes for {task.cell.id}, boot {task.start.boot}, is not the "
            f"session's: {differs} differs; make its runs elsewhere, or start cold"
        )
    return GuestSnapshot(snapshot.folder, task.start)


def _difference(ours: SnapshotRecord, theirs: SnapshotRecord) -> str:
    """The first thing in which both differ, but for their inputs: a session names more of them. Empty: they
    are the same."""
    names = [field.name for field in fields(SnapshotRecord) if field.name != "inputs"]
    return next((name for name in names if getattr(ours, name) != getattr(theirs, name)), "")


def _boot(task: Task, start: SnapshotRecord, equipment: Equipment, files: Mapping[str, Path]) -> BootToKeep:
    later = {PROGRAM, INITRD} if any(item.role == START for item in task.items) else {PROGRAM}
    early = [item for item in task.files if item.role not in later]
    guest = {item.role: files[item.sha256] for item in early}

    def spec(mark: str, work: Path) -> BootSpec:
        argv = saving_words(task, mark, start.boot)
        saving = replace(task, argv=argv, start=None, words="", exploration="")
        made = unpacked(saving, work, equipment, files).spec
        return replace(made, uses=Uses(equipment.qemu, equipment.plugin, guest))

    told = f"{task.cell.system}, {counted(task.cell.cpus, 'CPU')}, boot {start.boot}"
    return BootToKeep(told, spec, task.script, start.boot, {item.role: item.sha256 for item in early})


def saving_words(task: Task, mark: str, boot: int) -> tuple[Word, ...]:
    """The command line of the guest of which the snapshot is taken, for that of a guest that starts at it:
    what is of `STARTED` becomes that of `SAVED`."""
    result: list[Word] = []
    option: Word = ()
    for word in task.argv:
        if STARTED.more[0] not in (*option, *word):
            result.append(_saving(option, word, mark, boot))
        option = word
    return tuple(result)


def _saving(option: Word, word: Word, mark: str, boot: int) -> Word:
    match option:
        case ("-name",):
            return (f"guest={guest_name(mark)},debug-threads=on",)
        case ("-fw_cfg",) if isinstance(word[0], str):
            return (word[0].removesuffix(STARTED.content) + SAVED.content,)
        case ("-object",) if any(isinstance(part, KeptFile) for part in word):
            return tuple(f",{SAVED.memory}" if part == f",{STARTED.memory}" else part for part in word)
        case ("-plugin",):
            parts = (part for part in word if part != FolderFile(EXPLORATION))
            return tuple(_plugin(part, boot) if isinstance(part, str) else part for part in parts)
    return word


def _plugin(text: str, boot: int) -> str:
    """The options of a boot that nobody explores, with its seed."""
    return _OPTION.sub(lambda match: f",{match[1]}={boot}" if match[1] in SAVED.options else "", text)
