"""A killed import loses nothing and doubles nothing, on SQLite and on a real PostgreSQL server."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from benchgate.base.paths import data_root
from benchgate.features.history import reader, store
from benchgate.features.history.course import course_of
from benchgate.features.history.errors import HistoryError
from benchgate.features.history.store import Place
from benchgate.features.history.tests.entries import EXACT, SERIES, entry, fill
from benchgate.features.history.tests.test_writer import FIVE, counts, write
from benchgate.features.history.writer import ImportOutcome
from tests import postgres
from tests.machines import PATIENCE_S, wait_until

MANY = [1000.0 + n for n in range(5000)]
"""More than the few pages that the killed process may keep in memory."""
NUMBERS = itertools.count()

IMPORTER = """
import sys, signal
from pathlib import Path
from sqlalchemy import Engine, event
from benchgate.features.history import store, writer
from benchgate.features.history.tests.test_faults import MANY
from benchgate.features.history.tests.entries import SERIES, entry

word, sign, stage = sys.argv[1:]

def stop():
    Path(sign).touch()
    signal.pause()

@event.listens_for(Engine, "connect")
def small(connection, _):
    if word.startswith("/"):
        connection.execute("PRAGMA cache_size = 2")  # so that inserts go to the file before the commit

@event.listens_for(Engine, "after_cursor_execute")
def stopped(connection, cursor, statement, *_):
    if statement.startswith(f"INSERT INTO {stage}"):
        stop()

with store.writing(store.find_place(word, {})) as connection:
    writer.write(connection, entry(1, {SERIES: MANY}))
    if stage == "commit":
        stop()
"""
STAGES = ("benchgate_session", "benchgate_series", "benchgate_point", "benchgate_run", "commit")
BETWEEN = [pytest.param(stage, marks=pytest.mark.long) for stage in STAGES[1:-1]]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres.server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def word(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new history, as a user names it."""
    if request.param == "sqlite":
        return str(tmp_path / "history.sqlite")
    url = make_url(request.getfixturevalue("server"))
    name = f"history{next(NUMBERS)}"
    engine = create_engine(url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return url.set(database=name).render_as_string(hide_password=False)


@pytest.fixture
def where(word: str) -> Place:
    return store.find_place(word, {})


def kill_importer(word: str, folder: Path, stage: str) -> None:
    """Kills a process that imports entry 1 as soon as it has done the step of this name."""
    sign, root = folder / "sign", data_root()
    with subprocess.Popen([sys.executable, "-c", IMPORTER, word, str(sign), stage], cwd=root) as process:
        try:
            assert wait_until(lambda: sign.exists() or process.poll() is not None, PATIENCE_S)
            assert process.poll() is None
        finally:
            process.kill()


@pytest.mark.parametrize("stage", [STAGES[0], *BETWEEN, STAGES[-1]])
def test_a_killed_import_loses_and_doubles_nothing(
    word: str, where: Place, stage: str, tmp_path: Path
) -> None:
    first, second = entry(0, {EXACT: FIVE}), entry(1, {SERIES: MANY})
    write(where, first)
    kill_importer(word, tmp_path, stage)
    if where.file and stage in ("benchgate_run", "commit"):
        assert Path(f"{where.file}-journal").stat().st_size > 0, (
            "nothing was in the file that had to go again"
        )
    assert counts(where) == {"sessions": 1, "series": 1, "points": 1, "runs": 5}
    assert [write(where, one) for one in (first, second, second)] == [
        ImportOutcome.KNOWN,
        ImportOutcome.NEW,
        ImportOutcome.KNOWN,
    ]
    assert counts(where) == {"sessions": 2, "series": 2, "points": 2, "runs": 5 + len(MANY)}


def test_a_killed_first_import_leaves_no_history(word: str, where: Place, tmp_path: Path) -> None:
    kill_importer(word, tmp_path, "benchgate_format")
    with pytest.raises(HistoryError, match="there is no history"):
        counts(where)
    assert write(where, entry(0, {SERIES: FIVE})) is ImportOutcome.NEW


def test_both_kinds_of_database_give_the_same(where: Place) -> None:
    slower = [1.1 * number for number in FIVE]
    fill(where, [{EXACT: FIVE, SERIES: FIVE}, {EXACT: FIVE}, {EXACT: slower}])
    with store.reading(where) as connection:
        (numbered_series,) = reader.series_of(connection, "primes-linux", "work", "insn")
        points = reader.points_of(connection, numbered_series.number)
        course = course_of(
            numbered_series.series, points, reader.samples_of(connection, numbered_series.number), 0.05
        )
        side = reader.session_of(connection, "commit=00000002")
        assert [known_row.lane for known_row in reader.known_rows(connection)] == ["insn", "tcg"]
    assert numbered_series.series == EXACT
    assert [point.median for point in points] == [103.0, 103.0, pytest.approx(113.3)]
    assert [change.at for change in course.changes] == [2]
    assert side.samples == ((EXACT, tuple(slower)),)


def test_an_unverified_session_is_replaced(where: Place) -> None:
    write(where, entry(0, {SERIES: [1.0] * 5}, note="verify says tampered"))
    assert write(where, entry(0, {SERIES: FIVE})) is ImportOutcome.VERIFIED
    assert counts(where) == {"sessions": 1, "series": 1, "points": 1, "runs": 5}


def test_many_writers_on_one_server(word: str, where: Place) -> None:
    code = (
        "import sys; from benchgate.features.history import store\n"
        "from benchgate.features.history.tests.entries import SERIES, entry\n"
        "from benchgate.features.history.tests.test_writer import FIVE, write\n"
        "for n in range(8): write(store.find_place(sys.argv[1], {}), entry(n, {SERIES: FIVE}))\n"
    )
    root = data_root()
    running = [
        subprocess.Popen([sys.executable, "-c", code, word], cwd=root, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [process.communicate(timeout=PATIENCE_S)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], said
    assert counts(where) == {"sessions": 8, "series": 1, "points": 8, "runs": 40}


def test_the_server_reads_a_course_by_its_index(server: str) -> None:
    where = store.find_place(server, {})
    fill(where, [{SERIES: FIVE, EXACT: FIVE}] * 3)
    with store.reading(where) as connection:
        connection.execute(text("SET LOCAL enable_seqscan = off"))  # with so few rows it would not look at it
        for query, index in ((reader.points_query(1), "point"), (reader.runs_query(1), "run")):
            words = str(query.compile(connection, compile_kwargs={"literal_binds": True}))
            plan = "\n".join(connection.execute(text(f"EXPLAIN {words}")).scalars())
            assert f"benchgate_{index}_pkey" in plan
            assert f"Seq Scan on benchgate_{index}" not in plan
