"""A full disk, or a place that cannot be written: an error message, and the existing files are kept."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchgate.base.errors import EvidenceError
from benchgate.evidence import results_csv
from benchgate.evidence.chain import parse_chain
from benchgate.evidence.check import verify_session
from benchgate.evidence.files import read_object
from benchgate.evidence.session_folder import SessionFolder
from tests.machines import PATIENCE_S
from tests.unit.factories import cell, raw_run, run_row, verified
from tests.unit.sessions import INFO, START, finished_session, new_session

REPO = Path(__file__).parents[2]

FILL = """
import resource, signal, sys
from pathlib import Path
from benchgate.base.errors import EvidenceError
from tests.unit.factories import cell, raw_run, run_row, verified
from tests.unit.sessions import new_session

session = new_session(Path(sys.argv[1]))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    for number in range(1, 1000):
        session.begin("primes-linux-smp1")
        session.record(run_row(raw_run(cell(1), attempt=number), verified(raw_run(cell(1)), 100)))
except EvidenceError as error:
    print(error)
"""


def test_a_file_that_cannot_grow_keeps_whole_lines_only(tmp_path: Path) -> None:
    """The system's own limit on the size of a file, so the write is cut in the middle of a line."""
    done = subprocess.run(
        [sys.executable, "-c", FILL, str(tmp_path)],
        cwd=REPO,
        env={**os.environ, "PYTHONPATH": f"{REPO / 'src'}:{REPO}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search("cannot be written: File too large; .*; free disk space", done.stdout)
    folder = (tmp_path / "latest").resolve()
    rows = results_csv.parse((folder / "results.csv").read_text(), "results.csv")
    links = parse_chain((folder / "attempts.jsonl").read_text(), "attempts.jsonl")
    assert rows
    assert [row.run for row in rows] == list(range(1, len(rows) + 1))
    assert len(links) in (len(rows), len(rows) + 1)
    assert read_object(folder, "session.json")["state"] == "partial"


def test_no_room_for_a_report_leaves_the_old_one_and_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = new_session(tmp_path)
    session.write("summary.md", "old\n")

    def full(_: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EvidenceError, match=r"summary\.md cannot be written: No space left on device"):
        session.write("summary.md", "new\n")
    assert (session.folder / "summary.md").read_text() == "old\n"
    assert not (session.folder / "summary.md.new").exists()


def test_no_room_for_a_row_removes_the_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = new_session(tmp_path)
    session.begin("primes-linux-smp1")

    def full(_: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EvidenceError, match="No space left on device"):
        session.record(run_row(raw_run(cell(1)), verified(raw_run(cell(1)), 100)))
    assert (session.folder / "attempts.jsonl").read_text() == ""
    assert (session.folder / "results.csv").read_text() == results_csv.HEADER


def test_a_file_in_place_of_the_reports_folder(tmp_path: Path) -> None:
    place = tmp_path / "reports"
    place.write_text("mine")
    with pytest.raises(EvidenceError, match=r"cannot be written: .*--reports"):
        SessionFolder.create(place, INFO, started=START, short_id="abcdef")
    assert place.read_text() == "mine"


def test_a_folder_of_the_user_named_latest_is_kept(tmp_path: Path) -> None:
    (tmp_path / "latest").mkdir()
    (tmp_path / "latest/notes").write_text("mine")
    with pytest.raises(
        EvidenceError, match=r"latest cannot be written: .*move the existing file or folder away"
    ):
        new_session(tmp_path)
    assert (tmp_path / "latest/notes").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["latest"]  # no folder of a session is left behind


def test_two_sessions_with_one_name_do_not_share_a_folder(tmp_path: Path) -> None:
    finished_session(tmp_path)
    with pytest.raises(EvidenceError, match="File exists"):
        new_session(tmp_path)


def test_a_results_file_replaced_by_a_link_is_not_written(tmp_path: Path) -> None:
    session = new_session(tmp_path)
    session.begin("primes-linux-smp1")
    target = tmp_path / "target"
    target.write_text("mine")
    (session.folder / "results.csv").unlink()
    (session.folder / "results.csv").symlink_to(target)
    with pytest.raises(EvidenceError, match=r"results\.csv cannot be written"):
        session.record(run_row(raw_run(cell(1)), verified(raw_run(cell(1)), 100)))
    assert target.read_text() == "mine"


ENDLESS = FILL.replace("(4096, 4096)", "(1 << 30, 1 << 30)").replace("range(1, 1000)", "range(1, 10**6)")


def test_a_killed_session_keeps_its_runs_and_is_partial(tmp_path: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(tmp_path)],
        cwd=REPO,
        env={**os.environ, "PYTHONPATH": f"{REPO / 'src'}:{REPO}"},
    )
    results = tmp_path / "latest/results.csv"
    deadline = time.monotonic() + PATIENCE_S
    while not (results.exists() and results.read_text().count("\n") > 5):
        assert time.monotonic() < deadline, "the writer wrote nothing"
        time.sleep(0.01)
    writer.kill()
    assert writer.wait(timeout=PATIENCE_S) == -9
    folder = (tmp_path / "latest").resolve()
    rows = results_csv.parse(results.read_text(), "results.csv")
    assert [row.run for row in rows] == list(range(1, len(rows) + 1))
    assert read_object(folder, "session.json")["state"] == "partial"
    check = verify_session(folder)
    assert check.exit_code == 11
    assert "tampered" not in check.text
