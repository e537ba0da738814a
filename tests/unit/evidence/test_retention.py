"""Old sessions are removed, running ones are kept, and errors name the folder."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchgate.base.errors import EvidenceError
from benchgate.evidence import retention
from benchgate.evidence.session_folder import SessionFolder
from tests.unit.sessions import END, INFO


def test_old_sessions_are_removed_but_never_a_running_or_foreign_one(tmp_path: Path) -> None:
    ids = []
    for day in range(1, 5):
        session = SessionFolder.create(
            tmp_path, INFO, started=datetime(2026, 1, day, tzinfo=UTC), short_id="aaaaaa"
        )
        if day != 2:
            session.close(END)
        ids.append(session.id)
    foreign = tmp_path / "runs" / "my notes"
    foreign.mkdir()
    assert retention.prune(tmp_path, 0) == ()
    assert retention.prune(tmp_path, 1, current=ids[3]) == (ids[0], ids[2])
    left = sorted(one.name for one in (tmp_path / "runs").iterdir())
    assert left == [ids[1], ids[3], "my notes"]
    assert retention.prune(tmp_path / "absent", 1) == ()


def made(reports: Path, day: int) -> SessionFolder:
    session = SessionFolder.create(
        reports, INFO, started=datetime(2026, 1, day, tzinfo=UTC), short_id="aaaaaa"
    )
    session.close(END)
    return session


def test_a_reused_process_number_does_not_protect_a_session(tmp_path: Path) -> None:
    old, new = made(tmp_path, 1), made(tmp_path, 2)
    facts = json.loads((old.folder / "session.json").read_text())
    assert facts["pid_started"] is None
    facts.update(pid=os.getpid(), pid_started=1)
    (old.folder / "session.json").write_text(json.dumps(facts))
    assert retention.prune(tmp_path, 1) == (old.id,)
    assert new.folder.is_dir()


def test_a_session_that_cannot_be_removed_is_named_and_the_others_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, _ = made(tmp_path, 1), made(tmp_path, 2), made(tmp_path, 3)
    remove = shutil.rmtree

    def refuse(folder: Path) -> None:
        if folder == first.folder:
            raise PermissionError(1, "Operation not permitted", str(folder))
        remove(folder)

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(EvidenceError, match=rf"{first.id} cannot be removed: Operation not permitted"):
        retention.prune(tmp_path, 1)
    assert (first.folder.is_dir(), second.folder.exists()) == (True, False)


def test_two_sessions_may_prune_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, _ = made(tmp_path, 1), made(tmp_path, 2)

    def gone(folder: Path) -> None:
        raise FileNotFoundError(2, "No such file", str(folder / "serial.log"))

    monkeypatch.setattr(shutil, "rmtree", gone)
    assert retention.prune(tmp_path, 1) == (old.id,)
