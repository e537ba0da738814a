"""The files of a worker are read once, and only those of the run that was asked for are taken."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base import exploration
from benchgate.base.exploration import Exploration, Strategy
from benchgate.base.files import file_digest
from benchgate.base.snapshots import SnapshotRecord
from benchgate.features.fleet import answer
from benchgate.features.fleet.errors import FleetError
from benchgate.features.fleet.packing import TaskPackage, packed
from benchgate.features.fleet.received import received
from benchgate.features.fleet.tools.scale import write_folder
from benchgate.run.attempt import RunRequest
from tests.standin import request_of

SYNC = Exploration(Strategy.SYNC, 7)


@pytest.fixture
def asked(tmp_path: Path) -> RunRequest:
    (tmp_path / "kernel").write_bytes(b"kernel")
    return request_of(3, Path("/a/runs/1"), tmp_path)


def sent_back(wanted: TaskPackage, folder: Path, change: Callable[[Path], object] = lambda _: None) -> bytes:
    folder.mkdir()
    write_folder(folder, wanted.task, {"serial.log": 10})
    change(folder)
    return answer.made(wanted.key, "worker", "host", folder)


def pack(request: RunRequest) -> TaskPackage:
    return packed(request, file_digest, "c" * 64)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("argv.json", "{", "Expecting"),
        ("argv.json", "{}", "argv.json is no list"),
        ("argv.json", "[1]", "something that is no text"),
        ("environment.json", "[" * 100_000, "nested too deeply"),
        ("environment.json", '{"A": [1]}', "something that is no text"),
        ("run.json", "[]", "is not a run that benchgate wrote"),
        ("run.json", None, "its folder has no run.json"),
        ("environment.json", None, "its folder has no environment.json"),
    ],
)
def test_a_folder_that_no_worker_leaves(
    asked: RunRequest, tmp_path: Path, name: str, content: str | None, why: str
) -> None:
    def change(folder: Path) -> None:
        (folder / name).unlink() if content is None else (folder / name).write_text(content)

    wanted = pack(asked)
    with pytest.raises(FleetError, match=why):
        received(sent_back(wanted, tmp_path / "made", change), wanted)


def explored(text: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        raw = json.loads((folder / "run.json").read_text())
        digest = exploring_digest(text)
        (folder / "run.json").write_text(json.dumps({**raw, "exploration": digest}))
        (folder / exploration.FILE).write_text(text)

    return change


def exploring_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_an_explored_run_is_that_of_its_task(asked: RunRequest, tmp_path: Path) -> None:
    wanted = pack(replace(asked, spec=replace(asked.spec, exploration=SYNC)))
    given = received(sent_back(wanted, tmp_path / "right", explored(SYNC.text)), wanted)
    assert given.run is not None
    assert given.run.raw.exploration == SYNC
    another = replace(SYNC, seed=8).text
    with pytest.raises(FleetError, match="it was not explored as the task says"):
        received(sent_back(wanted, tmp_path / "other", explored(another)), wanted)
    with pytest.raises(FleetError, match="it was not explored as the task says"):
        received(sent_back(wanted, tmp_path / "plain"), wanted)


def test_a_warm_run_is_that_of_its_task(asked: RunRequest, tmp_path: Path) -> None:
    start = SnapshotRecord(15, 7, 3, {"ram": "a" * 64}, {"words": "x"})
    cold, words = pack(asked), "quiet bench.workload=primes"
    wanted = replace(cold, task=replace(cold.task, start=start, words=words))

    def started(record: SnapshotRecord, told: str) -> Callable[[Path], None]:
        def change(folder: Path) -> None:
            record.save(folder)
            (folder / "words").write_text(told)

        return change

    right = started(start, f"{words}\n")
    assert received(sent_back(wanted, tmp_path / "right", right), wanted).run is not None
    others = {
        "cold": (lambda _: None, "did not start where"),
        "boot": (started(replace(start, boot=4), f"{words}\n"), "did not start where"),
        "ram": (started(replace(start, digests={"ram": "b" * 64}), f"{words}\n"), "did not start where"),
        "words": (started(start, f"{words} more\n"), "other words"),
        "broken": (lambda folder: (folder / "start.json").write_text("{"), "start.json cannot be read"),
    }
    for name, (change, why) in others.items():
        with pytest.raises(FleetError, match=why):
            received(sent_back(wanted, tmp_path / name, change), wanted)
    with pytest.raises(FleetError, match="did not start where"):
        received(sent_back(cold, tmp_path / "warm", right), cold)


def test_a_file_of_this_machine_is_never_read_for_a_worker(
    asked: RunRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record that names an exploration, without the file."""
    wanted = pack(replace(asked, spec=replace(asked.spec, exploration=SYNC)))
    (tmp_path / exploration.FILE).write_text(SYNC.text)
    monkeypatch.chdir(tmp_path)

    def change(folder: Path) -> None:
        explored(SYNC.text)(folder)
        (folder / exploration.FILE).unlink()

    with pytest.raises(FleetError, match="exploration"):
        received(sent_back(wanted, tmp_path / "made", change), wanted)
