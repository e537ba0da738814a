"""What the session could have seen: the noise floor of each arm, the smallest effect of each decision, and
the CPU counts that no threshold uses.

Takes a PageView; gives the chapter, or None if there is nothing of it. Does not fail.
"""

from __future__ import annotations

from benchgate.base.gates import Word
from benchgate.base.text import effect_text
from benchgate.render.page.html import Html, tag
from benchgate.render.page.page_view import PageView
from benchgate.render.page.tables import NOTHING, listed, more, table
from benchgate.render.tables import sensitivity, units
from benchgate.render.view import SessionView

TITLE = "Noise and smallest effects"
ORDER = 40

EFFECT = (
    "The smallest effect is how far from its threshold the truth must be, as a share of the threshold, for "
    "runs with this noise to decide in at least 80% of sessions. What is nearer is mostly not seen."
)


def body(page: PageView) -> Html | None:
    view = page.view
    tables = [*_floors(view), *_effects(view)]
    ungated = listed([str(row) for row in view.ungated]) if view.ungated else None
    if not tables and ungated is None:
        return None
    return more(
        "Noise floor of each arm, smallest effect of each gate, counts without a gate", *tables, ungated
    )


def _floors(view: SessionView) -> list[Html]:
    if not view.floors:
        return []
    rows = [sensitivity.cells(floor) for floor in view.floors]
    whole = table("Noise floor of each arm", sensitivity.HEADS, rows)
    return [whole, tag("p", sensitivity.ABOUT, class_="soft")]


def _effects(view: SessionView) -> list[Html]:
    decided = [of for of in view.shown_verdicts if of.outcome in (Word.PASS, Word.FAIL)]
    known = [(of, of.smallest_effect) for of in decided if of.smallest_effect is not None]
    rows = [(of.id, units.limit(of) or NOTHING, effect_text(effect)) for of, effect in known]
    if not rows:
        return []
    heads = ("gate", "threshold", "smallest effect")
    return [table("Smallest effect of each decision", heads, rows), tag("p", EFFECT, class_="soft")]
