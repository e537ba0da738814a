"""How to measure this session again, and how to check it without believing this page.

Takes a PageView; gives the chapter. Does not fail.
"""

from __future__ import annotations

import shlex

from benchgate.render.page.html import Html, tag
from benchgate.render.page.page_view import PageView
from benchgate.render.page.tables import commands, more

TITLE = "Check and repeat"
ORDER = 70


def body(page: PageView) -> Html | None:
    view = page.view
    if not view.repeat:
        return None
    told = (
        "This page is made from the files of the session's folder only. This command hashes them, follows "
        "the chain of attempts, verifies every run from its console, decides every verdict again, makes "
        f"this page again, and compares. It boots nothing. In the folder that holds {view.reports_folder}/:"
    )
    facts = [f"benchgate {view.version}"] if view.version else []
    facts += [f"commit {view.commit}"] if view.commit else []
    check = commands(f"benchgate verify {shlex.quote(view.home)}")
    again = tag("p", f"To measure again ({', '.join(facts)}), and to decide again from the files:")
    return more("The commands", tag("p", told), check, again, commands(*view.repeat))
