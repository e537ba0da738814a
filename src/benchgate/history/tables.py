"""The tables of a history (version 2) and their indexes.

A series is one metric of one cell on one lane, and on wall time on one machine. A point is a series in one
session; its runs have the samples. Both are stored in the order in which a course reads them, so one row out
of many is one stretch of each table. Takes and gives nothing; does not fail.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

VERSION = 2
METADATA = MetaData()
_NUMBER = BigInteger().with_variant(Integer, "sqlite")
"""SQLite counts up only a column of type INTEGER."""

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
    Column("commit", Text, nullable=False),
    Column("changes", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("verified", Boolean, nullable=False),
    Column("note", Text, nullable=False),
    Index("benchgate_session_started", "started", "name"),
    Index("benchgate_session_commit", "commit"),
)

SERIES = Table(
    "benchgate_series",
    METADATA,
    Column("id", _NUMBER, primary_key=True),
    Column("key", String(64), nullable=False, unique=True),
    Column("row", Text, nullable=False),
    Column("cell", Text, nullable=False),
    Column("system", Text, nullable=False),
    Column("workload", Text, nullable=False),
    Column("params", Text, nullable=False),
    Column("mode", Text, nullable=False),
    Column("cpus", Integer, nullable=False),
    Column("lane", Text, nullable=False),
    Column("placement", Text, nullable=False),
    Column("machine", Text, nullable=False),
    Column("metric", Text, nullable=False),
    Column("better", Text, nullable=False),
    Column("unit", Text, nullable=False),
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
    Column("guest", Text, nullable=False),
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
