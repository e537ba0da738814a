"""Only what `verify` finds intact is imported as verified; a copy of a session is never doubled."""

from __future__ import annotations

import re
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from benchgate import cli
from benchgate.base.errors import HistoryError
from benchgate.evidence import metrics_csv
from benchgate.evidence.session_folder import SessionFolder
from benchgate.history import reader, store
from benchgate.history.course import CoursePoint
from benchgate.session import history_import
from benchgate.session.rejudging.trust import TrustedPrograms
from tests.unit.history.entries import place
from tests.unit.history.test_writer import counts
from tests.unit.session.rejudging.test_rejudge import CELL, WORK, attempt, change, published
from tests.unit.session.rejudging.test_rejudge import session as new  # noqa: F401 - a fixture


@pytest.fixture
def folder(new: SessionFolder) -> Path:  # noqa: F811
    """A sealed session of five runs."""
    for _ in range(4):
        attempt(new)
    return published(new)


def bring(folder: Path, home: Path, *, unverified: bool = False) -> str:
    return history_import.import_session(folder, place(home), TrustedPrograms(), unverified=unverified)


def points(home: Path, metric: str = "work") -> tuple[CoursePoint, ...]:
    with store.reading(place(home)) as connection:
        (found,) = reader.series_of(connection, CELL.id, metric)
        return reader.points_of(connection, found.number)


def test_a_verified_session_is_imported_once(folder: Path, tmp_path: Path) -> None:
    assert bring(folder, tmp_path) == f"{folder.name}: imported (2 figures of up to 5 runs each)"
    (point,) = points(tmp_path)
    assert (point.session, point.runs, point.median, point.verified) == (folder.name, 5, WORK, True)
    assert (point.started, point.commit) == ("2026-01-02T03:04:05Z", "0123abc")
    shutil.copytree(folder, tmp_path / "copy")
    assert "already in the history" in bring(tmp_path / "copy", tmp_path)
    assert counts(place(tmp_path)) == {"sessions": 1, "series": 2, "points": 2, "runs": 10}


def test_a_changed_session_is_not_imported(folder: Path, tmp_path: Path) -> None:
    (folder / "results.csv").write_text((folder / "results.csv").read_text().replace(str(WORK), "1"))
    with pytest.raises(HistoryError, match=r"verify says tampered: results.csv was changed .*--unverified"):
        bring(folder, tmp_path)
    assert not (tmp_path / "history.sqlite").exists()


def test_an_unverified_session_is_marked_and_later_replaced(folder: Path, tmp_path: Path) -> None:
    serial = next((folder / "runs").glob("*/serial.log"))
    whole = serial.read_bytes()
    serial.write_bytes(whole[:-1] + b"x")
    said = bring(folder, tmp_path, unverified=True)
    assert "UNVERIFIED (verify says tampered: " in said
    (point,) = points(tmp_path)
    assert (point.median, point.verified, point.runs) == (WORK, False, 5)
    serial.write_bytes(whole)
    assert "verified now: it replaces the unverified import" in bring(folder, tmp_path)
    (point,) = points(tmp_path)
    assert (point.median, point.verified, point.runs) == (WORK, True, 5)


@pytest.mark.parametrize("version", [1, 2])
def test_an_unverified_session_brings_the_steps_that_its_metrics_say(
    folder: Path, tmp_path: Path, version: int
) -> None:
    path = folder / "metrics.csv"
    text = path.read_text().replace(f",work,time,less,ns,{WORK},0", f",work,time,less,ns,{WORK},7")
    path.write_text(text if version > 1 else metrics_csv.without_steps(text))
    bring(folder, tmp_path, unverified=True)
    with store.reading(place(tmp_path)) as connection:
        steps = reader.session_of(connection, "latest").steps
    assert {one.metric: step for one, step in steps.items()} == (
        {"work": 7.0, "total": 0.0} if version > 1 else {"work": None, "total": None}
    )


def test_a_session_without_a_manifest_is_not_even_imported_unverified(folder: Path, tmp_path: Path) -> None:
    (folder / "manifest.sha256").unlink()
    assert cli.main(["history", "import", "--unverified", "--db", str(tmp_path / "h"), str(folder)]) == 4
    assert not (tmp_path / "h").exists()


@pytest.mark.parametrize(
    ("started", "said"),
    [
        ("9999-01-02T03:04:05Z", "would stay the newest"),
        ("1970-01-01T00:00:00Z", "or the oldest"),
        ("2026-01-02T03:04:06Z", "another time in its name"),
        ("2026-13-02T03:04:05Z", "which is no time"),
    ],
)
def test_a_time_that_cannot_be_is_refused(folder: Path, tmp_path: Path, started: str, said: str) -> None:
    """The name follows it, but in the third case."""
    name = folder.name if started.endswith("6Z") else f"{re.sub('[-:]', '', started)}-abcdef"
    change(folder, lambda facts: facts.update(id=name, started=started))
    with pytest.raises(HistoryError, match=said):
        bring(folder, tmp_path, unverified=True)


@pytest.mark.parametrize("unverified", [False, True])
def test_a_session_of_the_future_is_refused_even_if_it_verifies(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unverified: bool
) -> None:
    class Earlier(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Earlier:
            return cls(2026, 1, 2, 2, 4, 4, tzinfo=tz)

    monkeypatch.setattr(history_import, "datetime", Earlier)
    with pytest.raises(HistoryError, match="but it is 2026-01-02T02:04:04Z now"):
        bring(folder, tmp_path, unverified=unverified)


def test_figures_that_only_inform_are_refused(folder: Path, tmp_path: Path) -> None:
    change(folder, lambda facts: facts["policy"].update(informs="--quick decides nothing"))
    with pytest.raises(HistoryError, match=r"only informs \(--quick decides nothing\)"):
        bring(folder, tmp_path, unverified=True)


def test_the_command_imports_every_folder_that_it_can(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--db", str(tmp_path / "history.sqlite")]
    assert cli.main(["history", "import", *where, str(tmp_path / "nothing"), str(folder)]) == 4
    output = capsys.readouterr()
    assert "nothing is not imported" in output.err
    assert "imported" in output.out
    assert cli.main(["history", CELL.id, *where]) == 0
    assert CELL.id in capsys.readouterr().out


def test_a_failing_import_at_a_sessions_end_is_a_sentence(folder: Path, tmp_path: Path) -> None:
    said = history_import.at_end(folder, str(tmp_path / "history.sqlite"), TrustedPrograms())
    assert said.startswith(f"history {tmp_path / 'history.sqlite'}: {folder.name}: imported")
    assert "the history's URL is not valid" in history_import.at_end(folder, "x://y:z:1", TrustedPrograms())
