"""Escapes untrusted text (from guests, YAML files, host names, session folders) for the formats of reports.

Each function takes any string; gives a string that the format shows as plain text. They do not fail.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from benchgate.base.text import visible, visible_escape

_MARKDOWN_MARKS = re.compile(r"[\\`*|~<$]")
_BLOCK_START = re.compile(r"^(\d*)([#>+=.)-])(?=\s|$|[#>+=-])")
"""The start of a heading, list or quote, if the text is at the start of a block."""
_LONE_UNDERSCORE = re.compile(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def markdown(text: str) -> str:
    """Escapes text for a Markdown line or table cell: it cannot add markup, links, mentions or HTML."""
    safe = _MARKDOWN_MARKS.sub(lambda match: "\\" + match.group(), visible(text).strip())
    safe = _BLOCK_START.sub(r"\1\\\2", safe)
    safe = _LONE_UNDERSCORE.sub(r"\\_", safe)
    safe = safe.replace("](", "]\\(").replace("][", "]\\[").replace("://", ":/\\/").replace("www.", "www\\.")
    safe = re.sub(r"&(?=[#A-Za-z])", "&amp;", safe)
    return re.sub(r"@(?=\w)", "&#64;", re.sub(r"#(?=\d)", "&#35;", safe))


def markdown_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, whose first row is the heading; all columns but the first hold figures."""
    lines = [f"| {' | '.join(map(markdown, row))} |" for row in rows]
    return [lines[0], "|---" + "|--:" * (len(rows[0]) - 1) + "|", *lines[1:]]


def code(text: str) -> str:
    """Escapes text for a line inside a fenced block: it cannot end the block."""
    return visible(text).replace("```", "'''")


def xml(text: str) -> str:
    """Escapes text for XML and its attributes. Characters that XML 1.0 forbids become visible escapes."""
    return html.escape(_NOT_XML.sub(lambda match: visible_escape(match.group()), text), quote=True)


def github_message(text: str) -> str:
    return visible(text).replace("%", "%25")


def github_property(text: str) -> str:
    return github_message(text).replace(":", "%3A").replace(",", "%2C")
