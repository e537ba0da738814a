"""A history that cannot be used is one sentence; what is written is written as a whole."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.engine import URL

from benchgate.features.history import store, writer
from benchgate.features.history.errors import HistoryError
from benchgate.features.history.store import Place
from benchgate.features.history.tests.entries import SERIES, entry, fill, place


def open_(where: Place) -> None:
    with store.reading(where):
        pass


def test_reading_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match=r"there is no history at .*; next: benchgate history import DIR"):
        open_(place(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_an_empty_database_is_no_history(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "history.sqlite").execute("CREATE TABLE other (x)").connection.close()
    with pytest.raises(HistoryError, match="there is no history"):
        open_(place(tmp_path))


def test_another_file_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "history.sqlite").write_text("not a database, but long enough to be taken for one" * 50)
    before = (tmp_path / "history.sqlite").read_bytes()
    with pytest.raises(HistoryError, match="cannot be used: file is not a database"):
        open_(place(tmp_path))
    with pytest.raises(HistoryError, match="cannot be used: file is not a database"):
        fill(place(tmp_path), [{SERIES: [1.0] * 5}])
    assert (tmp_path / "history.sqlite").read_bytes() == before


def test_another_version_is_refused(tmp_path: Path) -> None:
    fill(place(tmp_path), [{SERIES: [1.0] * 5}])
    with sqlite3.connect(tmp_path / "history.sqlite") as database:
        database.execute("UPDATE benchgate_format SET version = 3")
    database.close()
    with pytest.raises(HistoryError, match="has version 3, expected 2"):
        open_(place(tmp_path))


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HistoryError, match=r"cannot be made: .*choose another place with --db"):
        fill(place(tmp_path / "file" / "below"), [{SERIES: [1.0] * 5}])


def test_an_error_in_the_block_writes_nothing(tmp_path: Path) -> None:
    fill(place(tmp_path), [{SERIES: [1.0] * 5}])
    with pytest.raises(ZeroDivisionError), store.writing(place(tmp_path)) as connection:  # noqa: PT012
        writer.write(connection, entry(1, {SERIES: [2.0] * 5}))
        raise ZeroDivisionError
    with sqlite3.connect(tmp_path / "history.sqlite") as database:
        assert database.execute("SELECT count(*) FROM benchgate_run").fetchall() == [(5,)]
    database.close()


def test_a_server_that_does_not_answer_is_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    where = Place(URL.create("postgresql+psycopg", database="x", query={"host": str(tmp_path)}))
    with pytest.raises(HistoryError, match=r"cannot be used: .*check the place") as caught:
        open_(where)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("word", "environment", "file"),
    [
        ("", {"HOME": "/home/me"}, "/home/me/.local/share/benchgate/history.sqlite"),
        ("", {"HOME": "/home/me", "XDG_DATA_HOME": "/data"}, "/data/benchgate/history.sqlite"),
        ("", {"HOME": "/home/me", "XDG_DATA_HOME": "data"}, "/home/me/.local/share/benchgate/history.sqlite"),
        ("", {"HOME": "/home/me", "BENCHGATE_HISTORY": "/own.db"}, "/own.db"),
        ("/given.db", {"BENCHGATE_HISTORY": "/own.db"}, "/given.db"),
        ("sqlite:////given.db", {}, "/given.db"),
    ],
)
def test_a_sqlite_file(word: str, environment: dict[str, str], file: str) -> None:
    assert store.find_place(word, environment).file == Path(file)


def test_a_server_and_no_password_in_a_message() -> None:
    result = store.find_place("postgresql://me:secret@host/db", {})
    assert result.file is None
    assert result.url.drivername == "postgresql+psycopg"
    assert result.url.password == "secret"
    assert str(result) == "postgresql+psycopg://me:***@host/db"


@pytest.mark.parametrize(
    "word",
    [
        "mysql://me:secret@host/db",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:x?mode=ro",
        "://",
        "x://y:z:1",
    ],
)
def test_other_databases_are_refused(word: str) -> None:
    with pytest.raises(HistoryError, match="give the path of a SQLite file") as caught:
        store.find_place(word, {})
    assert "secret" not in str(caught.value)
