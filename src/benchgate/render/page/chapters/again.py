"""How to measure this session again, and how to check it without believing this page.

Takes a SessionView; gives the chapter. Does not fail.
"""

from __future__ import annotations

from benchgate.render.page.html import Html, join, tag
from benchgate.render.page.tables import commands
from benchgate.render.view import SessionView

TITLE = "Check it, and measure it again"
ORDER = 95


def body(view: SessionView) -> Html | None:
    if not view.repeat:
        return None
    told = (
        "This page is made from the files of the session's folder only. This command hashes them, follows "
        "the chain of attempts, verifies every run from its console, decides every verdict again, makes "
        "this page again, and compares. It boots nothing. In the folder that holds reports/:"
    )
    facts = [f"benchgate {view.version}"] if view.version else []
    facts += [f"commit {view.commit}"] if view.commit else []
    return join(
        [
            tag("p", told),
            commands(f"benchgate verify reports/runs/{view.id}"),
            tag("p", f"To measure again ({', '.join(facts)}), and to decide again from the files:"),
            commands(*view.repeat),
        ]
    )
