"""What is read back, that one row needs no look at another one, and that a strange database is refused."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Select, event
from sqlalchemy.dialects import sqlite

from benchgate.features.history import reader, store
from benchgate.features.history.course import CoursePoint
from benchgate.features.history.entry import CourseSeries
from benchgate.features.history.errors import HistoryError
from benchgate.features.history.store import Place
from benchgate.features.history.tests.entries import EXACT, fill, place
from benchgate.features.history.tests.entries import SERIES as ONE

FIVE = [103.0, 101.0, 105.0, 102.0, 104.0]


def points(where: Place, name: str = ONE.cell, most: int = 1000) -> tuple[CoursePoint, ...]:
    with store.reading(where) as connection:
        (series,) = reader.series_of(connection, name)
        return reader.points_of(connection, series.number, most)


def test_a_course_is_in_the_order_of_time_whatever_was_imported_first(tmp_path: Path) -> None:
    where = place(tmp_path)
    for number in (3, 1, 2):
        fill(where, [{ONE: [number + value / 1000 for value in FIVE]}], first=number)
    assert [round(point.median) for point in points(where)] == [1, 2, 3]
    assert [round(point.median) for point in points(where, most=2)] == [2, 3]
    assert points(where)[0] == CoursePoint(
        session="20260102T030405Z-000001",
        started="2026-01-02T03:04:05Z",
        commit="00000001" * 5,
        is_dirty=False,
        verified=True,
        runs=5,
        median=1.103,
        low=1.101,
        high=1.105,
        guest="ab" * 32,
    )


def test_a_row_has_its_cells_and_a_cell_its_series(tmp_path: Path) -> None:
    where = place(tmp_path)
    single = replace(ONE, cell="primes-linux-smp1", cpus=1)
    fill(where, [{ONE: FIVE, single: FIVE, replace(ONE, metric="total"): FIVE, EXACT: FIVE}])
    with store.reading(where) as connection:
        names = [
            (numbered_series.series.cpus, numbered_series.series.lane)
            for numbered_series in reader.series_of(connection, "primes-linux", "work")
        ]
        assert names == [(2, "insn"), (1, "tcg"), (2, "tcg")]
        assert len(reader.series_of(connection, ONE.cell)) == 3
        assert [
            numbered_series.series
            for numbered_series in reader.series_of(connection, ONE.cell, "work", "insn")
        ] == [EXACT]
        assert reader.series_of(connection, "primes") == ()
        (tcg,) = [known_row for known_row in reader.known_rows(connection) if known_row.lane == "tcg"]
    assert (tcg.row, tcg.metrics, tcg.sessions, tcg.newest) == ("primes-linux", 2, 1, "2026-01-01T03:04:05Z")


def test_the_samples_of_each_session(tmp_path: Path) -> None:
    fill(place(tmp_path), [{ONE: FIVE, EXACT: [1.0]}, {EXACT: [2.0, 3.0]}])
    with store.reading(place(tmp_path)) as connection:
        (series,) = reader.series_of(connection, EXACT.cell, lane="insn")
        assert list(reader.samples_of(connection, series.number).values()) == [[1.0], [2.0, 3.0]]


@pytest.mark.parametrize(
    ("word", "number"),
    [("latest", 2), ("latest~1", 1), ("latest~2", 0), ("20260102", 1), ("commit=00000001", 1)],
)
def test_a_session_is_named(tmp_path: Path, word: str, number: int) -> None:
    fill(place(tmp_path), [{ONE: [value + n for value in FIVE]} for n in range(3)])
    with store.reading(place(tmp_path)) as connection:
        ((series, values),) = reader.session_of(connection, word).samples
    assert series == ONE
    assert list(values) == [value + number for value in FIVE]


@pytest.mark.parametrize("word", ["latest~9", "latest~x", "2025", "2", "", "commit=", "%%%%", "____"])
def test_a_session_that_is_not_there_is_refused(tmp_path: Path, word: str) -> None:
    fill(place(tmp_path), [{ONE: FIVE}])
    with store.reading(place(tmp_path)) as connection, pytest.raises(HistoryError, match="session"):
        reader.session_of(connection, word)


# ---- one row out of many


def others(count: int) -> dict[CourseSeries, list[float]]:
    return {replace(ONE, row=f"w{n}-linux", cell=f"w{n}-linux-smp2"): FIVE for n in range(count)}


def plan(where: Place, query: Select[tuple[object, ...]]) -> str:
    text = str(query.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}))
    with sqlite3.connect(str(where.file)) as database:
        rows = database.execute(f"EXPLAIN QUERY PLAN {text}").fetchall()
    database.close()
    return "\n".join(str(row[3]) for row in rows)


def test_a_course_is_one_stretch_of_an_index(tmp_path: Path) -> None:
    fill(place(tmp_path), [{ONE: FIVE}])
    result = plan(place(tmp_path), reader.points_query(1))
    assert "SEARCH benchgate_point USING PRIMARY KEY (series=?)" in result
    assert "SEARCH benchgate_session USING INTEGER PRIMARY KEY" in result
    assert plan(place(tmp_path), reader.runs_query(1)) == "SEARCH benchgate_run USING PRIMARY KEY (series=?)"
    for text in (result, plan(place(tmp_path), reader.runs_query(1))):
        assert "SCAN" not in text
        assert "TEMP B-TREE" not in text


def steps_of(where: Place) -> int:
    """The steps of SQLite's machine for a whole course: it makes some for each row that it visits."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    with store.reading(where) as connection:

        @event.listens_for(connection.engine, "begin")
        def _never(_: object) -> None:
            raise AssertionError("one transaction is enough")

        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        raw.set_progress_handler(count, 1)
        (series,) = reader.series_of(connection, ONE.cell, "work")
        assert len(reader.points_of(connection, series.number)) == 20
        assert len(reader.samples_of(connection, series.number)) == 20
        raw.set_progress_handler(None, 0)
    return steps


def test_other_rows_add_no_work(tmp_path: Path) -> None:
    """Twenty sessions of one row, alone and among 200 other rows."""
    alone, crowded = (tmp_path / name for name in ("alone", "crowded"))
    fill(place(alone), [{ONE: FIVE}] * 20)
    fill(place(crowded), [{**others(100), ONE: FIVE, **others(200)}] * 20)
    assert steps_of(place(crowded)) <= steps_of(place(alone)) * 1.1


# ---- a database is untrusted


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE benchgate_point SET median = 'many'",
        "UPDATE benchgate_point SET median = 9e999",
        "UPDATE benchgate_point SET runs = 'x'",
        "UPDATE benchgate_point SET low = 'x'",
        "UPDATE benchgate_series SET cpus = 'x'",
        "UPDATE benchgate_series SET better = 'worse'",
        "DROP TABLE benchgate_point",
    ],
)
def test_what_benchgate_never_wrote_is_refused(tmp_path: Path, change: str) -> None:
    fill(place(tmp_path), [{ONE: FIVE}])
    with sqlite3.connect(tmp_path / "history.sqlite") as database:
        database.execute(change)
    database.close()
    with pytest.raises(HistoryError, match="the history"):
        points(place(tmp_path))
