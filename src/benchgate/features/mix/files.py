"""Writes the tables of a study as CSV, and reads the two that a programme needs, wherever they come from.

Takes the paths of CSV files: vectors, with `application,input,score` and a column for each resource, a line
for each input that was measured alone; and sensitivities, with `application` and the same resources. Gives
Applications. `unavailable` in a field takes its resource out of the programme. Fails with UsageError that
names file, line and column.

Takes what was measured; gives the texts of these two tables, of both with their intervals, and of
isolation.csv. Writing does not fail.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.base.files import read_start
from benchgate.base.text import csv_field, visible
from benchgate.features.mix.isolation import MixIsolation
from benchgate.features.mix.measurement import Estimate, decimals
from benchgate.features.mix.programme import ApplicationInput, Applications
from benchgate.features.mix.sensitivity import Sigma
from benchgate.features.mix.study import Study, written_number
from benchgate.features.mix.vectors import Vector

MOST_BYTES = 1 << 20
UNAVAILABLE = "unavailable"
FIRST = ("application", "input", "score")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+-]{0,63}\Z")
SCORE_DIGITS = 9


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a CSV file, by column."""

    path: Path
    number: int
    fields: Mapping[str, str]

    @property
    def where(self) -> str:
        return f"{self.path}:{self.number}"

    def name(self, column: str) -> str:
        word = self.fields[column]
        if not _NAME.match(word):
            raise self.wrong(column, "is not a name: use letters, digits, `_`, `.`, `:`, `+` and `-`")
        return word

    def number_in(self, column: str, most: Fraction | None = None) -> Fraction | None:
        """None: unavailable."""
        word = self.fields[column]
        if word == UNAVAILABLE:
            return None
        value = _number(word)
        if value is None or (most is not None and value > most):
            upper = "0 or more" if most is None else f"from 0 to {most}"
            raise self.wrong(column, f"is not a number {upper}, or `{UNAVAILABLE}`")
        return value

    def wrong(self, column: str, what: str) -> UsageError:
        return UsageError(f"{self.where}: {column}: `{visible(self.fields[column])}` {what}")


def read(vectors: Path, sensitivity: Path, *, below: Path = Path()) -> Applications:
    """`below`: the folder that the paths start from, which no sentence names."""
    where, columns, lines = _table(vectors, FIRST, below)
    measured = columns[len(FIRST) :]
    if not measured:
        raise UsageError(f"{vectors}:1: there is no column for a resource after {','.join(FIRST)}")
    _, others, by_application = _table(sensitivity, ("application",), below)
    if set(others[1:]) != set(measured):
        differ = ", ".join(sorted(set(others[1:]) ^ set(measured)))
        raise UsageError(f"{sensitivity}:1: both files must have the same resources, but not: {differ}")
    _refuse_two_of(lines, lambda line: f"{line.name('application')}.{line.name('input')}")
    _refuse_two_of(by_application, lambda line: line.name("application"))
    use = [[line.number_in(resource) for resource in measured] for line in lines]
    depends = {
        line.name("application"): [line.number_in(resource, most=Fraction(1)) for resource in measured]
        for line in by_application
    }
    for line in lines:
        if line.name("application") not in depends:
            raise line.wrong("application", f"has no line in {sensitivity}")
    by_name = {line.name("application"): line for line in by_application}
    measured_of = {line.name("application") for line in lines}
    every = [*use, *depends.values()]
    kept = [j for j in range(len(measured)) if all(row[j] is not None for row in every)]
    if not kept:
        text = "no resource is available for every input; next: leave out inputs without one"
        raise UsageError(f"{where}: {text}")
    return Applications(
        resources=tuple(measured[j] for j in kept),
        inputs=tuple(_input(line, row, kept) for line, row in zip(lines, use, strict=True)),
        sensitivity={name: _present(row, kept) for name, row in depends.items()},
        unavailable=tuple(name for j, name in enumerate(measured) if j not in kept),
        where=where,
        unmeasured={name: line.where for name, line in by_name.items() if name not in measured_of},
    )


def capacities(words: Sequence[str], resources: Sequence[str]) -> dict[str, Fraction]:
    """The capacities that words such as `disk=0.8` set."""
    fractions: dict[str, Fraction] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in resources:
            raise UsageError(f"--capacity {visible(word)}: there is no resource `{visible(name)}`; known: "
                             f"{', '.join(resources)}")  # fmt: skip
        if name in fractions:
            raise UsageError(f"--capacity {visible(word)}: {name} is given twice")
        number = _number(value)
        if number is None:
            raise UsageError(f"--capacity {visible(word)}: `{visible(value)}` is not a number, such as 0.8")
        fractions[name] = number
    return fractions


def _number(word: str) -> Fraction | None:
    """A number of at least 0; None for any other word."""
    with suppress(ValueError):
        if (value := written_number(word)) >= 0:
            return value
    return None


def _input(line: _Line, use: Sequence[Fraction | None], kept: Sequence[int]) -> ApplicationInput:
    score = line.number_in("score")
    if score is None:
        raise line.wrong("score", "is no score: an input without one was not measured; leave out its line")
    names = line.name("application"), line.name("input")
    return ApplicationInput(*names, score, _present(use, kept), line.where)


def _present(row: Sequence[Fraction | None], kept: Sequence[int]) -> tuple[Fraction, ...]:
    return tuple(value for j in kept if (value := row[j]) is not None)


def _refuse_two_of(lines: Sequence[_Line], name_of: Callable[[_Line], str]) -> None:
    seen: dict[str, _Line] = {}
    for line in lines:
        name = name_of(line)
        if name in seen:
            raise UsageError(f"{line.where}: application: `{name}` is already on line {seen[name].number}")
        seen[name] = line


