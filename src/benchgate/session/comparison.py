"""`benchgate compare A B`: the figures of two sessions or programs, side by side.

Takes two words of the command line (evidence/figures_file.py) and the metrics to show; gives the table as
text. Fails with UsageError if nothing on both sides is the same, or a side has several systems and the other
one not the same ones.
"""

from __future__ import annotations

from collections.abc import Collection

from benchgate.base.errors import UsageError
from benchgate.base.text import visible
from benchgate.evidence import figures_file
from benchgate.evidence.figures_file import Side
from benchgate.render.tables import comparison

ALPHA = 0.05


def text(one: str, other: str, metrics: Collection[str] = ()) -> str:
    """`metrics`: only these; empty: all."""
    a, b = _alike(*(figures_file.read(word).only(metrics) for word in (one, other)))
    lines = [f"A: {a.name}", f"B: {b.name}", "", *comparison.table(a, b, ALPHA), ""]
    lines += [f"only in {name}: {left}" for name, left in _alone(a, b) if left]
    lines.append(
        f"A / B is the ratio of the medians, with its bootstrap interval (alpha {ALPHA:g} on each side) if "
        "both have 5 samples or more. Figures of different clocks have no ratio."
    )
    return "\n".join(map(visible, lines))


def _alone(a: Side, b: Side) -> list[tuple[str, str]]:
    """What has no partner, each once: a row that one side skipped is missing here, too."""
    left = a.samples.keys() - b.samples.keys(), b.samples.keys() - a.samples.keys()
    return [
        (name, ", ".join(sorted(map(figures_file.short, keys))))
        for name, keys in zip("AB", left, strict=True)
    ]


def _alike(a: Side, b: Side) -> tuple[Side, Side]:
    """Both sides with keys that can be equal."""
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
