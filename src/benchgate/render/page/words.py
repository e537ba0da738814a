"""Explains the words of benchgate where a page first has them: a link to the list of words at its end.

Takes the markup of a page's parts; gives it with the links, and the list. Only text is changed, and none that
is a link, a heading, code, a picture or what opens a part. Does not fail.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchgate.hooks import GlossaryTerm
from benchgate.plan import glossary
from benchgate.render.page.html import VOID, Html, join, tag
from benchgate.render.page.tables import more

TITLE = "Words"
LEFT_OUT = frozenset(
    {"a", "button", "caption", "code", "figcaption", "h1", "h2", "h3", "pre", "samp", "summary", "svg", "th"}
)
_TAG = re.compile(r"(<[^>]*>)")
_NAME = re.compile(r"</?([A-Za-z][A-Za-z0-9]*)")


def linked(parts: Sequence[Html]) -> tuple[list[Html], Html | None]:
    """The parts with their links, and the list of the words that they use; None without any."""
    seen: dict[str, GlossaryTerm] = {}
    result = [_linked(part, seen) for part in parts]
    if not seen:
        return result, None
    terms = (term for term in glossary.TERMS if term.word in seen)
    pairs = (join([tag("dt", term.word, id=term.id), tag("dd", term.meaning)]) for term in terms)
    return result, more("What each word means", tag("dl", *pairs))


def _linked(part: Html, seen: dict[str, GlossaryTerm]) -> Html:
    pieces: list[str] = []
    inside: list[str] = []
    for piece in _TAG.split(part):
        name = _NAME.match(piece) if piece.startswith("<") else None
        if name is None:
            pieces.append(piece if inside else _text(piece, seen))
            continue
        pieces.append(piece)
        if name[1] not in LEFT_OUT or name[1] in VOID or piece.endswith("/>"):
            continue
        if not piece.startswith("</"):
            inside.append(name[1])
        elif inside:
            inside.pop()
    return Html("".join(pieces))


def _text(text: str, seen: dict[str, GlossaryTerm]) -> str:
    """Escaped text, in which the words of the glossary are as they are in plain text."""
    pieces, end = [], 0
    for begin, after, term in glossary.found(text):
        if term.word not in seen:
            seen[term.word] = term
            link = tag("a", Html(text[begin:after]), href=f"#{term.id}", title=term.meaning, class_="term")
            pieces += [text[end:begin], link]
            end = after
    return "".join([*pieces, text[end:]])
