"""Text from outside made harmless for the place where it is shown.

Guests, YAML files, host names and bundles of strangers all end up in reports. Each function takes any
string and gives one that the format cannot misread. They do not fail.
"""

from __future__ import annotations

import html
import re

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")

_MARKDOWN_MARKS = re.compile(r"[\\`*|~<$]")
_BLOCK_START = re.compile(r"^(\d*)([#>+=.)-])(?=\s|$|[#>+=-])")
"""What would begin a heading, list or quote, should the text come to stand at the start of a block."""
_LONE_UNDERSCORE = re.compile(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def printable(text: str) -> str:
    """For terminals: every control, format and unassigned character as a visible escape, on one line."""
    return "".join(char if char.isprintable() else _visible(char) for char in text)


def printable_lines(text: str) -> str:
    """The same for text that has lines of its own."""
    return "\n".join(map(printable, text.split("\n")))


def markdown(text: str) -> str:
    """For the middle of a Markdown line or table cell: no markup, link, mention or HTML of its own."""
    safe = _MARKDOWN_MARKS.sub(lambda found: "\\" + found.group(), printable(text).strip())
    safe = _BLOCK_START.sub(r"\1\\\2", safe)
    safe = _LONE_UNDERSCORE.sub(r"\\_", safe)
    safe = safe.replace("](", "]\\(").replace("][", "]\\[").replace("://", ":/\\/").replace("www.", "www\\.")
    safe = re.sub(r"&(?=[#A-Za-z])", "&amp;", safe)
    return re.sub(r"@(?=\w)", "&#64;", re.sub(r"#(?=\d)", "&#35;", safe))


def code(text: str) -> str:
    """For a line inside a fenced block: no fence of its own."""
    return printable(text).replace("```", "'''")


def xml(text: str) -> str:
    """For XML text and attributes: what XML 1.0 cannot hold becomes a visible escape."""
    return html.escape(_NOT_XML.sub(lambda found: _visible(found.group()), text), quote=True)


def csv_field(text: str) -> str:
    """For CSV: one line, and nothing that a spreadsheet would run. `plain_field` takes it back."""
    safe = printable(text)
    return f"'{safe}" if safe.startswith(FORMULA_STARTS) else safe


def plain_field(text: str) -> str:
    return text.removeprefix("'")


def github_message(text: str) -> str:
    return printable(text).replace("%", "%25")


def github_property(text: str) -> str:
    return github_message(text).replace(":", "%3A").replace(",", "%2C")


def _visible(char: str) -> str:
    value = ord(char)
    if value < 0x100:
        return f"\\x{value:02x}"
    return f"\\u{value:04x}" if value < 0x10000 else f"\\U{value:08x}"
