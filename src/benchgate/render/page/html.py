"""Builds HTML and SVG. There is one way to put text into a page, and it escapes.

Takes names, attributes and children; gives `Html`, which is text that is markup already. Every other text
becomes visible plain text, so untrusted text needs no care. SVG that is built here is valid XML, too. Fails
with ValueError for a name of an element or attribute that is none, which is a mistake of the caller.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from benchgate.base.text import visible
from benchgate.render.escape import xml

Attribute = str | float | bool | None
"""True: the bare name; False or None: no attribute."""

VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "wbr"})
"""HTML elements without an end tag."""
EMPTY = frozenset({"circle", "ellipse", "line", "path", "polygon", "polyline", "rect", "stop", "use"})
"""SVG elements that end in their start tag if they have no children."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9:-]*\Z")


class Html(str):
    """Markup. Only this module, and what it is given by its callers as constants, makes it."""

    __slots__ = ()


Child = str | None
"""Markup if it is `Html`, otherwise text; None is left out."""


def text(untrusted: str) -> Html:
    """One line: control characters and line breaks become visible escapes."""
    return Html(xml(visible(untrusted)))


def join(children: Iterable[Child], between: str = "") -> Html:
    """`between` is text, too."""
    return Html(_child(between).join(_child(child) for child in children if child is not None))


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """`tag("th", "runs", scope="col")`. An underscore in an attribute's name is a hyphen, one at its end is
    left out (`class_`)."""
    start = "".join([_name(name), *(_attribute(key, value) for key, value in attributes.items())])
    inner = join(children)
    if name in VOID:
        return Html(f"<{start}>")
    if name in EMPTY and not inner:
        return Html(f"<{start}/>")
    return Html(f"<{start}>{inner}</{name}>")


_CODE = re.compile(r"`([^`]+)`")


def prose(text: str) -> Html:
    """A sentence whose words between backticks are set apart. `code` is for commands, to be pasted whole."""
    pieces = _CODE.split(text)
    return join([tag("samp", piece) if n % 2 else piece for n, piece in enumerate(pieces)])


def rect(x: float, y: float, wide: float, high: float, *inside: Child, **paint: Attribute) -> Html:
    return tag("rect", *inside, x=x, y=y, width=wide, height=high, **paint)


def _child(word: str) -> Html:
    return word if isinstance(word, Html) else text(word)


def _name(name: str) -> str:
    if not _NAME.match(name):
        raise ValueError(f"{name!r:.40} is no name of an element or attribute")
    return name


def _attribute(key: str, value: Attribute) -> str:
    name = _name(key.rstrip("_").replace("_", "-"))
    if value is None or value is False:
        return ""
    if value is True:
        return f' {name}=""'
    return f' {name}="{number(value) if isinstance(value, int | float) else text(value)}"'


def number(value: float) -> str:
    """A coordinate: at most two decimals, none that are zero."""
    shown = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if shown in ("", "-0") else shown
