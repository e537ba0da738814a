"""Small entries of a history, for tests: sessions of one or more series, with samples that a test gives."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sqlalchemy.engine import URL

from benchgate.features.history import store, writer
from benchgate.features.history.entry import CourseSeries, Entry
from benchgate.features.history.store import Place

SERIES = CourseSeries(
    row="primes-linux",
    cell="primes-linux-smp2",
    system="linux",
    workload="primes",
    params="hi=3000000",
    mode="process",
    cpus=2,
    lane="tcg",
    placement="physical",
    machine="cpu_model Example",
    metric="work",
    better="less",
    unit="ns",
)
EXACT = replace(SERIES, lane="insn", machine="", unit="insn")


def place(folder: Path) -> Place:
    return Place(URL.create("sqlite", database=str(folder / "history.sqlite")))


def entry(number: int, samples: Mapping[CourseSeries, Sequence[float]], *, note: str = "") -> Entry:
    """The session with this number: one a day from 2026-01-01 on."""
    day = f"2026-{number // 28 + 1:02d}-{number % 28 + 1:02d}"
    return Entry(
        session=f"{day.replace('-', '')}T030405Z-{number:06d}",
        manifest=hashlib.sha256(f"manifest {number}".encode()).hexdigest(),
        started=f"{day}T03:04:05Z",
        commit=f"{number:08x}" * 5,
        changes="",
        version="0.1.0",
        verified=not note,
        note=note,
        samples={series: dict(enumerate(values, start=1)) for series, values in samples.items()},
        guests=dict.fromkeys(samples, "ab" * 32),
    )


def fill(where: Place, sessions: Sequence[Mapping[CourseSeries, Sequence[float]]], first: int = 0) -> None:
    for number, samples in enumerate(sessions, start=first):
        with store.writing(where) as connection:
            writer.write(connection, entry(number, samples))
