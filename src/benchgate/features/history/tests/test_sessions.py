"""`--history`: a session imports itself at its end, once, and never into its evidence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.features.history import histories, reader, store
from benchgate.features.history.histories import CourseQuery
from tests.plugin.conftest import Rig

ROW = "primes.hi-10000-fake"


def sessions(file: Path) -> list[str]:
    with store.reading(store.find_place(str(file), {})) as connection:
        (series,) = reader.series_of(connection, f"{ROW}-smp2", "work")
        return [point.session for point in reader.points_of(connection, series.number)]


def test_sessions_import_themselves(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    file = rig.folder / "history.sqlite"
    result = rig.run(f"--history={file}")
    assert result.ret == 0
    assert "imported (4 figures of up to 5 runs each)" in result.stderr.str() + result.stdout.str()
    rig.consoles((19_000_000, 10_000_000))
    assert rig.run(f"--history={file}").ret == 0
    names = sorted(path.name for path in (rig.folder / "reports" / "runs").iterdir())
    assert sorted(sessions(file)) == names
    assert cli.main(["verify", str(rig.latest)]) == 0
    capsys.readouterr()
    assert cli.main(["history", "import", "--db", str(file), str(rig.latest)]) == 0
    assert "already in the history" in capsys.readouterr().out
    (course,) = histories.courses(store.find_place(str(file), {}), CourseQuery(f"{ROW}-smp2"))
    assert [point.median for point in course.points] == [10_000_000.0] * 2
    assert course.series.machine.startswith("cpu_model ")


def test_without_the_option_there_is_no_history(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHGATE_HISTORY", str(rig.folder / "history.sqlite"))
    assert rig.run().ret == 0
    assert not (rig.folder / "history.sqlite").exists()
    rig.pytester.makeini("[pytest]\nbenchgate_history = on\n")
    assert rig.run().ret == 0
    assert len(sessions(rig.folder / "history.sqlite")) == 1


def test_a_history_that_cannot_be_written_changes_no_verdict(rig: Rig) -> None:
    (rig.folder / "file").write_text("")
    result = rig.run(f"--history={rig.folder}/file/below/history.sqlite")
    assert result.ret == 0
    assert "below cannot be made" in result.stderr.str() + result.stdout.str()
    assert cli.main(["verify", str(rig.latest)]) == 0


def test_a_session_that_decides_nothing_is_not_imported(rig: Rig) -> None:
    file = rig.folder / "history.sqlite"
    result = rig.run(f"--history={file}", "--quick")
    assert "only informs (--quick decides nothing)" in result.stderr.str() + result.stdout.str()
    assert not file.exists()


def test_a_password_never_gets_into_the_evidence(rig: Rig) -> None:
    result = rig.run("--history=postgresql://me:secret@host/db")
    assert result.ret == 4
    assert not (rig.folder / "reports").exists()
    assert "secret" not in result.stderr.str() + result.stdout.str()


def test_the_options_say_where(rig: Rig) -> None:
    rig.run(f"--history={rig.folder}/history.sqlite")
    options = json.loads((rig.latest / "session.json").read_text())["options"]
    assert options["history"] == f"{rig.folder}/history.sqlite"
