"""`benchgate history`: the rows, the courses of one, and a page of them."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from benchgate import cli
from benchgate.base.errors import UsageError
from benchgate.evidence import metrics_csv
from benchgate.evidence.session_folder import SessionFolder
from benchgate.features.history import histories, reader, store, writer
from benchgate.features.history.course import CoursePoint
from benchgate.features.history.errors import HistoryError
from benchgate.features.history.histories import CourseQuery
from benchgate.features.history.tests.entries import EXACT, SERIES, entry, fill, place
from benchgate.features.history.tests.test_writer import counts
from benchgate.plan.options import Options
from benchgate.session.rejudging.trust import TrustedPrograms
from tests import pagekit
from tests.unit.session.rejudging.test_rejudge import (
    CELL,
    WORK,
    attempt,
    change,
    one_oracle,  # noqa: F401 - a fixture
    published,
)
from tests.unit.session.rejudging.test_rejudge import session as new  # noqa: F401 - a fixture

FIVE = [103.0, 101.0, 105.0, 102.0, 104.0]
SLOWER = [1.1 * one for one in FIVE]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Nine sessions; the exact figure is worse from the sixth on."""
    sessions = [
        {SERIES: [number + n % 3 for number in FIVE], EXACT: SLOWER if n >= 5 else FIVE} for n in range(9)
    ]
    fill(place(tmp_path), sessions)
    return tmp_path


def test_the_rows_are_listed(home: Path) -> None:
    lines = [line.split() for line in histories.rows_text(place(home)).splitlines()]
    assert lines[3:] == [
        ["primes-linux", "insn", "1", "9", "2026-01-09T03:04:05Z"],
        ["primes-linux", "tcg", "1", "9", "2026-01-09T03:04:05Z"],
    ]


def test_a_course_has_its_change(home: Path) -> None:
    exact, wall = histories.courses(place(home), CourseQuery("primes-linux"))
    (change,) = exact.changes
    assert (change.at, change.before, change.is_worse) == (5, 103.0, True)
    assert change.after == pytest.approx(113.3)
    assert wall.changes == ()
    (late,) = histories.courses(place(home), CourseQuery("primes-linux-smp2", lane="insn", last=3))
    assert (len(late.points), late.left_out, late.changes) == (3, 6, ())


def test_an_unverified_session_is_part_of_no_level(tmp_path: Path) -> None:
    fill(place(tmp_path), [{EXACT: FIVE}])
    with store.writing(place(tmp_path)) as connection:
        writer.write(connection, entry(1, {EXACT: SLOWER}, note="verify says tampered"))
    fill(place(tmp_path), [{EXACT: FIVE}], first=2)
    (course,) = histories.courses(place(tmp_path), CourseQuery(EXACT.cell))
    assert course.changes == ()
    text = histories.courses_text(place(tmp_path), CourseQuery(EXACT.cell), 100)
    assert "1 session UNVERIFIED" in text


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (CourseQuery("primes-linus"), "did you mean `primes-linux`"),
        (CourseQuery("x\x1b[2J"), "has no row or cell"),
        (CourseQuery("primes-linux", metric="p99"), "has no p99 in .*; it has work .* on insn, tcg"),
        (CourseQuery("primes-linux", lane="kvm"), "has no work on lane kvm"),
    ],
)
def test_what_is_not_there_is_said(home: Path, wanted: CourseQuery, said: str) -> None:
    with pytest.raises(HistoryError, match=said) as caught:
        histories.courses(place(home), wanted)
    assert "\x1b" not in str(caught.value)


def test_too_many_courses_are_not_drawn(tmp_path: Path) -> None:
    many = {replace(SERIES, cell=f"primes-linux-smp{n}", cpus=n): FIVE for n in range(1, 30)}
    fill(place(tmp_path), [many])
    with pytest.raises(HistoryError, match="has 29 courses of work; name a cell such as primes-linux-smp1"):
        histories.courses(place(tmp_path), CourseQuery("primes-linux"))


