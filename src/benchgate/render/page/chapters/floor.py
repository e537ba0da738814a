"""What the session could have seen: the noise floor of each arm, the smallest effect of each decision, and
the CPU counts that no threshold uses.

Takes a SessionView; gives the chapter, or None if there is nothing of it. Does not fail.
"""

from __future__ import annotations

from benchgate.base.gates import Verdict, Word
from benchgate.base.text import percent
from benchgate.render.page.html import Html, join, tag
from benchgate.render.page.tables import listed, table, word
from benchgate.render.tables import sensitivity
from benchgate.render.view import SessionView

TITLE = "Noise floor and smallest effects"
ORDER = 80

EFFECT = (
    "The smallest effect is how far from its threshold the truth must be, as a share of the threshold, for "
    "runs with this noise to decide in at least 80% of sessions. What is nearer is mostly not seen."
)


def body(view: SessionView) -> Html | None:
    parts = [*_floors(view), *_effects(view), *_ungated(view)]
    return join(parts) if parts else None


def _floors(view: SessionView) -> list[Html]:
    if not view.floors:
        return []
    rows = [sensitivity.cells(one) for one in view.floors]
    return [
        table("Noise floor of each arm", sensitivity.HEADS, rows),
        tag("p", sensitivity.ABOUT, class_="soft"),
    ]


def _effects(view: SessionView) -> list[Html]:
    decided = [one for one in view.shown_verdicts if one.outcome in (Word.PASS, Word.FAIL)]
    rows = [
        (one.id, word(str(one.outcome)), _threshold(one), _effect(one)) for one in decided if _effect(one)
    ]
    if not rows:
        return []
    heads = ("gate", "verdict", "threshold", "smallest effect")
    return [table("Smallest effect of each decision", heads, rows, texts=2), tag("p", EFFECT, class_="soft")]


def _threshold(one: Verdict) -> str:
    sign = {"least": "at least ", "most": "at most "}.get(one.bound or "", "")
    return "-" if one.threshold is None else f"{sign}{one.threshold:g}"


def _effect(one: Verdict) -> str:
    return "" if one.smallest_effect is None else percent(one.smallest_effect)


def _ungated(view: SessionView) -> list[Html]:
    return [listed([str(one) for one in view.ungated])] if view.ungated else []
