"""Where the history is: a SQLite file, by default in the user's data folder, or a PostgreSQL database.

Takes a word (a path or URL) and the environment; gives a `Place`. Fails with HistoryError for a URL of
another kind of database. A password never gets into a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from benchgate.base.errors import HistoryError

VARIABLE = "BENCHGATE_HISTORY"
FILE = "history.sqlite"
SQLITE, POSTGRESQL = "sqlite", "postgresql"


@dataclass(frozen=True, slots=True)
class Place:
    url: URL

    @property
    def file(self) -> Path | None:
        """The SQLite file; None for a server."""
        return Path(str(self.url.database)) if self.url.get_backend_name() == SQLITE else None

    def __str__(self) -> str:
        return str(self.file or self.url.render_as_string(hide_password=True))


def find(word: str, environment: Mapping[str, str]) -> Place:
    """The place that `word` names; if it is empty, the one of the environment, else the user's own."""
    word = word or environment.get(VARIABLE, "")
    if "://" in word:
        return Place(_url(word))
    return Place(URL.create(SQLITE, database=str(Path(word).absolute() if word else _own(environment))))


def _own(environment: Mapping[str, str]) -> Path:
    """By the XDG base directory specification, a relative XDG_DATA_HOME does not count."""
    data = Path(environment.get("XDG_DATA_HOME", ""))
    home = Path(environment["HOME"]) if environment.get("HOME") else Path.home()
    return (data if data.is_absolute() else home / ".local/share") / "benchgate" / FILE


def _url(word: str) -> URL:
    try:
        url = make_url(word)
    except (ArgumentError, ValueError):
        raise HistoryError(f"the history's URL is not valid; {_EXPECTED}") from None
    kind = url.drivername.partition("+")[0]
    if kind == POSTGRESQL and url.database:
        return url.set(drivername="postgresql+psycopg")
    if kind == SQLITE and url.database and not url.query and not url.database.startswith((":", "file:")):
        return url.set(drivername=SQLITE, database=str(Path(url.database).absolute()))
    raise HistoryError(f"the history cannot be in {url.render_as_string(hide_password=True)}; {_EXPECTED}")


_EXPECTED = (
    "give the path of a SQLite file, sqlite:////absolute/path, or postgresql://USER@HOST/DATABASE "
    f"(option --db, or the variable {VARIABLE})"
)
