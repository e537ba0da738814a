"""sweep_stale ends leftover guests of benchgate and no other process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.errors import HostError
from benchgate.base.process import start_time
from benchgate.run.stale import recorded, runtime_folder, sweep_stale
from tests.machines import PATIENCE_S

MARK = "benchgate-00ff00ff00ff00ff"


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def guest() -> Iterator[subprocess.Popen[bytes]]:
    """A process like a leftover guest: it has the mark in its argv and leads a process group."""
    process = subprocess.Popen(["/bin/sh", "-c", "sleep 600; :", MARK], process_group=0)
    yield process
    with contextlib.suppress(ProcessLookupError):  # the test ended it
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def record(process: subprocess.Popen[bytes], **changes: Any) -> Path:
    dead = subprocess.Popen(["true"])
    dead.wait()
    values = {
        "mark": MARK,
        "pid": process.pid,
        "started": start_time(process.pid),
        "owner": dead.pid,
        "owner_started": 1,
    }
    path = runtime_folder() / "guest-1-1.json"
    path.write_text(json.dumps({**values, **changes}))
    return path


def test_a_leftover_guest_is_ended(guest: subprocess.Popen[bytes], root: Path) -> None:
    record(guest)
    (sentence,) = sweep_stale()
    assert f"ended guest {guest.pid}" in sentence
    assert guest.wait(PATIENCE_S) == -9
    assert list(root.iterdir()) == []


def test_a_process_that_reuses_the_owners_pid_protects_nothing(
    guest: subprocess.Popen[bytes],
) -> None:
    record(guest, owner=os.getpid(), owner_started=1)
    assert len(sweep_stale()) == 1


@pytest.mark.parametrize(
    "changes",
    [{"started": 1}, {"mark": "benchgate-another0"}, {"pid": 2**22 + 1}],
    ids=["start", "mark", "pid"],
)
def test_a_process_unlike_its_record_is_left_alone(
    guest: subprocess.Popen[bytes], changes: dict[str, Any]
) -> None:
    path = record(guest, **changes)
    assert sweep_stale() == ()
    assert guest.poll() is None
    assert not path.exists()


def test_the_guest_of_a_running_session_is_left_alone(guest: subprocess.Popen[bytes]) -> None:
    path = record(guest, owner=os.getpid(), owner_started=start_time(os.getpid()))
    assert sweep_stale() == ()
    assert guest.poll() is None
    assert path.exists()


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b'"x"', b'{"pid": 1}', b"\xff\xfe", b'{"a":' * 5000],
)
def test_an_invalid_record_is_removed(text: bytes) -> None:
    path = runtime_folder() / "guest-2-2.json"
    path.write_bytes(text)
    assert sweep_stale() == ()
    assert not path.exists()


@pytest.mark.parametrize("changes", [{"pid": 1}, {"pid": "7"}, {"pid": True}, {"mark": 7}, {"mark": ""}])
def test_a_record_with_wrong_values_ends_nothing(
    guest: subprocess.Popen[bytes], changes: dict[str, Any]
) -> None:
    record(guest, **changes)
    assert sweep_stale() == ()
    assert guest.poll() is None


def test_a_record_exists_until_the_block_ends(guest: subprocess.Popen[bytes], root: Path) -> None:
    with recorded(guest.pid, start_time(guest.pid), MARK):
        (path,) = runtime_folder().iterdir()
        values = json.loads(path.read_text())
        assert (values["pid"], values["owner"], values["mark"]) == (guest.pid, os.getpid(), MARK)
        assert runtime_folder().stat().st_mode & 0o777 == 0o700
    assert list(root.iterdir()) == []


def test_a_mark_that_is_too_short_is_refused(guest: subprocess.Popen[bytes]) -> None:
    with pytest.raises(ValueError, match="too short"), recorded(guest.pid, 1, "qemu"):
        pass


def test_a_folder_that_others_can_write_is_refused(root: Path) -> None:
    (root / f"benchgate-{os.getuid()}").mkdir()
    (root / f"benchgate-{os.getuid()}").chmod(0o777)
    with pytest.raises(HostError, match="not a private folder"):
        sweep_stale()


def test_a_symbolic_link_instead_of_the_folder_is_refused(root: Path, tmp_path: Path) -> None:
    (root / f"benchgate-{os.getuid()}").symlink_to(tmp_path)
    with pytest.raises(HostError, match="not a private folder"):
        runtime_folder()


@pytest.mark.parametrize("kind", ["gone", "file"])
def test_the_temporary_folder_is_used_if_the_runtime_folder_is_unusable(
    root: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    if kind == "file":
        (root / "file").write_text("")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(root / kind / "run"))
    monkeypatch.setattr("tempfile.tempdir", str(root))
    assert runtime_folder() == root / f"benchgate-{os.getuid()}"
    assert sweep_stale() == ()


def test_the_lack_of_any_folder_is_an_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(root / "gone"))
    monkeypatch.setattr("tempfile.tempdir", str(root / "gone too"))
    with pytest.raises(HostError, match=r"records of running guests: .*gone too.*Set XDG_RUNTIME_DIR"):
        runtime_folder()


@pytest.mark.parametrize("times", [1, 3, 100])
def test_a_folder_that_another_session_removes_meanwhile_is_made_again(
    root: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """The last guest of another session ends after this one has seen that the folder is there."""
    left, real = [times], Path.mkdir

    def mkdir(path: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        real(path, mode, parents, exist_ok)
        if left[0]:
            left[0] -= 1
            path.rmdir()

    monkeypatch.setattr(Path, "mkdir", mkdir)
    if times < 100:
        assert runtime_folder().parent == root
        return
    with pytest.raises(HostError, match="another process keeps removing"):
        runtime_folder()
