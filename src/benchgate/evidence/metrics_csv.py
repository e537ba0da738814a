"""metrics.csv: in long form, one line per verified run and metric (version 3).

Takes RunRows; gives text in which fields are written as in results.csv, or reads it. The windows `work` and
`total` are metrics, too. Version 2, which does not say who saw a metric, and version 1, which has no steps
either, are read, too. Reading fails with EvidenceError that names the line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from benchgate.base.cells import Lane, Mode, Params
from benchgate.base.errors import EvidenceError
from benchgate.base.workload.metrics import MetricDirection, MetricKind, SeenBy
from benchgate.evidence.results_csv import (
    STORED_PARAMS,
    StoredColumn,
    member,
    positive,
    values_of,
    word,
    written,
)
from benchgate.evidence.rows import ANY, POSITIVE, RUN, WORD, CsvColumn, RunRow, words_column


@dataclass(frozen=True, slots=True)
class MetricValue:
    """One line."""

    run: int
    system: str
    workload: str
    params: Params
    mode: Mode
    cpus: int
    lane: Lane
    metric: str
    kind: MetricKind
    better: MetricDirection
    unit: str
    value: float
    step: float | None = None
    """The value may be off by so much, because the guest prints it in steps; None: version 1 does not say."""
    seen_by: SeenBy | None = None
    """Who says what the value is; None: versions 1 and 2 do not say."""


def parse(text: str, where: str) -> tuple[MetricValue, ...]:
    lines = text.split("\n")
    columns = {",".join(columns): columns for columns in VERSIONS.values()}.get(lines[0])
    if columns is None or lines[-1]:
        raise EvidenceError(f"{where}: this is not a whole metrics.csv of a version up to {max(VERSIONS)}")
    return tuple(
        MetricValue(**values_of(columns, line, f"{where}:{number}"))
        for number, line in enumerate(lines[1:-1], start=2)
    )


def as_of_version(version: int, text: str) -> str:
    """What this version wrote in place of this text."""
    kept = len(VERSIONS[version])
    return "".join(f"{','.join(line.split(',')[:kept])}\n" for line in text.splitlines())


def lines(row: RunRow) -> str:
    """The lines of one run; none if it is not verified."""
    return "".join(written(_COLUMNS, value) for value in _values(row))


def _values(row: RunRow) -> Iterator[MetricValue]:
    if row.figures and row.steps is None:
        raise ValueError(f"run {row.run} was not judged, so its steps are not known")
    steps, seen_by = dict(row.steps or ()), dict(row.seen_by)
    for metric, unit, value in row.figures:
        yield MetricValue(
            run=row.run,
            system=row.cell.system,
            workload=row.cell.workload,
            params=row.cell.params,
            mode=row.cell.mode,
            cpus=row.cell.cpus,
            lane=row.lane,
            metric=metric.name,
            kind=metric.kind,
            better=metric.better,
            unit=unit,
            value=value,
            step=steps.get(metric.name, 0.0),
            seen_by=seen_by.get(metric.name, SeenBy.GUEST),
        )


def render(rows: Iterable[RunRow]) -> str:
    return HEADER + "".join(map(lines, rows))


def _number(value: float) -> str:
    """All digits, so that the value is read back unchanged."""
    return str(int(value)) if value.is_integer() else repr(value)


def _value(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise EvidenceError(f"{where}: {text[:80]!r} is not a number")
    return value


def _step(text: str, where: str) -> float:
    step = _value(text, where)
    if step < 0:
        raise EvidenceError(f"{where}: {text[:80]!r} is negative")
    return step


_FIGURE = r"[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?$"
_STEP = CsvColumn(
    f"^{_FIGURE}",
    about="by how much the value may be off because the guest prints it in steps, in the same unit; 0: "
    "it does not",
)
_COLUMNS_1: Mapping[str, StoredColumn] = {
    "run": positive(RUN),
    "system": word(WORD),
    "workload": word(WORD),
    "params": STORED_PARAMS,
    "mode": member(Mode),
    "cpus": positive(POSITIVE),
    "lane": member(Lane),
    "metric": word(CsvColumn("^[A-Za-z0-9_.:+-]+$")),
    "kind": member(MetricKind),
    "better": member(MetricDirection),
    "unit": word(ANY),
    "value": (CsvColumn(f"^-?{_FIGURE}"), _number, _value),
}
_COLUMNS_2: Mapping[str, StoredColumn] = {**_COLUMNS_1, "step": (_STEP, _number, _step)}
_, _SAY_WHO, _READ_WHO = member(SeenBy)
_WHO = words_column(SeenBy).saying(
    "machine: the instruction clock measured it, or counted exactly what the guest says; both: the guest "
    "says it, within what a promise allows that the machine saw kept; guest: nobody but the guest says it"
)
_COLUMNS: Mapping[str, StoredColumn] = {**_COLUMNS_2, "seen_by": (_WHO, _SAY_WHO, _READ_WHO)}
VERSIONS: Mapping[int, Mapping[str, StoredColumn]] = {1: _COLUMNS_1, 2: _COLUMNS_2, 3: _COLUMNS}
COLUMNS: Mapping[str, CsvColumn] = {name: column for name, (column, _, _) in _COLUMNS.items()}
HEADER = ",".join(COLUMNS) + "\n"
