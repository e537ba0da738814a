"""`benchgate history`: the rows, the courses of one, and a page of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.base.errors import HistoryError, UsageError
from benchgate.history import store, writer
from benchgate.session import histories
from benchgate.session.histories import CourseQuery
from tests import pagekit
from tests.unit.history.entries import EXACT, SERIES, entry, fill, place

FIVE = [103.0, 101.0, 105.0, 102.0, 104.0]
SLOWER = [1.1 * one for one in FIVE]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Nine sessions; the exact figure is worse from the sixth on."""
    sessions = [{SERIES: [one + n % 3 for one in FIVE], EXACT: SLOWER if n >= 5 else FIVE} for n in range(9)]
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
        assert cli.main(["history", "primes-linux", "--width", width]) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= int(width)


@pytest.mark.parametrize(
    "words", [["--last", "0"], ["--last", "9999"], ["--error", "nan"], ["--error", "0.9"]]
)
def test_invalid_numbers_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["history", "x", *words])
    assert caught.value.code == 4
