"""Puts the page together: the headline, the chapters in their order, one style and one script for all.

Takes a SessionView, or a title and sections of another page; gives HTML in one text, without links to other
files or anything from a network. It is whole without its script. Whatever a page holds, a browser runs no
other script of it, takes no other style, and loads nothing for it (`policy`). The same input gives the same
text. Does not fail.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from benchgate.base.pyfile import modules_of
from benchgate.render.page import chapters, look, words
from benchgate.render.page.html import Html, join, tag
from benchgate.render.page.page_view import page_view
from benchgate.render.view import SessionView, headline

SCRIPT = (Path(__file__).parent / "script.js").read_text(encoding="ascii")
Section = tuple[str, str, Html]
"""Id, title and body of a section."""


def policy(script: str, style: str) -> str:
    """The content security policy of a page with this script and this style."""
    rules = ("default-src 'none'", "base-uri 'none'", "form-action 'none'")
    return "; ".join([*rules, f"script-src {_source(script)}", f"style-src {_source(style)}"])


def _source(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@functools.cache
def all_chapters() -> tuple[ModuleType, ...]:
    return tuple(sorted(modules_of(chapters), key=lambda chapter: (chapter.ORDER, chapter.__name__)))


def session_page(view: SessionView) -> str:
    """A chapter without anything to show is left out."""
    page = page_view(view)
    bodies = [
        (chapter.__name__.rpartition(".")[2], chapter.TITLE, chapter.body(page)) for chapter in all_chapters()
    ]
    there = [(name, title, body) for name, title, body in bodies if body is not None]
    linked, terms = words.linked([body for _, _, body in there])
    sections = [(name, title, body) for (name, title, _), body in zip(there, linked, strict=True)]
    sections += [("words", words.TITLE, terms)] if terms is not None else []
    told = f"session {view.id}, {view.started} to {view.finished or 'unfinished'}"
    told += f", benchgate {view.version}" if view.version else ""
    told += f"; commands and paths are for the folder that holds {view.reports_folder}/"
    return document(headline(view), told, sections)


def document(head: str, told: str, sections: Sequence[Section]) -> str:
    """A page with a headline, a line below it, and sections, each in the list at the top."""
    word = head.partition(":")[0].lower()
    names = (tag("li", tag("a", title, href=f"#{name}")) for name, title, _ in sections)
    top = tag("header", tag("h1", head, class_=f"head {word}"), tag("p", told, class_="soft"))
    contents = tag("nav", tag("ul", *names), aria_label="parts of this page")
    main = tag("main", *(_section(*section) for section in sections))
    body = tag("body", top, contents, main, tag("script", Html(SCRIPT)))
    whole = tag("html", _head(head), body, lang="en")
    return f"<!DOCTYPE html>\n{whole}\n"


def _head(title: str) -> Html:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy(SCRIPT, look.WHOLE)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"benchgate: {title}"),
        tag("style", Html(look.WHOLE)),
    )


def _section(name: str, title: str, body: Html) -> Html:
    heading = tag("h2", title, id=f"{name}-title")
    return join([tag("section", heading, body, id=name, aria_labelledby=f"{name}-title"), Html("\n")])
