"""Text from outside made harmless for the place where it is shown.

Guests, YAML files, host names and bundles of strangers all end up in reports. Each function takes any
string and gives one that the format cannot misread. They do not fail.
"""

from __future__ import annotations

import html
import re

from benchgate.base.text import visible, visible_escape

_MARKDOWN_MARKS = re.compile(r"[\\`*|~<$]")
_BLOCK_START = re.compile(r"^(\d*)([#>+=.)-])(?=\s|$|[#>+=-])")
"""What would begin a heading, list or quote, should the text come to stand at the start of a block."""
_LONE_UNDERSCORE = re.compile(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def markdown(text: str) -> str:
    """For the middle of a Markdown line or table cell: no markup, link, mention or HTML of its own."""
    safe = _MARKDOWN_MARKS.sub(lambda found: "\\" + found.group(), visible(text).strip())
    safe = _BLOCK_START.sub(r"\1\\\2", safe)
    safe = _LONE_UNDERSCORE.sub(r"\\_", safe)
    safe = safe.replace("](", "]\\(").replace("][", "]\\[").replace("://", ":/\\/").replace("www.", "www\\.")
    safe = re.sub(r"&(?=[#A-Za-z])", "&amp;", safe)
    return re.sub(r"@(?=\w)", "&#64;", re.sub(r"#(?=\d)", "&#35;", safe))


def code(text: str) -> str:
    """For a line inside a fenced block: no fence of its own."""
    return visible(text).replace("```", "'''")


def xml(text: str) -> str:
    """For XML text and attributes: what XML 1.0 cannot hold becomes a visible escape."""
    return html.escape(_NOT_XML.sub(lambda found: visible_escape(found.group()), text), quote=True)


def github_message(text: str) -> str:
    return visible(text).replace("%", "%25")


def github_property(text: str) -> str:
    return github_message(text).replace(":", "%3A").replace(",", "%2C")
