"""A snapshot is taken where a guest is ready and at rest, and loaded before anything runs. None is booted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from pathlib import Path
from typing import Any, cast

import pytest

from benchgate.base.errors import BootError
from benchgate.base.files import PAGE
from benchgate.base.snapshots import GuestSnapshot, SnapshotRecord, read_record
from benchgate.base.system.script import Script, ScriptStep
from benchgate.insn.talk import EndOfTalk, GuestStop, StopKind, Talk, TypingPace
from benchgate.run import snapshot
from benchgate.run.console import Console
from benchgate.run.qmp import Qmp, QmpError
from benchgate.run.snapshot import BootToSave, SavedGuest, readiness, take, typing_pace

MS = 1_000_000
QUIET, FULL, LATE, HALTED, START = (
    StopKind.QUIET, StopKind.FULL, StopKind.LATE, StopKind.HALTED, StopKind.START,
)  # fmt: skip
Turn = tuple[StopKind, bytes, int, bool]
"""A guest's next stop: its kind, what it printed before, its time in ms, and whether all CPUs are halted."""
BOOTS: tuple[Turn, ...] = ((START, b"", 0, True), (QUIET, b"Linux\n", 500, False))
READY = b"benchready\nbenchwaits\n"
PROMPT = Script(r"^\$ $", (ScriptStep("go", r"^\$ $"),), ready="^up$", delay_ns=3 * MS, byte_ns=7)


@dataclass
class Guest:
    """The three ends of a guest that plays these stops, and what was done to it, in order."""

    turns: Sequence[Turn]
    work: Path
    answers: list[Any] = field(default_factory=lambda: [{"status": "completed"}])
    """QEMU's answers to query-migrate; the last one is given again."""
    did: list[Any] = field(default_factory=list)
    output: bytes = b""
    printed: int = 0

    def stop(self) -> GuestStop:
        if not self.turns:
            raise EndOfTalk
        (kind, text, at, rests), self.turns = self.turns[0], self.turns[1:]
        self.output += text
        self.printed += len(text)
        return GuestStop(kind, self.printed, at * MS, 0, rests)

    def run(self, until_ns: int) -> None:
        self.did.append(until_ns)

    def pause(self) -> None:
        self.did.append("pause")

    def begin(self) -> None:
        self.did.append("begin")

    def has_output(self) -> bool:
        return bool(self.output)

    def read_nonblocking(self, size: int, _: float) -> bytes:
        piece, self.output = self.output[: min(size, 7)], self.output[min(size, 7) :]
        return piece

    def execute(self, name: str, arguments: Any = None, *, seconds: float) -> object:
        assert seconds >= 60  # a host may be slow
        self.did.append(name if arguments is None else (name, arguments))
        if name == "migrate":
            Path(arguments["uri"].removeprefix("file:")).write_bytes(b"devices")
        if name == "query-migrate":
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return {}

    @property
    def ends(self) -> SavedGuest:
        return SavedGuest(cast("Console", self), cast("Talk", self), cast("Qmp", self), self.work)


@pytest.fixture
def guest(tmp_path: Path) -> Callable[..., Guest]:
    work = tmp_path / "work"
    work.mkdir()
    (work / "ram").write_bytes(bytes(PAGE) + b"x" * PAGE + bytes(PAGE))
    (work / "caches").write_bytes(b"lines")
    (work / "clock.log").write_text("not a part of it")
    return lambda *turns, **more: Guest((*BOOTS, *turns), work, **more)


def to_save(script: Script | None = None, deadline_s: float = 10.0) -> BootToSave:
    return BootToSave(script, deadline_s, 3, {"qemu": "d"})


def kept(folder: Path) -> Path:
    (folder / "kept").mkdir()
    return folder / "kept"


SHARED = ("migrate-set-capabilities", {"capabilities": [{"capability": "x-ignore-shared", "state": True}]})


def test_a_guest_that_waits_is_saved_and_the_record_says_where(
    guest: Callable[..., Guest], tmp_path: Path
) -> None:
    one, folder = guest((QUIET, READY, 800, True)), kept(tmp_path)
    record = take(one.ends, folder, to_save())
    assert one.did == [
        10_000 * MS, 10_000 * MS, "pause", "stop", SHARED,
        ("migrate", {"uri": f"file:{folder / 'state'}"}), "query-migrate",
    ]  # fmt: skip
    assert record == read_record(folder)
    assert (record.time_ns, record.console, record.boot) == (800 * MS, len(b"Linux\n" + READY), 3)
    assert record.inputs == {"qemu": "d"}
    assert sorted(record.digests) == ["caches", "ram", "state"]
    assert len({*record.digests.values()}) == 3
    assert sorted(path.name for path in folder.iterdir()) == [
        "caches", "ram", "serial.log", "start.json", "state",
    ]  # fmt: skip
    assert GuestSnapshot(folder, record).printed == b"Linux\n" + READY
    assert (folder / "ram").read_bytes() == (one.work / "ram").read_bytes()


