"""The tables of a history's database (version 2), and its transactions: any number of readers, one writer.

A series is one metric of one cell on one lane, and on wall time on one machine. A point is a series in one
session; its runs have the samples. Both are stored in the order in which a course reads them, so one row out
of many is one stretch of each table.

The database is a SQLite file, by default in the user's data folder, or one of PostgreSQL: `find_place` takes
a word (a path or URL) and the environment, and gives a `Place`. A password never gets into a message.

Takes a `Place`; gives connections of SQLAlchemy. A writer holds the database's own lock from the beginning of
its transaction (BEGIN IMMEDIATE, or an advisory lock of the server), so that what it looked up is still true
when it writes. A process that is killed leaves the last whole transaction. Every failure is a HistoryError,
also the URL of another kind of database.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Engine,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from benchgate.base.text import one_line
from benchgate.features.history.errors import HistoryError

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


def find_place(word: str, environment: Mapping[str, str]) -> Place:
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


VERSION = 2
METADATA = MetaData()
_NUMBER = BigInteger().with_variant(Integer, "sqlite")
"""SQLite counts up only a column of type INTEGER."""


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


FORMAT = Table(
    "benchgate_format", METADATA, Column("version", Integer, primary_key=True, autoincrement=False)
)

SESSIONS = Table(
    "benchgate_session",
    METADATA,
    Column("id", _NUMBER, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("manifest", String(64), nullable=False, unique=True),
    Column("started", String(20), nullable=False),
    *_texts("commit", "changes", "version"),
    Column("verified", Boolean, nullable=False),
    *_texts("note"),
    Index("benchgate_session_started", "started", "name"),
    Index("benchgate_session_commit", "commit"),
)

SERIES = Table(
    "benchgate_series",
    METADATA,
    Column("id", _NUMBER, primary_key=True),
    Column("key", String(64), nullable=False, unique=True),
    *_texts("row", "cell", "system", "workload", "params", "mode"),
    Column("cpus", Integer, nullable=False),
    *_texts("lane", "placement", "machine", "metric", "better", "unit"),
    Index("benchgate_series_cell", "cell", "metric"),
    Index("benchgate_series_row", "row", "metric"),
)

POINTS = Table(
    "benchgate_point",
    METADATA,
    Column("series", _NUMBER, ForeignKey(SERIES.c.id), primary_key=True, autoincrement=False),
    Column("started", String(20), primary_key=True),
    Column("session", _NUMBER, ForeignKey(SESSIONS.c.id), primary_key=True, autoincrement=False),
    Column("runs", Integer, nullable=False),
    Column("median", Double, nullable=False),
    Column("low", Double),
    Column("high", Double),
    *_texts("guest"),
    Column("step", Double),
    Index("benchgate_point_session", "session"),
    sqlite_with_rowid=False,
)

RUNS = Table(
    "benchgate_run",
    METADATA,
    Column("series", _NUMBER, ForeignKey(SERIES.c.id), primary_key=True, autoincrement=False),
    Column("session", _NUMBER, ForeignKey(SESSIONS.c.id), primary_key=True, autoincrement=False),
    Column("run", Integer, primary_key=True, autoincrement=False),
    Column("value", Double, nullable=False),
    sqlite_with_rowid=False,
)


WAIT_S = 60
"""How long to wait for another writer, or for a server to answer."""
_LOCK = 0x62656E6368
"""The number of the writer's lock on a server."""
_WITHOUT_STEPS = 1
"""The version whose points have no step."""


@contextmanager
def reading(place: Place) -> Iterator[Connection]:
    """HistoryError if there is no history at this place yet."""
    with _connection(place, "BEGIN") as connection:
        if not _exists(connection):
            raise _missing(place)
        version = _version(connection)
        if version != _WITHOUT_STEPS:
            _require(version, place)
            yield connection
            return
    with writing(place):
        pass  # which brings it to this version
    with reading(place) as connection:
        yield connection


@contextmanager
def writing(place: Place) -> Iterator[Connection]:
    """One transaction, with the tables. It is written as a whole when the block ends without an error."""
    if place.file:
        _make_folder(place.file.parent)
    with _connection(place, "BEGIN IMMEDIATE") as connection:
        if place.file is None:
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
        if not _exists(connection):
            METADATA.create_all(connection)
            connection.execute(insert(FORMAT).values(version=VERSION))
        if _version(connection) == _WITHOUT_STEPS:
            _add_steps(connection)
        _require(_version(connection), place)
        yield connection


@contextmanager
def _connection(place: Place, begin: str) -> Iterator[Connection]:
    if place.file and begin == "BEGIN" and not place.file.exists():
        raise _missing(place)  # SQLite would make an empty file
    try:
        engine = _engine(place.url, begin)
        try:
            with engine.connect() as connection, connection.begin():
                yield connection
        finally:
            engine.dispose()
    except ModuleNotFoundError as error:
        raise HistoryError(
            f"{place} needs the Python package {error.name}: pip install 'pytest-benchgate[postgresql]'"
        ) from None
    except SQLAlchemyError as error:
        cause = one_line(str(getattr(error, "orig", None) or error))
        raise HistoryError(f"the history {place} cannot be used: {cause}; {_advice(cause)}") from error


def _engine(url: URL, begin: str) -> Engine:
    if url.get_backend_name() != SQLITE:
        return create_engine(url, poolclass=NullPool, connect_args={"connect_timeout": WAIT_S})
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": WAIT_S})

    # Python's driver would begin a transaction only before the first change, and look things up outside it.
    @event.listens_for(engine, "connect")
    def _prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None
        for pragma in ("foreign_keys = ON", "trusted_schema = OFF", "synchronous = FULL"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HistoryError(
            f"{folder} cannot be made: {error.strerror}; choose another place with --db"
        ) from None


def _exists(connection: Connection) -> bool:
    return inspect(connection).has_table(FORMAT.name)


def _version(connection: Connection) -> object:
    """None if the table of the version does not have exactly one."""
    versions = connection.execute(select(FORMAT.c.version)).scalars().all()
    return versions[0] if len(versions) == 1 else None


def _add_steps(connection: Connection) -> None:
    """The points of version 1 stay without a step: it is not known."""
    connection.execute(text(f"ALTER TABLE {POINTS.name} ADD COLUMN step DOUBLE PRECISION"))
    connection.execute(update(FORMAT).values(version=VERSION))


def _require(version: object, place: Place) -> None:
    if version != VERSION:
        raise HistoryError(
            f"the history {place} has version {one_line(str(version))}, expected {VERSION}: use the version "
            "of benchgate that wrote it, or import the sessions into a new history with --db"
        )


def _missing(place: Place) -> HistoryError:
    return HistoryError(f"there is no history at {place} yet; next: benchgate history import DIR")


def _advice(cause: str) -> str:
    if "locked" in cause:
        return f"another process has been writing for {WAIT_S} s: run this again"
    return "check the place (--db), and that it may be read and written"
