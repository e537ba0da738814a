"""A session is in the history once and whole, whoever writes it and how often."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, select

from benchgate.base.paths import data_root
from benchgate.features.history import reader, store, writer
from benchgate.features.history.entry import Entry
from benchgate.features.history.errors import HistoryError
from benchgate.features.history.store import POINTS, RUNS, SERIES, SESSIONS, Place
from benchgate.features.history.tests.entries import EXACT, entry, fill, place
from benchgate.features.history.tests.entries import SERIES as ONE
from benchgate.features.history.writer import ImportOutcome
from tests.machines import PATIENCE_S

FIVE = [103.0, 101.0, 105.0, 102.0, 104.0]


def counts(where: Place) -> dict[str, int]:
    with store.reading(where) as connection:
        tables = (SESSIONS, SERIES, POINTS, RUNS)
        result = [
            connection.execute(select(func.count()).select_from(table)).scalar_one() for table in tables
        ]
    return dict(zip(("sessions", "series", "points", "runs"), result, strict=True))


def write(where: Place, one: Entry) -> ImportOutcome:
    with store.writing(where) as connection:
        return writer.write(connection, one)


def test_a_session_is_never_doubled(tmp_path: Path) -> None:
    where, one = place(tmp_path), entry(0, {ONE: FIVE, EXACT: FIVE[:3]})
    assert [write(where, one) for _ in range(3)] == [
        ImportOutcome.NEW,
        ImportOutcome.KNOWN,
        ImportOutcome.KNOWN,
    ]
    assert counts(where) == {"sessions": 1, "series": 2, "points": 2, "runs": 8}
    assert write(where, entry(1, {ONE: FIVE})) is ImportOutcome.NEW
    assert counts(where) == {"sessions": 2, "series": 2, "points": 3, "runs": 13}


@pytest.mark.parametrize("field", ["session", "manifest"])
def test_another_session_of_this_id_or_digest_is_refused(tmp_path: Path, field: str) -> None:
    where, one = place(tmp_path), entry(0, {ONE: FIVE})
    write(where, one)
    other = replace(entry(1, {ONE: FIVE}), **{field: getattr(one, field)})
    with pytest.raises(HistoryError, match="one of them was changed or sealed again"):
        write(where, other)
    assert counts(where)["sessions"] == 1


def test_a_verified_session_replaces_an_unverified_one_and_not_the_reverse(tmp_path: Path) -> None:
    where, good = place(tmp_path), entry(0, {ONE: FIVE})
    bad = entry(0, {ONE: [1.0] * 5}, note="verify says tampered")
    assert [write(where, one) for one in (bad, good, bad)] == [
        ImportOutcome.NEW,
        ImportOutcome.VERIFIED,
        ImportOutcome.KNOWN,
    ]
    assert counts(where) == {"sessions": 1, "series": 1, "points": 1, "runs": 5}
    with store.reading(where) as connection:
        (series,) = reader.series_of(connection, ONE.cell)
        (point,) = reader.points_of(connection, series.number)
    assert (point.median, point.verified) == (103.0, True)


def test_the_interval_of_five_runs_is_their_span_and_fewer_have_none() -> None:
    exact = {"runs": 5, "median": 103.0, "low": 101.0, "high": 105.0, "step": 0.0}
    assert writer.figures(dict(enumerate(FIVE)), 0.0) == exact
    few = {"runs": 2, "median": 8.0, "low": None, "high": None, "step": 0.0}
    assert writer.figures({1: 7.0, 2: 9.0}, 0.0) == few


def test_an_interval_is_wider_by_the_step_and_has_no_ends_if_that_is_not_known() -> None:
    runs = dict(enumerate(FIVE))
    wide = {"runs": 5, "median": 103.0, "low": 91.0, "high": 115.0, "step": 10.0}
    assert writer.figures(runs, 10.0) == wide
    assert writer.figures(runs, None) == {"runs": 5, "median": 103.0, "low": None, "high": None, "step": None}


WRITER = """
import sys
from pathlib import Path
from benchgate.features.history.tests.entries import SERIES, entry, place
from benchgate.features.history.tests.test_writer import FIVE, write

for number in range(8):
    write(place(Path(sys.argv[1])), entry(number, {SERIES: FIVE}))
"""


def test_many_writers_at_once_import_each_session_once(tmp_path: Path) -> None:
    """Each begins with an empty folder, so they also race for who makes the tables."""
    root = data_root()
    words = [sys.executable, "-c", WRITER, str(tmp_path)]
    running = [subprocess.Popen(words, cwd=root, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    said = [process.communicate(timeout=PATIENCE_S)[1] for process in running]
    assert [process.returncode for process in running] == [0] * 3, said
    assert counts(place(tmp_path)) == {"sessions": 8, "series": 1, "points": 8, "runs": 40}


def test_fill_is_one_session_per_number(tmp_path: Path) -> None:
    fill(place(tmp_path), [{ONE: FIVE}] * 3)
    assert counts(place(tmp_path))["sessions"] == 3
