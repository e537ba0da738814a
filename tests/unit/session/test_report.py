"""`benchgate report`: the page that the session has, outside its folder; older sessions have none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.evidence.check import INCOMPLETE, INTACT, MISMATCH, verify_session
from benchgate.evidence.files import SESSION
from benchgate.evidence.session_folder import SessionFolder
from benchgate.session import rejudge
from tests import pagekit
from tests.unit.session.test_rejudge import published, reseal, session

__all__ = ["session"]  # a fixture


@pytest.fixture
def folder(session: SessionFolder) -> Path:
    return published(session)


def test_the_page_is_that_of_the_session(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["report", str(folder)]) == 0
    name = capsys.readouterr().out.strip()
    assert name == f"report-{folder.name}.html"
    text = (tmp_path / name).read_text()
    assert text == (folder / "report.html").read_text()
    assert folder.name in pagekit.read(text).text
    assert verify_session(folder, rejudge.recompute).exit_code == INTACT


def test_a_results_csv_alone_has_a_page_that_decides_nothing(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert cli.main(["report", str(folder / "results.csv"), "--out", str(out)]) == 0
    page = pagekit.read(out.read_text())
    assert "UNVERIFIED" in page.text
    assert "verdicts" not in page.parts


def test_a_page_inside_a_sealed_session_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place in (folder / "mine.html", folder / "runs" / "mine.html"):
        assert cli.main(["report", str(folder), "--out", str(place)]) == 4
        assert "name a file outside with --out" in capsys.readouterr().err
    assert verify_session(folder, rejudge.recompute).exit_code == INTACT


def test_a_place_that_cannot_be_written_is_one_sentence(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["report", str(folder), "--out", str(tmp_path / "no" / "page.html")]) == 4
    assert "cannot be written" in capsys.readouterr().err


def without_page(folder: Path, *, said: bool) -> None:
    (folder / "report.html").unlink()
    facts = json.loads((folder / SESSION).read_text())
    if not said:
        del facts["reports"]
    (folder / SESSION).write_text(json.dumps(facts))
    reseal(folder)


def test_a_session_of_an_earlier_version_has_no_page_and_is_intact(folder: Path) -> None:
    without_page(folder, said=False)
    assert verify_session(folder, rejudge.recompute).exit_code == INTACT


def test_a_page_that_the_session_made_must_be_there(folder: Path) -> None:
    without_page(folder, said=True)
    assert verify_session(folder, rejudge.recompute).exit_code == INCOMPLETE


def test_a_first_report_must_be_there_whatever_the_session_says(folder: Path) -> None:
    (folder / "summary.md").unlink()
    without_page(folder, said=False)
    assert verify_session(folder, rejudge.recompute).exit_code == INCOMPLETE


def test_an_edited_page_is_a_mismatch(folder: Path) -> None:
    path = folder / "report.html"
    path.write_text(path.read_text().replace("SKIP", "PASS"))
    reseal(folder)
    check = verify_session(folder, rejudge.recompute)
    assert check.exit_code == MISMATCH
    assert "report.html does not follow from the runs" in check.text
