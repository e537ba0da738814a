"""results.csv: one line per run, with columns that other programs may rely on (version 1).

Takes RunRows and gives text, or the reverse. Lists are joined by `;` and fields never need quotes, so that
`cut -d,` can read the file, too. Reading fails with EvidenceError that names the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import partial
from typing import Any

from benchgate.base.cells import Cell, Lane, Mode, Params, Placement
from benchgate.base.errors import EvidenceError, IncompleteError
from benchgate.base.runs import Outcome
from benchgate.base.text import csv_field, plain_field
from benchgate.evidence.rows import ANY, NUMBER, PARAMS, POSITIVE, RUN, WORD, CsvColumn, RunRow, words_column

UNITS = ("", "ns", "cycles", "insn")
StoredColumn = tuple[CsvColumn, Callable[[Any], str], Callable[[str, str], object]]
"""What the column holds, how the field of a row is written, and how it is read: from its text and the place,
for an error."""

LONGEST_LINE = 8192
MOST_LINES = 1_000_000

_RESERVED = re.compile(r"[,;=\"%]")
_HEX = re.compile(r"%([0-9A-F]{2})")


def line(row: RunRow) -> str:
    return written(_COLUMNS, row.cell, row)


def render(rows: Iterable[RunRow]) -> str:
    return HEADER + "".join(line(row) for row in rows)


def parse(text: str, where: str) -> tuple[RunRow, ...]:
    """The rows of a results.csv, which has no labels and no reasons."""
    lines = text.split("\n")
    if lines[0].rstrip("\r") != HEADER.strip():
        raise EvidenceError(f"{where}:1: this is not the header of results.csv version 1: {HEADER.strip()}")
    if lines[-1]:
        raise IncompleteError(f"{where}:{len(lines)}: the last line has no line end: the file is truncated")
    if len(lines) > MOST_LINES:
        raise EvidenceError(f"{where}: more than {MOST_LINES} lines")
    return tuple(_row(one.rstrip("\r"), f"{where}:{n}") for n, one in enumerate(lines[1:-1], start=2))


def written(columns: Mapping[str, StoredColumn], *parts: object) -> str:
    """One line with its line break. Each column is a field of one of these parts."""
    of = {name: next(part for part in parts if hasattr(part, name)) for name in columns}
    fields = (write(getattr(of[name], name)) for name, (_, write, _) in columns.items())
    return ",".join(map(csv_field, fields)) + "\n"


def values_of(columns: Mapping[str, StoredColumn], text: str, where: str) -> dict[str, Any]:
    """What `written` wrote in this line, by column."""
    fields = text[:LONGEST_LINE].split(",")
    if len(text) > LONGEST_LINE or len(fields) != len(columns):
        raise EvidenceError(f"{where}: {len(fields)} fields, expected {len(columns)}")
    cells = zip(columns.items(), map(plain_field, fields), strict=True)
    return {name: read(one, f"{where}: {name}") for (name, (_, _, read)), one in cells}


def _row(text: str, where: str) -> RunRow:
    values = values_of(_COLUMNS, text, where)
    cell = Cell(**{name: values.pop(name) for name in _OF_CELL})
    row = RunRow(cell, **values)
    _check(row, where)
    return row


def _check(row: RunRow, where: str) -> None:
    figures = row.work is not None and row.total is not None and bool(row.unit)
    if row.verified != figures:
        raise EvidenceError(f"{where}: a verified run has work, total and unit; other runs have none of them")
    if row.verified != (row.outcome in (Outcome.OK, Outcome.WARMUP, Outcome.VOID)):
        contradiction = f"outcome {row.outcome} contradicts verified={str(row.verified).lower()}"
        raise EvidenceError(f"{where}: {contradiction}")
    if row.work is not None and row.total is not None and row.work > row.total:
        raise EvidenceError(f"{where}: work {row.work} is longer than total {row.total}")


def joined_params(params: Params) -> str:
    return ";".join(f"{plain_word(name)}={plain_word(str(value))}" for name, value in params)


def plain_word(text: str) -> str:
    """The separators of this format, percent-encoded."""
    return _RESERVED.sub(lambda match: f"%{ord(match.group()):02X}", text)


def unencoded(text: str) -> str:
    """The inverse of `plain_word`."""
    return _HEX.sub(lambda match: chr(int(match.group(1), 16)), text)


def split_params(text: str, where: str) -> Params:
    pairs = [piece.partition("=") for piece in text.split(";") if piece]
    if any(not name or not sign for name, sign, _ in pairs):
        raise EvidenceError(f"{where} must be name=value, joined by `;`, not {text[:80]!r}")
    return tuple((unencoded(name), _value(unencoded(value))) for name, _, value in pairs)


def _value(text: str) -> int | str:
    return int(text) if re.fullmatch(r"-?(0|[1-9][0-9]{0,18})", text) else text


def _count(value: int | None) -> str:
    return "" if value is None else str(value)


def _time(text: str, where: str) -> int | None:
    return _whole(text, where, least=1) if text else None


def _whole(text: str, where: str, least: int = 0) -> int:
    if not re.fullmatch(r"[0-9]{1,20}", text) or int(text) < least:
        raise EvidenceError(f"{where}: {text[:80]!r} is not a whole number of at least {least}")
    return int(text)


def _pins(text: str, where: str) -> tuple[int, ...]:
    return tuple(_whole(piece, where) for piece in text.split(";") if piece)


def _yes(text: str, where: str) -> bool:
    return _choice(text, ("true", "false"), where) == "true"


def _choice(text: str, allowed: tuple[str, ...], where: str) -> str:
    if text not in allowed:
        raise EvidenceError(f"{where}: {text[:80]!r} is not one of {', '.join(filter(None, allowed))}")
    return text


def member(kind: type[StrEnum]) -> StoredColumn:
    return words_column(kind), str, lambda text, where: kind(_choice(text, tuple(kind), where))


def word(column: CsvColumn) -> StoredColumn:
    return column, plain_word, lambda text, _: unencoded(text)


def positive(column: CsvColumn) -> StoredColumn:
    return column, str, partial(_whole, least=1)


STORED_PARAMS: StoredColumn = PARAMS, joined_params, split_params
_NUMBER: StoredColumn = NUMBER, str, _whole
_TIME: StoredColumn = CsvColumn("^([1-9][0-9]*)?$"), _count, _time
_PINS = CsvColumn("^([0-9]+(;[0-9]+)*)?$", about="host CPUs in order of vCPU or worker; empty: not pinned")
_COLUMNS: Mapping[str, StoredColumn] = {
    "system": word(WORD),
    "workload": word(WORD),
    "params": STORED_PARAMS,
    "mode": member(Mode),
    "cpus": positive(POSITIVE),
    "lane": member(Lane),
    "placement": member(Placement),
    "pins": (_PINS, lambda pins: ";".join(map(str, pins)), _pins),
    "run": positive(RUN),
    "order": _NUMBER,
    "seed": _NUMBER,
    "outcome": member(Outcome),
    "verified": (words_column(("true", "false")), lambda is_verified: str(is_verified).lower(), _yes),
    "work": _TIME,
    "total": _TIME,
    "unit": (words_column(UNITS), str, lambda text, where: _choice(text, UNITS, where)),
    "guest_digest": word(ANY),
}
_OF_CELL = ("system", "workload", "params", "mode", "cpus")
COLUMNS: Mapping[str, CsvColumn] = {name: column for name, (column, _, _) in _COLUMNS.items()}
HEADER = ",".join(COLUMNS) + "\n"
