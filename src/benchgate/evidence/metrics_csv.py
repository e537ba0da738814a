"""metrics.csv: in long form, one line per verified run and metric (version 2).

Takes RunRows; gives text in which fields are written as in results.csv, or reads it. The windows `work` and
`total` are metrics, too. Version 1, which has no steps, is read, too. Reading fails with EvidenceError that
names the line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchgate.base.cells import Params
from benchgate.base.errors import EvidenceError
from benchgate.base.text import csv_field, plain_field
from benchgate.base.workload.metrics import WINDOWS, MetricDirection, MetricKind
from benchgate.evidence.csv_columns import ANY, LANE, MODE, PARAMS, POSITIVE, RUN, WORD, CsvColumn, words
from benchgate.evidence.results_csv import joined_params, plain_word, split_params, unencoded
from benchgate.evidence.rows import RunRow

_FIGURE = r"[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?$"
COLUMNS: Mapping[str, CsvColumn] = {
    "run": RUN,
    "system": WORD,
    "workload": WORD,
    "params": PARAMS,
    "mode": MODE,
    "cpus": POSITIVE,
    "lane": LANE,
    "metric": CsvColumn("^[A-Za-z0-9_.:+-]+$"),
    "kind": words(MetricKind),
    "better": words(MetricDirection),
    "unit": ANY,
    "value": CsvColumn(f"^-?{_FIGURE}"),
    "step": CsvColumn(
        f"^{_FIGURE}",
        about="by how much the value may be off because the guest prints it in steps, in the same unit; 0: "
        "it does not",
    ),
}
HEADER = ",".join(COLUMNS) + "\n"
_HEADER_1 = HEADER.rpartition(",")[0]


_COUNT = re.compile(r"[0-9]{1,9}\Z")


@dataclass(frozen=True, slots=True)
class Value:
    """One line."""

    run: int
    system: str
    workload: str
    params: Params
    cpus: int
    lane: str
    metric: str
    better: MetricDirection
    unit: str
    value: float
    step: float | None
    """The value may be off by so much, because the guest prints it in steps; None: version 1 does not say."""


def parse(text: str, where: str) -> tuple[Value, ...]:
    lines = text.split("\n")
    if lines[0] not in (HEADER.strip(), _HEADER_1) or lines[-1]:
        raise EvidenceError(f"{where}: this is not a whole metrics.csv of version 1 or 2")
    columns = lines[0].split(",")
    return tuple(
        _value(line, columns, f"{where}:{number}") for number, line in enumerate(lines[1:-1], start=2)
    )


def without_steps(text: str) -> str:
    """What version 1 wrote in place of this text."""
    return "".join(f"{line.rpartition(',')[0]}\n" for line in text.splitlines())


def _value(line: str, columns: Sequence[str], where: str) -> Value:
    fields = [plain_field(one) for one in line.split(",")]
    if len(fields) != len(columns):
        raise EvidenceError(f"{where}: {len(fields)} fields, expected {len(columns)}")
    cells = dict(zip(columns, fields, strict=True))
    if (
        not _COUNT.match(cells["run"])
        or not _COUNT.match(cells["cpus"])
        or cells["better"] not in tuple(MetricDirection)
    ):
        raise EvidenceError(f"{where}: run, cpus or better has a wrong value")
    step = _figure(cells["step"], f"{where}: the step") if "step" in cells else None
    if step is not None and step < 0:
        raise EvidenceError(f"{where}: the step is negative")
    return Value(
        run=int(cells["run"]),
        system=unencoded(cells["system"]),
        workload=unencoded(cells["workload"]),
        params=split_params(cells["params"], f"{where}: params"),
        cpus=int(cells["cpus"]),
        lane=cells["lane"],
        metric=cells["metric"],
        better=MetricDirection(cells["better"]),
        unit=unencoded(cells["unit"]),
        value=_figure(cells["value"], f"{where}: the value"),
        step=step,
    )


def _figure(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise EvidenceError(f"{what} is not a number")
    return value


def lines(row: RunRow) -> str:
    """The lines of one run; none if it is not verified."""
    if row.work is None or row.total is None:
        return ""
    if row.steps is None:
        raise ValueError(f"run {row.run} was not judged, so its steps are not known")
    steps = dict(row.steps)
    windows = zip(WINDOWS.values(), (row.work, row.total), strict=True)
    found = [(metric, row.unit, float(value)) for metric, value in windows]
    found += [(metric, metric.unit, value) for metric, value in row.metrics]
    head = (
        str(row.run),
        plain_word(row.system),
        plain_word(row.workload),
        joined_params(row.params),
        row.mode,
        str(row.cpus),
        row.lane,
    )
    of = ((one, plain_word(unit), value, steps.get(one.name, 0.0)) for one, unit, value in found)
    return "".join(
        _line((*head, one.name, one.kind, one.better, unit, _number(value), _number(step)))
        for one, unit, value, step in of
    )


def render(rows: Iterable[RunRow]) -> str:
    return HEADER + "".join(map(lines, rows))


def _line(fields: tuple[str, ...]) -> str:
    return ",".join(map(csv_field, fields)) + "\n"


def _number(value: float) -> str:
    """All digits, so that the value is read back unchanged."""
    return str(int(value)) if value.is_integer() else repr(value)
