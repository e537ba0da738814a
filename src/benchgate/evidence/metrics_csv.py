"""metrics.csv: in long form, one line per verified run and metric (version 1).

Takes RunRows; gives text in which fields are written as in results.csv. The windows `work` and `total` are
metrics, too. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchgate.base.metrics import WINDOWS
from benchgate.base.text import csv_field
from benchgate.evidence.results_csv import joined_params, plain_word
from benchgate.evidence.rows import RunRow

COLUMNS = (
    "run",
    "system",
    "workload",
    "params",
    "mode",
    "cpus",
    "lane",
    "metric",
    "kind",
    "better",
    "unit",
    "value",
)
HEADER = ",".join(COLUMNS) + "\n"


def lines(row: RunRow) -> str:
    """The lines of one run; none if it is not verified."""
    if row.work is None or row.total is None:
        return ""
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
    return "".join(
        _line((*head, metric.name, metric.kind, metric.better, plain_word(unit), _number(value)))
        for metric, unit, value in found
    )


def render(rows: Iterable[RunRow]) -> str:
    return HEADER + "".join(map(lines, rows))


def _line(fields: tuple[str, ...]) -> str:
    return ",".join(map(csv_field, fields)) + "\n"


def _number(value: float) -> str:
    """All digits, so that the value is read back unchanged."""
    return str(int(value)) if value.is_integer() else repr(value)
