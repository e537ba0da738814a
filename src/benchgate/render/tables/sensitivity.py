"""What the session could have seen: ungated CPU counts, fitted laws, the noise floor of each arm.

Takes a SessionView; gives sentences for a terminal or lines of Markdown, none of what there is nothing to say
about. Does not fail.
"""

from __future__ import annotations

from benchgate.base.cells import Lane
from benchgate.base.text import percent
from benchgate.judge.accounts.noise_floor import NoiseFloor
from benchgate.render.escape import markdown
from benchgate.render.view import SessionView

ABOUT = (
    "Two arms of nothing but the noise of these runs differ by no more than the floor (their exact bootstrap "
    "against themselves, at the policy's alpha). On the instruction clock the noise is that of "
    "interleavings. Halves: the median of every second run over that of the others."
)
HEADS = ("arm", "runs", "noise floor", "halves", "CV")


def sentences(view: SessionView) -> list[str]:
    """Gives a terminal one line for each row with ungated counts, one per law, and one for all floors."""
    return [*map(str, view.ungated), *(one.said for one in view.fits), *_range(view)]


def _range(view: SessionView) -> list[str]:
    if not view.floors:
        return []
    ordered = sorted(view.floors, key=lambda one: one.floor)
    least, most = ordered[0], ordered[-1]
    first = f"{percent(least.floor)} ({least.cell_id})"
    span = first if len(ordered) == 1 else f"{first} to {percent(most.floor)} ({most.cell_id})"
    return [f"noise floor: with nothing changed, an arm measured twice differs by up to {span}"]


def lines_of_markdown(view: SessionView) -> list[str]:
    lines = [f"- {markdown(text)}" for text in (*map(str, view.ungated), *(one.said for one in view.fits))]
    lines = ["## Coverage and scaling laws", "", *lines, ""] if lines else []
    if view.floors:
        rows = [f"| {' | '.join(map(markdown, cells(one)))} |" for one in view.floors]
        rule = "|---" + "|--:" * (len(HEADS) - 1) + "|"
        lines += ["## Noise floor", "", ABOUT, "", f"| {' | '.join(HEADS)} |", rule, *rows, ""]
    return lines


def cells(one: NoiseFloor) -> tuple[str, ...]:
    name = one.cell_id + (" (seeds)" if one.lane is Lane.INSN else "")
    cv = "-" if one.cv is None else percent(one.cv)
    return name, str(one.runs), percent(one.floor), f"{one.halves:.4f}", cv