def _table(path: Path, first: Sequence[str], below: Path) -> tuple[str, tuple[str, ...], list[_Line]]:
    """Where the names of the columns are, the names, and the lines. `first`: columns that must begin it."""
    rows = _rows(path, below)
    number, columns = next(rows, (1, []))
    where = f"{path}:{number}"
    if tuple(columns[: len(first)]) != tuple(first):
        raise UsageError(f"{where}: the first line must begin with {','.join(first)}")
    for column in columns:
        if not _NAME.match(column) or columns.count(column) > 1:
            raise UsageError(f"{where}: `{visible(column)}` is no name of a column, or is there twice")
    lines = []
    for number, fields in rows:
        if len(fields) != len(columns):
            raise UsageError(f"{path}:{number}: {len(fields)} fields, but {len(columns)} columns")
        lines.append(_Line(path, number, dict(zip(columns, fields, strict=True))))
    if not lines:
        raise UsageError(f"{where}: there is no line below the names of the columns; next: add one for each")
    return where, tuple(columns), lines


def _rows(path: Path, below: Path) -> Iterator[tuple[int, list[str]]]:
    try:
        raw = read_start(below / path, MOST_BYTES + 1, follow=True)
        text = raw.decode("utf-8-sig")  # as Excel writes it
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8 text") from error
    if len(raw) > MOST_BYTES:
        raise UsageError(f"{path}: is longer than {MOST_BYTES:,} bytes")
    reader = csv.reader(text.splitlines(), strict=True, skipinitialspace=True)
    try:
        for fields in reader:
            if any(fields):
                yield reader.line_num, [field.strip() for field in fields]
    except csv.Error as error:
        raise UsageError(f"{path}:{reader.line_num}: {error}") from error


def vectors_csv(study: Study, vectors: Sequence[Vector], refused: Collection[str] = ()) -> str:
    """The table of vectors. It omits inputs without a valid run, and those of refused applications."""
    rows = [["application", "input", "score", *study.resources]]
    for vector in vectors:
        if vector.score is not None and vector.input.application not in refused:
            shares = [_share(vector.use.get(name)) for name in study.resources]
            score = decimals(vector.score.value, SCORE_DIGITS)
            rows.append([vector.input.application, vector.input.input, score, *shares])
    return _csv_text(rows)


def sensitivity_csv(
    study: Study, vectors_: Sequence[Vector], sigmas: Sequence[Sigma], refused: Collection[str] = ()
) -> str:
    """The table of sensitivities. It omits applications without an input in the other table."""
    present = {vector.input.application for vector in vectors_ if vector.score is not None}
    by_place = {(sigma.application, sigma.resource): sigma.figure for sigma in sigmas}
    rows = [["application", *study.resources]]
    for name in study.applications:
        if name in present and name not in refused:
            rows.append([name, *(_share(by_place.get((name, resource))) for resource in study.resources)])
    return _csv_text(rows)


def vector_intervals_csv(study: Study, vectors: Sequence[Vector]) -> str:
    rows = [["application", "input", "figure", "median", "low", "high", "samples", "missing"]]
    for vector in vectors:
        names = (vector.input.application, vector.input.input)
        figures = {"score": vector.score, **{name: vector.use.get(name) for name in study.resources}}
        for name, figure in figures.items():
            rows.append([*names, name, *_spread(figure), csv_field(vector.missing.get(name, ""))])
    return _csv_text(rows)


def sensitivity_levels_csv(sigmas: Sequence[Sigma]) -> str:
    """What each sensitivity was computed from: the part of the score that was kept at each limit."""
    rows = [["application", "resource", "figure", "median", "low", "high", "samples", "missing"]]
    for sigma in sigmas:
        names = [sigma.application, sigma.resource]
        rows.append([*names, "sigma", *_spread(sigma.figure), csv_field(sigma.missing)])
        for level in sigma.levels:
            name = f"kept of {level.input} at {level.percent}% (limit {decimals(level.fraction)})"
            rows.append([*names, name, decimals(level.kept), "", "", "", ""])
    return _csv_text(rows)


def isolation_csv(found: Iterable[tuple[str, MixIsolation]]) -> str:
    """`found`: with the roles of each mix."""
    rows = [["mix", "roles", "part", "alone", "mixed", "slowdown", "low", "high", "floor", "missing"]]
    for roles, isolation in found:
        if isolation.missing:
            rows.append([isolation.mix, roles, "", "", "", "", "", "", "", csv_field(isolation.missing)])
        for part in isolation.parts:
            scores = [_samples(part.alone), _samples(part.mixed)]
            spread = [f"{part.value:.6f}", f"{part.low:.6f}", f"{part.high:.6f}"]
            floor = UNAVAILABLE if part.floor is None else f"{part.floor:.6f}"
            rows.append([isolation.mix, roles, part.part, *scores, *spread, floor, ""])
    return _csv_text(rows)


def _share(figure: Estimate | None) -> str:
    return UNAVAILABLE if figure is None else decimals(figure.value)


def _spread(figure: Estimate | None) -> list[str]:
    if figure is None:
        return [UNAVAILABLE, "", "", ""]
    ends = f"{figure.low:.9f}", f"{figure.high:.9f}"
    return [decimals(figure.value, SCORE_DIGITS), *ends, _samples(figure.samples)]


def _samples(values: Sequence[Fraction]) -> str:
    return " ".join(decimals(value, SCORE_DIGITS) for value in values)


def _csv_text(rows: Iterable[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
