"""`benchgate compare A B`: the figures of two sessions or programs, side by side.

Takes two words of the command line (evidence/figures_file.py) and the metrics to show; gives the table as
text. Fails with UsageError if nothing on both sides is the same, or a side has several systems and the other
one not the same ones.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from benchgate.base.errors import UsageError
from benchgate.base.text import visible
from benchgate.evidence import figures_file
from benchgate.evidence.figures_file import Side
from benchgate.render.tables import comparison
from benchgate.session import regressions

ALPHA = 0.05
HISTORY = "history:"
"""Begins a side that is a session of the history."""


@dataclass(frozen=True, slots=True)
class Compared:
    text: str
    status: int = 0


def text(one: str, other: str, metrics: Collection[str] = ()) -> str:
    """`metrics`: only these; empty: all."""
    return compare(one, other, metrics).text


def compare(
    one: str, other: str, metrics: Collection[str] = (), *, fail_on: float | None = None, db: str = ""
) -> Compared:
    """`fail_on`: how many times worse B may be. `db`: the history for sides that are `history:SESSION`."""
    a, b = _alike(*(_side(word, db).only(metrics) for word in (one, other)))
    lines = [f"A: {a.name}", f"B: {b.name}", "", *comparison.table(a, b, ALPHA), ""]
    lines += [f"only in {name}: {left}" for name, left in _alone(a, b) if left]
    lines.append(
        f"A / B is the ratio of the medians, with its bootstrap interval (alpha {ALPHA:g} on each side) if "
        "both have 5 samples or more. Figures of different clocks have no ratio."
    )
    lines += comparison.steps(a, b)
    if fail_on is None:
        return Compared("\n".join(map(visible, lines)))
    found = regressions.answer(a, b, fail_on, ALPHA)
    return Compared("\n".join(map(visible, [*lines, *found.lines])), found.status)


def _side(word: str, db: str) -> Side:
    if word.startswith(HISTORY) and not Path(word).exists():
        from benchgate.session import histories  # noqa: PLC0415 - the other sides need no database

        return histories.read_side(word.removeprefix(HISTORY), db)
    return figures_file.read(word)


def _alone(a: Side, b: Side) -> list[tuple[str, str]]:
    """What has no partner, each once: a row that one side skipped is missing here, too."""
    left = a.samples.keys() - b.samples.keys(), b.samples.keys() - a.samples.keys()
    return [
        (name, ", ".join(sorted(set(map(figures_file.short, keys)))))
        for name, keys in zip("AB", left, strict=True)
    ]


def _alike(a: Side, b: Side) -> tuple[Side, Side]:
    """Both sides with keys that can be equal."""
    if a.systems and b.systems and a.models != b.models:
        on = " and ".join(f"{one.name} is on {', '.join(one.models)}" for one in (a, b))
        raise UsageError(f"{on}: figures of two machines are never compared")
    several = max(len(a.systems), len(b.systems)) > 1
    if several and a.systems != b.systems:
        have = " and ".join(f"{one.name} has {', '.join(one.systems) or 'no system'}" for one in (a, b))
        raise UsageError(f"{have}: choose one with FOLDER:SYSTEM")
    if not several:
        a, b = a.without_system, b.without_system
    if not a.samples.keys() & b.samples.keys():
        a, b = a.operations, b.operations
    if not a.samples.keys() & b.samples.keys():
        raise UsageError(
            f"{a.name} and {b.name} have no figure of the same workload, parameters, CPU count and metric"
        )
    return a, b