def test_each_node_has_its_own_memory(guest: Callable[..., Guest], tmp_path: Path) -> None:
    one, folder = guest((QUIET, READY, 800, True)), kept(tmp_path)
    for name in ("ram-node0", "ram-node1"):
        (one.work / name).write_bytes(name.encode())
    record = take(one.ends, folder, to_save())
    assert sorted(record.digests) == ["caches", "ram", "ram-node0", "ram-node1", "state"]
    assert (folder / "ram-node1").read_bytes() == b"ram-node1"


def test_a_ready_guest_that_works_is_looked_at_each_millisecond_until_it_rests(
    guest: Callable[..., Guest], tmp_path: Path
) -> None:
    one = guest((QUIET, READY, 800, False), (LATE, b"", 801, False), (LATE, b"", 802, True))
    record = take(one.ends, kept(tmp_path), to_save())
    assert one.did[:5] == [10_000 * MS, 10_000 * MS, 801 * MS, 802 * MS, "pause"]
    assert record.time_ns == 802 * MS


def test_a_guest_is_quiet_once_after_it_is_ready(guest: Callable[..., Guest], tmp_path: Path) -> None:
    """A stop for much output, or a rest in the middle of it, is no quiet moment."""
    one = guest((FULL, READY, 800, True), (LATE, b"", 850, True), (QUIET, b"more\n", 900, True))
    assert take(one.ends, kept(tmp_path), to_save()).time_ns == 900 * MS


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        (((QUIET, b"still\n", 10_000, True),), "after 10 s of guest time it is not ready"),
        (((QUIET, b"xbenchwaits\n", 800, True), (LATE, b"", 10_000, True)), "it is not ready"),
        (((QUIET, b"benchwaits soon\n", 800, True), (HALTED, b"", 10_001, True)), "it is not ready"),
        (((FULL, READY, 800, True), (FULL, READY, 10_000, True)), "it is not ready"),
        (((QUIET, READY, 9_999, False), (LATE, b"", 10_000, False)), "its CPUs are never all halted"),
        (((QUIET, READY, 10_000, False),), "its CPUs are never all halted"),
        ((), "it ended before a snapshot could be taken; its last line: Linux"),
        (((QUIET, b"kernel panic\n\x1b[2J\n", 800, False),), r"its last line: \\x1b\[2J"),
        (
            ((QUIET, b"y" * (32 << 10) + b"\n" + READY, 800, True),),
            "the guest has printed more than 32768 bytes",
        ),
    ],
)
def test_a_guest_that_cannot_be_saved_is_refused_with_the_reason(
    guest: Callable[..., Guest], tmp_path: Path, turns: Sequence[Turn], said: str
) -> None:
    one, folder = guest(*turns), kept(tmp_path)
    with pytest.raises(BootError, match=said):
        take(one.ends, folder, to_save())
    assert "pause" not in one.did
    assert list(folder.iterdir()) == []


def test_as_much_as_a_pipe_holds_may_be_printed(guest: Callable[..., Guest], tmp_path: Path) -> None:
    much = b"y" * ((32 << 10) - len(b"Linux\n\n" + READY)) + b"\n" + READY
    assert take(guest((QUIET, much, 800, True)).ends, kept(tmp_path), to_save()).console == 32 << 10


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_qemu_that_cannot_save_is_named(guest: Callable[..., Guest], tmp_path: Path, status: str) -> None:
    answers = [{"status": "active"}, {"status": status, "error-desc": "State blocked by\na device"}]
    one = guest((QUIET, READY, 800, True), answers=answers)
    with pytest.raises(QmpError, match=r"the snapshot could not be saved: State blocked by.*a device"):
        take(one.ends, kept(tmp_path), to_save())
    assert one.did.count("query-migrate") == 2
    (tmp_path / "kept" / "serial.log").unlink(missing_ok=True)
    bare = guest((QUIET, READY, 800, True), answers=[{"status": status}])
    with pytest.raises(QmpError, match=f"could not be saved: {status}"):
        take(bare.ends, tmp_path / "kept", to_save())


