"""Reports are written and sealed; problems with GitHub's files or old sessions are only notices."""

from __future__ import annotations

import json
import os
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchgate.base.errors import CatalogError, EvidenceError, RenderError
from benchgate.base.gates import Word
from benchgate.evidence import check
from benchgate.evidence.files import MANIFEST
from benchgate.evidence.session_folder import SessionFolder
from benchgate.judge.decide import decide
from benchgate.plan.options import Options
from benchgate.render.files import summary
from benchgate.render.view import SessionView
from benchgate.session import publish
from tests.unit.factories import BASE_NS, POLICY, arm, cell, failing, rows, scaled_view, speedup, view
from tests.unit.sessions import END, INFO, new_session

SEALED = ("verdicts.json", "benchmark.json", "speedups.json", "speedup.svg", "summary.md", "junit.xml")


@pytest.fixture(autouse=True)
def no_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def session(tmp_path: Path) -> SessionFolder:
    made = new_session(tmp_path / "reports")
    made.close(END)
    return made


def failed_view() -> SessionView:
    """Two CPUs as slow as one: the gate fails."""
    base, two = rows(cell(1), BASE_NS), rows(cell(2), BASE_NS, first=6)
    arms = {one.cell.id: one for one in (arm(cell(1), BASE_NS), arm(cell(2), BASE_NS))}
    return view(*base, *two, verdicts=decide([speedup(2)], arms, POLICY).verdicts)


def write(session: SessionFolder, shown: SessionView) -> list[str]:
    notices: list[str] = []
    publish.write(session, shown, Options(reports=session.folder.parents[1]), notices.append)
    return notices


def assert_sealed(session: SessionFolder) -> None:
    listed = (session.folder / MANIFEST).read_text()
    for name in SEALED:
        assert (session.folder / name).stat().st_size > 0
        assert f"  {name}\n" in listed


def test_every_report_is_written_and_sealed(
    session: SessionFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert write(session, scaled_view()) == []
    assert_sealed(session)
    assert json.loads((session.folder / "verdicts.json").read_text())[0]["outcome"] == "PASS"
    assert capsys.readouterr().out == ""
    assert check.verify_session(session.folder).exit_code == check.INTACT


def test_github_gets_an_appended_summary_and_one_annotation_per_failure(
    session: SessionFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    summary = tmp_path / "step.md"
    summary.write_text("of an earlier step\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert write(session, failed_view()) == []
    assert summary.read_text().startswith("of an earlier step\n# FAIL")
    begin, line = capsys.readouterr().out.splitlines()
    assert begin == ""
    assert line.startswith("::error title=benchgate primes-linux-smp2::FAIL: primes-linux")


@pytest.mark.parametrize("kind", ["no-folder", "a-folder"])
def test_an_unwritable_step_summary_is_only_a_notice(
    session: SessionFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: str,
) -> None:
    summary = tmp_path / "gone" / "step.md" if kind == "no-folder" else tmp_path
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (notice,) = write(session, failed_view())
    assert notice.startswith(f"GITHUB_STEP_SUMMARY={summary} cannot be written (")
    assert notice.endswith("the same text is the session's summary.md")
    assert_sealed(session)
    assert capsys.readouterr().out.startswith("\n::error ")


def test_an_unwritable_report_is_an_error_that_names_the_file(session: SessionFolder) -> None:
    (session.folder / "summary.md").mkdir()
    with pytest.raises(EvidenceError, match=r"summary\.md"):
        write(session, scaled_view())
    assert (session.folder / "verdicts.json").is_file()


def report(folder: Path, name: str, body: str) -> Path:
    path = folder / f"{name}.py"
    path.write_text(f'NAME = "{name}.txt"\n\ndef render(view):\n    {body}\n')
    return path


def test_a_report_that_raises_stops_no_other_report(session: SessionFolder, tmp_path: Path) -> None:
    bodies = {"first": "1 / 0", "second": "return 'whole'", "third": "return 3", "fourth": "return 'too'"}
    more = tuple(report(tmp_path, name, body) for name, body in bodies.items())
    options = Options(reports=session.folder.parents[1], extra_reports=more)
    with pytest.raises(RenderError) as caught:
        publish.write(session, scaled_view(), options, lambda _: None)
    assert re.search(
        r"first\.py: render\(\) raised ZeroDivisionError.*; .*third\.py: .* int,", str(caught.value)
    )
    assert_sealed(session)
    assert (session.folder / "second.txt").read_text() == "whole"
    assert (session.folder / "fourth.txt").read_text() == "too"
    assert check.verify_session(session.folder).exit_code == check.INTACT


def test_a_report_that_cannot_be_loaded_any_more_stops_no_other_report(
    session: SessionFolder, tmp_path: Path
) -> None:
    more = (tmp_path / "gone.py", report(tmp_path, "second", "return 'whole'"))
    options = Options(reports=session.folder.parents[1], extra_reports=more)
    with pytest.raises(CatalogError, match=r"there is no report file .*gone\.py"):
        publish.write(session, scaled_view(), options, lambda _: None)
    assert_sealed(session)
    assert (session.folder / "second.txt").read_text() == "whole"


def test_an_old_session_that_cannot_be_removed_is_only_a_notice(
    session: SessionFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise EvidenceError("an old one cannot be removed")

    monkeypatch.setattr(publish, "prune", refuse)
    assert write(session, scaled_view()) == ["an old one cannot be removed"]
    assert_sealed(session)


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
    assert publish.prune(tmp_path, 0) == ()
    assert publish.prune(tmp_path, 1, current=ids[3]) == (ids[0], ids[2])
    left = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert left == [ids[1], ids[3], "my notes"]
    assert publish.prune(tmp_path / "absent", 1) == ()


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
    assert publish.prune(tmp_path, 1) == (old.id,)
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
        publish.prune(tmp_path, 1)
    assert (first.folder.is_dir(), second.folder.exists()) == (True, False)


def test_two_sessions_may_prune_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, _ = made(tmp_path, 1), made(tmp_path, 2)

    def gone(folder: Path) -> None:
        raise FileNotFoundError(2, "No such file", str(folder / "serial.log"))

    monkeypatch.setattr(shutil, "rmtree", gone)
    assert publish.prune(tmp_path, 1) == (old.id,)


def test_github_shows_what_did_not_pass() -> None:
    assert publish.workflow_commands(scaled_view()) == ()
    assert publish.workflow_commands(failing(Word.FAIL)) == (
        "::error title=benchgate primes-linux-smp2::FAIL: primes-linux smp2/smp1 ...",
    )
    assert publish.workflow_commands(failing(Word.INCONCLUSIVE))[0].startswith("::warning ")
    assert summary.PICTURE not in publish.step_summary(scaled_view())


def test_a_summary_too_long_for_github_names_the_file() -> None:
    many = scaled_view(notes=tuple("n" * 1000 for _ in range(1100)))
    text = publish.step_summary(many)
    assert len(text) < 1000
    assert "summary.md" in text
