"""metrics.csv: in long form, one line per verified run and metric (version 2).

Takes RunRows; gives text in which fields are written as in results.csv, or reads it. The windows `work` and
`total` are metrics, too. Version 1, which has no steps, is read, too. Reading fails with EvidenceError that
names the line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from benchgate.base.cells import Lane, Mode, Params
from benchgate.base.errors import EvidenceError
from benchgate.base.workload.metrics import MetricDirection, MetricKind
from benchgate.evidence.results_csv import (
    STORED_PARAMS,
    StoredColumn,
    member,
    positive,
    values_of,
    word,
    written,
)
from benchgate.evidence.rows import ANY, POSITIVE, RUN, WORD, CsvColumn, RunRow


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


def parse(text: str, where: str) -> tuple[MetricValue, ...]:
    lines = text.split("\n")
    if lines[0] not in (HEADER.strip(), _HEADER_1) or lines[-1]:
        raise EvidenceError(f"{where}: this is not a whole metrics.csv of version 1 or 2")
    columns = _COLUMNS if lines[0] == HEADER.strip() else _COLUMNS_1
    return tuple(
        MetricValue(**values_of(columns, line, f"{where}:{number}"))
        for number, line in enumerate(lines[1:-1], start=2)
    )


def without_steps(text: str) -> str:
    """What version 1 wrote in place of this text."""
    return "".join(f"{line.rpartition(',')[0]}\n" for line in text.splitlines())


def lines(row: RunRow) -> str:
    """The lines of one run; none if it is not verified."""
    return "".join(written(_COLUMNS, value) for value in _values(row))


def _values(row: RunRow) -> Iterator[MetricValue]:
    if row.figures and row.steps is None:
        raise ValueError(f"run {row.run} was not judged, so its steps are not known")
    steps = dict(row.steps or ())
    for metric, unit, value in row.figures:
        yield MetricValue(
            run=row.run,
            system=row.system,
            workload=row.workload,
            params=row.params,
            mode=row.mode,
            cpus=row.cpus,
            lane=row.lane,
            metric=metric.name,
            kind=metric.kind,
            better=metric.better,
            unit=unit,
            value=value,
            step=steps.get(metric.name, 0.0),
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
_COLUMNS: Mapping[str, StoredColumn] = {**_COLUMNS_1, "step": (_STEP, _number, _step)}
COLUMNS: Mapping[str, CsvColumn] = {name: column for name, (column, _, _) in _COLUMNS.items()}
HEADER = ",".join(COLUMNS) + "\n"
_HEADER_1 = ",".join(_COLUMNS_1)
