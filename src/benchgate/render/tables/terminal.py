"""The summary for a terminal: plain text without escape sequences, no wider than the terminal.

Takes a SessionView and a width; gives text. Columns without a value are left out, and then
columns that do not fit, the least important first; reasons are wrapped, not truncated; a command that one
advises has a line of its own, however long. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchgate.base.cells import Window
from benchgate.base.gates import Word
from benchgate.base.text import located, visible
from benchgate.plan import glossary
from benchgate.render.figures import ArmFigures, ArmSeries, series_of
from benchgate.render.tables import (
    attribution,
    columns,
    memory,
    metrics,
    sensitivity,
    side_by_side,
    threads,
    units,
    variants,
)
from benchgate.render.view import SessionView, headline, sentences_of, unwitnessed, void_runs

NARROWEST = 40

COLUMNS = (
    ("arm", "arm", 0),
    ("runs", "runs", 5),
    ("median", "work, median", 2),
    ("min .. max", "min .. max", 6),
    ("CV", "CV", 4),
    ("speedup", "speedup", 0),
    ("host", "host", 3),
    ("gate", "gate", 1),
    ("step", "time step", 3),
    ("step error", "step error", 3),
    ("out of order", "out of order", 2),
)
"""The heading, the cell (units.cells_of), and the order in which columns are left out: largest first, 0
never."""


def render(view: SessionView, width: int = 80, folder: Path | None = None) -> str:
    """Figures, notes, verdicts with what is not a PASS at their end, and the headline: what was asked scrolls
    away last. `folder`: the session's, for the paths of runs."""
    room = max(width, NARROWEST)
    lines: list[str] = []
    for series in series_of(view):
        lines += [*_table(view, series, room), ""]
        if measured := metrics.text(view, series, room):
            lines += [*measured, ""]
    wall = [line for text in sensitivity.wall_time_sentences(view) for line in _wrapped(text, room)]
    shares = attribution.terminal(view.attributions, width).splitlines() if view.attributions else []
    for block in (
        side_by_side.text(view, room),
        variants.text(view, room),
        memory.text(view, room),
        wall,
        shares,
    ):
        lines += [*block, ""] if block else []
    every = [f"{word}: {text}" for word, text in sentences_of(view.shown_verdicts)]
    every.sort(key=lambda text: not text.startswith(Word.PASS))
    reasons = every if folder is None else [located(reason, folder) for reason in every]
    advised = [command for verdict in view.shown_verdicts for command in verdict.commands]
    pasted = advised if folder is None else [located(command, folder) for command in advised]
    seen = (*threads.sentences(view), *sensitivity.sentences(view), *void_runs(view), *view.outliers)
    for texts in ((*seen, *unwitnessed(view), *view.labels, *view.notes, *_words(every)), reasons):
        lines += [line for text in texts for line in _wrapped(text, room, pasted)]
        lines += [""] if texts else []
    return "\n".join([*lines, *_wrapped(headline(view), room)]) + "\n"


def _words(sentences: Sequence[str]) -> list[str]:
    """Names the words of the verdicts that the glossary explains, in one line."""
    found = dict.fromkeys(term.word for text in sentences for _, _, term in glossary.found(text))
    return [f"words: {', '.join(sorted(found))}; `benchgate docs WORD` explains one"] if found else []


def _table(view: SessionView, series: ArmSeries, room: int) -> list[str]:
    placements = ", ".join(sorted({str(arm.placement) for arm in series.arms}))
    title = f"{series.name} ({series.lane}, {placements})"
    rows = [[name for name, _, _ in COLUMNS], *(_cells(view, series, arm) for arm in series.arms)]
    kept = columns.fitted(rows, [order for _, _, order in COLUMNS], room)
    return [*_wrapped(title, room), *columns.drawn(kept)]


def _cells(view: SessionView, series: ArmSeries, arm: ArmFigures) -> list[str]:
    cells = units.cells_of(series, arm, view.capacity)
    cells["speedup"] = units.speedup(arm.speedups.get(Window.WORK))
    cells["host"] = cells["host capacity"].partition(" ")[0]
    return [visible(cells[of]) for _, of, _ in COLUMNS]


def _wrapped(text: str, room: int, pasted: Iterable[str] = ()) -> list[str]:
    return columns.wrapped(visible(text), room, cut=False, whole=map(visible, pasted))
