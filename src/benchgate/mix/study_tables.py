"""The tables of a study as CSV, and what the programme reads of them. Pure.

Takes what was measured; gives the texts of vectors.csv and sensitivity.csv, which `benchgate mix choose`
reads, of two tables with their intervals, and of isolation.csv. Does not fail.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction

from benchgate.base.text import csv_field
from benchgate.mix.estimates import Estimate, decimals
from benchgate.mix.isolation import MixIsolation
from benchgate.mix.sensitivity import Sigma
from benchgate.mix.study import Study
from benchgate.mix.vectors import Vector

UNAVAILABLE = "unavailable"
SCORE_DIGITS = 9


def vectors(study: Study, found: Sequence[Vector], refused: Collection[str] = ()) -> str:
    """The table of vectors. It omits inputs without a valid run, and those of refused applications."""
    rows = [["application", "input", "score", *study.resources]]
    for one in found:
        if one.score is not None and one.input.application not in refused:
            shares = [_share(one.use.get(name)) for name in study.resources]
            score = decimals(one.score.value, SCORE_DIGITS)
            rows.append([one.input.application, one.input.input, score, *shares])
    return _csv(rows)


def sensitivity(
    study: Study, vectors_: Sequence[Vector], found: Sequence[Sigma], refused: Collection[str] = ()
) -> str:
    """The table of sensitivities. It omits applications without an input in the other table."""
    present = {one.input.application for one in vectors_ if one.score is not None}
    by_place = {(one.application, one.resource): one.figure for one in found}
    rows = [["application", *study.resources]]
    for name in study.applications:
        if name in present and name not in refused:
            rows.append([name, *(_share(by_place.get((name, resource))) for resource in study.resources)])
    return _csv(rows)


def vector_intervals(study: Study, found: Sequence[Vector]) -> str:
    rows = [["application", "input", "figure", "median", "low", "high", "samples", "missing"]]
    for one in found:
        names = (one.input.application, one.input.input)
        figures = [("score", one.score), *((name, one.use.get(name)) for name in study.resources)]
        rows += [
            [*names, name, *_spread(figure), csv_field(one.missing.get(name, ""))] for name, figure in figures
        ]
    return _csv(rows)


def sensitivity_levels(found: Sequence[Sigma]) -> str:
    """What each sensitivity was computed from: the part of the score that was kept at each limit."""
    rows = [["application", "resource", "figure", "median", "low", "high", "samples", "missing"]]
    for one in found:
        names = [one.application, one.resource]
        rows.append([*names, "sigma", *_spread(one.figure), csv_field(one.missing)])
        for level in one.levels:
            name = f"kept of {level.input} at {level.percent}% (limit {decimals(level.fraction)})"
            rows.append([*names, name, decimals(level.kept), "", "", "", ""])
    return _csv(rows)


def isolation(found: Iterable[tuple[str, MixIsolation]]) -> str:
    """`found`: with the roles of each mix."""
    rows = [["mix", "roles", "part", "alone", "mixed", "slowdown", "low", "high", "floor", "missing"]]
    for roles, one in found:
        if one.missing:
            rows.append([one.mix, roles, "", "", "", "", "", "", "", csv_field(one.missing)])
        for part in one.parts:
            scores = [_samples(part.alone), _samples(part.mixed)]
            spread = [f"{part.value:.6f}", f"{part.low:.6f}", f"{part.high:.6f}"]
            floor = UNAVAILABLE if part.floor is None else f"{part.floor:.6f}"
            rows.append([one.mix, roles, part.part, *scores, *spread, floor, ""])
    return _csv(rows)


def _share(figure: Estimate | None) -> str:
    return UNAVAILABLE if figure is None else decimals(figure.value)


def _spread(figure: Estimate | None) -> list[str]:
    if figure is None:
        return [UNAVAILABLE, "", "", ""]
    return [
        decimals(figure.value, SCORE_DIGITS),
        f"{figure.low:.9f}",
        f"{figure.high:.9f}",
        _samples(figure.samples),
    ]


def _samples(values: Sequence[Fraction]) -> str:
    return " ".join(decimals(one, SCORE_DIGITS) for one in values)


def _csv(rows: Iterable[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