def test_the_page_has_every_course_and_no_active_content(home: Path) -> None:
    odd = replace(EXACT, row="<script>-x", cell="<script>-x-smp2")
    fill(place(home), [{odd: FIVE}], first=20)
    histories.write_page(place(home), CourseQuery("primes-linux"), home / "page.html")
    page = pagekit.read((home / "page.html").read_text())
    assert page.parts == ["courses", "course-0", "course-1"]
    assert "103 insn -> 113.3 insn, 1.1x: worse" in page.text
    assert len(page.attributes("circle")) == 18
    histories.write_page(place(home), CourseQuery(odd.row), home / "odd.html")
    assert "<script>-x-smp2" in pagekit.read((home / "odd.html").read_text()).text


def test_a_report_of_the_history(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("BENCHGATE_HISTORY", "history.sqlite")
    assert cli.main(["report", "history"]) == 0
    assert cli.main(["report", "history:primes-linux-smp2", "--out", "row.html"]) == 0
    assert cli.main(["history", "--html", "same.html"]) == 0
    assert capsys.readouterr().out == "history.html\nrow.html\nwrote same.html\n"
    whole = pagekit.read((home / "history.html").read_text())
    assert whole.text == pagekit.read((home / "same.html").read_text()).text
    assert "all rows: 1 change of level, 1 for the worse" in whole.text
    assert cli.main(["report", "history:none"]) == 4


def test_the_page_of_all_rows_says_what_it_leaves_out(tmp_path: Path) -> None:
    many = {replace(SERIES, row=f"r{n}-x", cell=f"r{n}-x-smp2"): FIVE for n in range(103)}
    fill(place(tmp_path), [many])
    histories.write_page(place(tmp_path), CourseQuery(""), tmp_path / "page.html")
    page = pagekit.read((tmp_path / "page.html").read_text())
    assert "3 courses more not shown" in page.text
    assert len(page.parts) == 101


def test_no_page_goes_into_a_sealed_session(home: Path) -> None:
    (home / "manifest.sha256").write_text("")
    with pytest.raises(UsageError, match="is inside the sealed session"):
        histories.write_page(place(home), CourseQuery("primes-linux"), home / "page.html")


def test_a_page_that_cannot_be_written_is_a_sentence(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHGATE_HISTORY", str(home / "history.sqlite"))
    assert cli.main(["history", "primes-linux", "--html", str(home / "no" / "page.html")]) == 4
    assert "page.html cannot be written" in capsys.readouterr().err


def test_the_command_lists_and_draws(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHGATE_HISTORY", str(home / "history.sqlite"))
    assert cli.main(["history"]) == 0
    assert "primes-linux" in capsys.readouterr().out
    for width in ("56", "72", "200"):
        monkeypatch.setenv("COLUMNS", width)
        assert cli.main(["history", "primes-linux"]) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= int(width)


@pytest.mark.parametrize(
    "words", [["--last", "0"], ["--last", "9999"], ["--error", "nan"], ["--error", "0.9"]]
)
def test_invalid_numbers_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["history", "x", *words])
    assert caught.value.code == 4


@pytest.fixture
def folder(new: SessionFolder) -> Path:  # noqa: F811
    """A sealed session of five runs."""
    for _ in range(4):
        attempt(new)
    return published(new)


def bring(folder: Path, home: Path, *, unverified: bool = False) -> str:
    return histories.import_session(folder, place(home), TrustedPrograms(), unverified=unverified)


def points(home: Path, metric: str = "work") -> tuple[CoursePoint, ...]:
    with store.reading(place(home)) as connection:
        (series,) = reader.series_of(connection, CELL.id, metric)
        return reader.points_of(connection, series.number)


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


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_unverified_session_brings_the_steps_that_its_metrics_say(
    folder: Path, tmp_path: Path, version: int
) -> None:
    path = folder / "metrics.csv"
    text = path.read_text().replace(f",work,time,less,ns,{WORK},0", f",work,time,less,ns,{WORK},7")
    path.write_text(metrics_csv.as_of_version(version, text))
    bring(folder, tmp_path, unverified=True)
    with store.reading(place(tmp_path)) as connection:
        steps = reader.session_of(connection, "latest").steps
    assert {series.metric: step for series, step in steps.items()} == (
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

    monkeypatch.setattr(histories, "datetime", Earlier)
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
    def said(word: str) -> str:
        return histories.at_end(folder, Options(of_features={"history": word}), TrustedPrograms())

    file = tmp_path / "history.sqlite"
    assert said(str(file)).startswith(f"history {file}: {folder.name}: imported")
    assert "the history's URL is not valid" in said("x://y:z:1")
