"""Makes a history of many runs and shows that one row of it is read at once (docs/how-to/history.md).

Takes the size and, if it should not be a temporary SQLite file, the place; prints the time of each question,
how the database answers it, and the sizes. Exits with 1 if a question about one row would read other rows.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import Select, func, select, text

from benchgate.base.errors import BenchgateError
from benchgate.features.history import reader, store, writer
from benchgate.features.history.course import course_of
from benchgate.features.history.entry import Entry
from benchgate.features.history.store import RUNS, SERIES, SESSIONS, Place
from benchgate.features.history.tests import entries

FIRST = datetime(2020, 1, 1, tzinfo=UTC)
TIMES = 21
_ONE = replace(
    entries.SERIES,
    row="row0-linux",
    cell="row0-linux-smp2",
    workload="row0",
    params="hi=3000000;split=cost;wait=join",
)


def main() -> int:
    words = _words()
    with tempfile.TemporaryDirectory() as folder:
        where = store.find_place(words.db or str(Path(folder, "history.sqlite")), {})
        try:
            if not (where.file and where.file.exists()):
                fill(where, words.sessions, words.rows, words.runs)
            lines, is_direct = answers(where)
        except BenchgateError as error:
            sys.exit(str(error))
        size = f", {where.file.stat().st_size / 2**20:.0f} MiB" if where.file else ""
    print(f"{lines[0]}{size}", *lines[1:], sep="\n")
    return 0 if is_direct else 1


def fill(where: Place, sessions: int, rows: int, runs: int) -> None:
    """One transaction for each session, as `history import` makes them."""
    for number, entry in enumerate(_entries(sessions, rows, runs)):
        with store.writing(where) as connection:
            writer.write(connection, entry)
        if sys.stderr.isatty():
            print(f"\r{number + 1} of {sessions} sessions", end="", file=sys.stderr)


def _entries(sessions: int, rows: int, runs: int) -> Iterator[Entry]:
    series = [
        replace(_ONE, row=f"row{n}-linux", cell=f"row{n}-linux-smp2", workload=f"row{n}") for n in range(rows)
    ]
    for number in range(sessions):
        started = FIRST + timedelta(hours=number)
        yield replace(
            entries.entry(number, {one: _samples(number, n, runs) for n, one in enumerate(series)}),
            session=f"{started:%Y%m%dT%H%M%SZ}-{number:06x}",
            manifest=hashlib.sha256(f"{number}".encode()).hexdigest(),
            started=f"{started:%Y-%m-%dT%H:%M:%SZ}",
            commit=hashlib.sha1(f"{number}".encode(), usedforsecurity=False).hexdigest(),
        )


def _samples(session: int, row: int, runs: int) -> Sequence[float]:
    """Different, and the same in each run of this program."""
    return [1e9 + (session * 7919 + row * 104729 + run * 1299709) % 1_000_003 for run in range(1, runs + 1)]


def answers(where: Place) -> tuple[list[str], bool]:
    """The time of each question, and whether no question reads another row's figures."""
    name = _ONE.cell
    with store.reading(where) as connection:
        (numbered_series,) = reader.series_of(connection, name, "work")
        points = reader.points_of(connection, numbered_series.number)
        samples = reader.samples_of(connection, numbered_series.number)
        questions: dict[str, Callable[[], object]] = {
            f"find {name}": lambda: reader.series_of(connection, name, "work"),
            f"its {len(points):,} points": lambda: reader.points_of(connection, numbered_series.number),
            f"its {sum(map(len, samples.values())):,} runs": lambda: reader.samples_of(
                connection, numbered_series.number
            ),
            "its changes (without the database)": lambda: course_of(
                numbered_series.series, points, samples, 0.05
            ),
        }
        tables = {"runs": RUNS, "rows": SERIES, "sessions": SESSIONS}
        sizes = {name: connection.execute(select(func.count()).select_from(table)).scalar_one()
                 for name, table in tables.items()}  # fmt: skip
        lines = [", ".join(f"{count:,} {name}" for name, count in sizes.items())]
        lines += [f"{_milliseconds(ask)}: {what}" for what, ask in questions.items()]
        lines.append(f"median of {TIMES} times, in one process, after the first time")
        queries = {
            "point": reader.points_query(numbered_series.number),
            "run": reader.runs_query(numbered_series.number),
        }
        plans = {table: plan(where, query) for table, query in queries.items()}
    lines += [line for found_plan in plans.values() for line in found_plan]
    return lines, all(_is_direct(table, lines) for table, lines in plans.items())


def plan(where: Place, query: Select[tuple[object, ...]]) -> list[str]:
    """How the database answers, in its own words."""
    with store.reading(where) as connection:
        words = str(query.compile(connection, compile_kwargs={"literal_binds": True}))
        explain = "EXPLAIN QUERY PLAN" if where.file else "EXPLAIN"
        return [str(row[-1]) for row in connection.execute(text(f"{explain} {words}"))]


def _is_direct(table: str, lines: list[str]) -> bool:
    return not any(
        f"SCAN benchgate_{table}" in line or f"Seq Scan on benchgate_{table}" in line for line in lines
    )


def _milliseconds(ask: Callable[[], object]) -> str:
    """Times a query. On a busy machine only the second figure says something: the CPU time of this
    process."""
    ask()
    passed, used = [], []
    for _ in range(TIMES):
        began, began_cpu = time.perf_counter(), time.process_time()
        ask()
        passed.append(time.perf_counter() - began)
        used.append(time.process_time() - began_cpu)
    return f"{statistics.median(passed) * 1000:7.1f} ms, {statistics.median(used) * 1000:5.1f} ms of CPU time"


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--db", default="", metavar="PATH|URL", help="a new history; default: a temporary file"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
