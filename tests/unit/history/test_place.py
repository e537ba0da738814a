"""Where the history is."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.errors import HistoryError
from benchgate.history import place


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
    assert place.find(word, environment).file == Path(file)


def test_a_server_and_no_password_in_a_message() -> None:
    found = place.find("postgresql://me:secret@host/db", {})
    assert found.file is None
    assert found.url.drivername == "postgresql+psycopg"
    assert found.url.password == "secret"
    assert str(found) == "postgresql+psycopg://me:***@host/db"


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
        place.find(word, {})
    assert "secret" not in str(caught.value)