@pytest.mark.parametrize("answer", [{"status": "active"}, {}, [], None])
def test_qemu_that_never_ends_is_given_up(
    guest: Callable[..., Guest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    times = chain((0.0, 100.0, 179.0), repeat(181.0))
    monkeypatch.setattr("benchgate.run.snapshot.time.monotonic", lambda: next(times))
    monkeypatch.setattr(snapshot, "_LOOK_S", 0)
    one = guest((QUIET, READY, 800, True), answers=[answer])
    with pytest.raises(QmpError, match="the snapshot could not be saved"):
        take(one.ends, kept(tmp_path), to_save())
    assert one.did.count("query-migrate") == 3


# ---- ready


@pytest.mark.parametrize(
    ("printed", "is_ready"),
    [
        (b"", False),
        (b"benchwaits\n", True),
        (b"benchready\r\nbenchwaits\r\n", True),
        (b"a\nbenchwaits\nb\n", True),
        (b"benchwait", False),
        (b"[1.2] benchwaits\n", False),
        (b"benchwaits!\n", False),
    ],
)
def test_our_pid_1_says_that_it_waits(printed: bytes, is_ready: bool) -> None:
    assert readiness(None)(printed) is is_ready


@pytest.mark.parametrize(
    ("printed", "is_ready"),
    [
        (b"up\n$ ", True),
        (b"boot\r\nup\r\n\x1b[1m$ ", True),
        (b"$ ", False),
        (b"up\n", False),
        (b"up\n$ x", False),
        (b"up\n$ \nmore\n", False),
        (b"benchwaits\n", False),
    ],
)
def test_another_guest_is_ready_at_its_first_prompt(printed: bytes, is_ready: bool) -> None:
    assert readiness(PROMPT)(printed) is is_ready


def test_a_guest_at_its_prompt_is_saved_there(guest: Callable[..., Guest], tmp_path: Path) -> None:
    one = guest((QUIET, b"up\n", 700, True), (QUIET, b"$ ", 900, True))
    assert take(one.ends, kept(tmp_path), to_save(PROMPT)).time_ns == 900 * MS
    assert (tmp_path / "kept/serial.log").read_bytes() == b"Linux\nup\n$ "


def test_a_guest_that_types_nothing_is_quiet_for_longer() -> None:
    assert typing_pace(None) == TypingPace(10 * MS)
    assert typing_pace(PROMPT) == TypingPace(3 * MS, 7)


# ---- load


def saved(folder: Path) -> GuestSnapshot:
    return GuestSnapshot(folder, SnapshotRecord(9, 5, 0, {}, {}))


def test_all_is_set_before_the_snapshot_is_loaded(guest: Callable[..., Guest], tmp_path: Path) -> None:
    """The memory is not in the stream, and no network card is announced: the host's clock sets that timer."""
    one = guest(answers=[{"status": "setup"}, {"status": "active"}, {"status": "completed"}])
    snapshot.load(cast("Qmp", one), saved(tmp_path))
    assert one.did == [
        SHARED,
        ("migrate-set-parameters", {"announce-rounds": 0}),
        ("migrate-incoming", {"uri": f"file:{tmp_path / 'state'}"}),
        *["query-migrate"] * 3,
    ]


def test_qemu_that_cannot_load_is_named(guest: Callable[..., Guest], tmp_path: Path) -> None:
    one = guest(answers=[{"status": "failed", "error-desc": "Unknown ramblock"}])
    with pytest.raises(QmpError, match="the snapshot could not be loaded: Unknown ramblock"):
        snapshot.load(cast("Qmp", one), saved(tmp_path))


def test_a_guest_begins_when_the_clock_is_told_and_qemu_looks(guest: Callable[..., Guest]) -> None:
    one = guest()
    snapshot.begin(cast("Qmp", one), cast("Talk", one))
    assert one.did == ["begin", "query-status"]


def test_a_debugger_continues_the_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[object] = [{"running": False}, "odd", {"running": 1}, {"running": True}, {"running": False}]

    @dataclass
    class Stopped:
        def execute(self, name: str, *, seconds: float) -> object:
            assert (name, seconds >= 60) == ("query-status", True)
            return answers.pop(0)

    monkeypatch.setattr(snapshot, "_DEBUGGED_S", 0)
    snapshot.await_running(cast("Qmp", Stopped()), 60)
    assert len(answers) == 1
    with pytest.raises(QmpError, match="nobody continued the guest within 0 s"):
        snapshot.await_running(cast("Qmp", Stopped()), 0)
