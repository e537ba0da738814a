"""Takes a snapshot of a booted guest on the instruction clock, and starts a guest from one.

`take` takes a guest that begins now and whose memory is a file of its own; fills a folder with the snapshot's
files and gives its record. The guest stops at a moment of its own, with every CPU halted, so that the same
guest gives the same snapshot on every host. `load` takes a QEMU that waits for a snapshot, and `begin` lets
its guest run. QEMU's own migration to a file carries CPUs and devices; the memory is a file that is mapped,
so that a run reads only what it touches. Fails with BootError if the guest never comes to rest, if it ends,
or if QEMU cannot save or load it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.conversation import Conversation
from benchgate.base.errors import BootError
from benchgate.base.files import file_digest, pages_digest
from benchgate.base.snapshots import (
    CACHES,
    CONSOLE,
    DISK,
    RAM,
    STATE,
    GuestSnapshot,
    SnapshotRecord,
    keep_pages,
)
from benchgate.base.system.script import Script
from benchgate.base.text import one_line
from benchgate.insn.talk import EndOfTalk, GuestStop, StopKind, Talk, TypingPace
from benchgate.run.console import Console
from benchgate.run.qmp import Qmp, QmpError

QUIET_NS = 10_000_000
"""A guest that types nothing must have printed nothing for so long."""
_STEP_NS = 1_000_000
"""A guest that is ready, but at work at that moment, is looked at so often."""
_LOOK_S = 0.002
_SECONDS = 180.0
_DEBUGGED_S = 0.1
_MOST_PRINTED = 32 << 10
"""The console of a snapshot is put into a pipe, which a host may keep as small as this."""
_WAITS = re.compile(rb"^benchwaits\r?$", re.MULTILINE)
"""Our PID 1 prints it where it waits (guest/init/start.c)."""

IsReady = Callable[[bytes], bool]


def readiness(script: Script | None) -> IsReady:
    """Whether a guest that has printed this is ready: at its first prompt, or where our PID 1 waits."""
    if script is None:
        return lambda printed: _WAITS.search(printed) is not None

    def is_prompted(printed: bytes) -> bool:
        said = Conversation(script)
        said.feed(printed)
        return said.pending is not None

    return is_prompted


def typing_pace(script: Script | None) -> TypingPace:
    return TypingPace(QUIET_NS) if script is None else TypingPace(script.delay_ns, script.byte_ns)


@dataclass(frozen=True, slots=True)
class SavedGuest:
    """The ends of a guest of which a snapshot is taken."""

    console: Console
    talk: Talk
    qmp: Qmp
    work: Path
    """The folder in which QEMU keeps its memory and its disks, and the clock the state of the caches."""


@dataclass(frozen=True, slots=True)
class BootToSave:
    """What is known of a boot of which a snapshot is taken."""

    script: Script | None
    deadline_s: float
    """How much guest time it may take."""
    boot: int
    """The seed of the instruction clock."""
    inputs: Mapping[str, str]
    """Everything on which the snapshot's content depends."""


def take(guest: SavedGuest, folder: Path, boot: BootToSave) -> SnapshotRecord:
    """The guest must not run on afterwards."""
    console, talk, qmp = guest.console, guest.talk, guest.qmp
    ready, limit_ns = readiness(boot.script), int(boot.deadline_s * 1e9)
    stop, printed = _at_rest(console, talk, ready, limit_ns)
    talk.pause()
    qmp.execute("stop", seconds=_SECONDS)
    _share_memory(qmp)
    qmp.execute("migrate", {"uri": f"file:{folder / STATE}"}, seconds=_SECONDS)
    _await(qmp, "saved")
    (folder / CONSOLE).write_bytes(printed)
    large = [path for kind in (f"{RAM}*", CACHES, f"{DISK}[0-9]*") for path in sorted(guest.work.glob(kind))]
    for path in large:
        keep_pages(path, folder / path.name)
    digests = {path.name: pages_digest(folder / path.name) for path in large}
    digests[STATE] = file_digest(folder / STATE)
    record = SnapshotRecord(stop.time, stop.console, boot.boot, digests, boot.inputs, stop.unstarted)
    record.save(folder)
    return record


def _at_rest(console: Console, talk: Talk, ready: IsReady, limit_ns: int) -> tuple[GuestStop, bytes]:
    """Runs the guest until it is ready, quiet, and every CPU is halted."""
    printed, was_quiet = b"", False
    while True:
        try:
            stop = talk.stop()
        except EndOfTalk:
            printed += _heard(console)
            last = one_line(printed.decode(errors="replace").strip().rpartition("\n")[2], 200)
            raise BootError(f"it ended before a snapshot could be taken; its last line: {last}") from None
        printed += _heard(console)
        was_quiet = ready(printed) and (was_quiet or stop.kind is StopKind.QUIET)
        if was_quiet and stop.rests:
            break
        if stop.time >= limit_ns:
            why = "its CPUs are never all halted" if was_quiet else "it is not ready"
            raise BootError(f"no snapshot can be taken: after {limit_ns / 1e9:g} s of guest time {why}")
        talk.run(stop.time + _STEP_NS if was_quiet else limit_ns)
    if len(printed) != stop.console:
        raise BootError(f"no snapshot can be taken: of {stop.console} bytes {len(printed)} were read")
    if len(printed) > _MOST_PRINTED:
        raise BootError(f"no snapshot can be taken: the guest has printed more than {_MOST_PRINTED} bytes")
    return stop, printed


def _heard(console: Console) -> bytes:
    heard = b""
    while console.has_output():
        heard += console.read_nonblocking(1 << 16, 0)
    return heard


def load(qmp: Qmp, snapshot: GuestSnapshot) -> None:
    """Loads the snapshot into a QEMU that waits for it; the guest then stands where it was saved."""
    _share_memory(qmp)
    # After a migration QEMU announces its network cards, by a timer that the host's clock sets.
    qmp.execute("migrate-set-parameters", {"announce-rounds": 0}, seconds=_SECONDS)
    qmp.execute("migrate-incoming", {"uri": f"file:{snapshot.state}"}, seconds=_SECONDS)
    _await(qmp, "loaded")


def await_running(qmp: Qmp, seconds: float) -> None:
    """Waits until somebody else continues QEMU."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = qmp.execute("query-status", seconds=_SECONDS)
        if isinstance(answer, dict) and answer.get("running") is True:
            return
        time.sleep(_DEBUGGED_S)
    raise QmpError(f"nobody continued the guest within {seconds:g} s")


def begin(qmp: Qmp, talk: Talk) -> None:
    """QEMU runs again (`cont`); now the guest's time begins."""
    talk.begin()
    qmp.execute("query-status", seconds=_SECONDS)  # so that QEMU's main loop looks at its descriptors


def _share_memory(qmp: Qmp) -> None:
    """The memory is not in the stream: it is a file that both QEMUs have."""
    shared = [{"capability": "x-ignore-shared", "state": True}]
    qmp.execute("migrate-set-capabilities", {"capabilities": shared}, seconds=_SECONDS)


def _await(qmp: Qmp, what: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while True:
        answer = qmp.execute("query-migrate", seconds=_SECONDS)
        status = answer.get("status") if isinstance(answer, dict) else None
        if status == "completed":
            return
        if status in ("failed", "cancelled") or time.monotonic() > deadline:
            why = answer.get("error-desc", status) if isinstance(answer, dict) else answer
            raise QmpError(f"the snapshot could not be {what}: {one_line(str(why), 300)}")
        time.sleep(_LOOK_S)
