"""report.html: the session as a page to look at.

Takes a SessionView; gives HTML in one file (page/page.py). Does not fail.
"""

from __future__ import annotations

from benchgate.render.page.page import session_page
from benchgate.render.view import SessionView

NAME = "report.html"


def render(view: SessionView) -> str:
    return session_page(view)
