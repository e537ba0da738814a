"""attribution.md: where the time went, by the guests' own counters.

Takes a SessionView; gives Markdown, or None without --measure. Does not fail.
"""

from __future__ import annotations

from benchgate.render.tables import attribution
from benchgate.render.view import SessionView

NAME = "attribution.md"


def render(view: SessionView) -> str | None:
    return None if view.attributions is None else attribution.markdown(view.attributions)
