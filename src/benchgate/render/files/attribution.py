"""attribution.md: where the time went, by the guests' own counters; only with --measure.

Takes a SessionView, gives Markdown, or None where attribution was not asked for.
"""

from __future__ import annotations

from benchgate.render.tables import attribution
from benchgate.render.view import SessionView

NAME = "attribution.md"


def render(view: SessionView) -> str | None:
    return None if view.attributions is None else attribution.markdown(view.attributions)
