"""The envelope: what is known of the machine, the inputs and the conditions of the measurement.

Takes a PageView; gives the chapter. Does not fail.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchgate.base.gates import SMALLEST_LOOK
from benchgate.base.text import with_interval
from benchgate.render.files.summary import lane_notes, placed
from benchgate.render.page.html import Html, join, tag
from benchgate.render.page.page_view import PageView
from benchgate.render.page.tables import listed, more, table
from benchgate.render.tables import sensitivity
from benchgate.render.view import SessionView, unwitnessed

TITLE = "Machine"
ORDER = 60


def body(page: PageView) -> Html | None:
    view, every = page.view, page.every
    told = [
        placed(every),
        *lane_notes(every),
        *unwitnessed(view),
        *view.repeats,
        f"isolation: {view.isolation}. Pinning is not isolation: other work may still have run on the pinned "
        "CPUs.",
        *view.labels,
        *view.notes,
        *sensitivity.wall_time_sentences(view),
        f"intervals are exact bootstraps of ratios of medians, alpha {view.alpha:g} per side and look; no "
        f"interval below {SMALLEST_LOOK} runs",
    ]
    every_fact = more(f"All {len(view.envelope)} facts of session.json", _facts(view.envelope))
    parts = [listed(told), _facts(view.machine), _capacity(view), every_fact if view.envelope else None]
    return more("The conditions of this measurement", *parts)


def _facts(facts: Sequence[tuple[str, str]]) -> Html | None:
    pairs = (join([tag("dt", name), tag("dd", text)]) for name, text in facts)
    return tag("dl", *pairs) if facts else None


def _capacity(view: SessionView) -> Html | None:
    if not view.capacity:
        return None
    rows = [
        (f"{bound.cpus} guests ({bound.lane})", with_interval(bound.ratio, bound.low, bound.high, "x"))
        for _, bound in sorted(view.capacity.items())
    ]
    caption = "Host capacity: the throughput of probe guests side by side, over that of one"
    return table(caption, ("probe guests", "as much as one"), rows)
