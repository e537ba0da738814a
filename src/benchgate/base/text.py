"""Makes untrusted text safe for terminals, messages and CSV fields; and phrases that many messages use.

Takes text of a guest, a YAML file, a program or a session folder; gives text without control characters, so
that it cannot control a terminal or a CI runner, or imitate a line of benchgate. Nothing fails. Formats with
markup are in render/escape.py.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from benchgate.base import grouped

UNAVAILABLE = "unavailable"
"""The value of a fact that the host does not report. A report never invents a value."""
LONGEST = 160

_RUN = re.compile(r"(?<![\w./-])runs/[0-9]{4,}-[^\s;:,()]+")
"""A run's folder, or a file in it, relative to the session's folder."""

_SESSION = re.compile(r"(benchgate( [a-z-]+)+ )SESSION\b")
"""A command with the session's folder."""

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")

_COMMAND = re.compile(r"(?<!\S):(?=:)|#(?=#\w*\[)")
"""The first character of what a CI runner may take for a command: `::set-output ...`, `##[...]`."""


def visible(text: str) -> str:
    """Replaces every control, format and unassigned character, line breaks too, and the beginning of a CI
    runner's command, by a visible escape."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else visible_escape(char) for char in text)
    if "::" in text or "##" in text:
        text = _COMMAND.sub(lambda match: visible_escape(match[0]), text)
    return text


def visible_lines(text: str) -> str:
    """Works like `visible`, but keeps line breaks."""
    return "\n".join(map(visible, text.split("\n")))


def one_line(raw: str | bytes, longest: int = LONGEST) -> str:
    """One short visible line: white space is collapsed, and a long text is truncated."""
    text = raw if isinstance(raw, str) else raw.decode("utf-8", "backslashreplace")
    line = visible(" ".join(text[: longest * 8].split()))
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def csv_field(text: str) -> str:
    """A CSV field: one line that no spreadsheet takes for a formula. `plain_field` is the inverse."""
    safe = visible(text)
    return f"'{safe}" if safe.startswith(FORMULA_STARTS) else safe


def plain_field(text: str) -> str:
    return text.removeprefix("'")


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with `{name}` replaced by each value. Other braces stay."""
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", value)
    return template


def located(text: str, folder: Path) -> str:
    """The text with paths that work from here."""
    return rooted(text, str(folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder))


def rooted(text: str, folder: str) -> str:
    """The text with the path of each run below this folder, the session's. A verdict names a run by its
    folder below the session's, and the session itself as `SESSION`, so that its reason is the same in a copy
    of the session."""
    whole = _SESSION.sub(lambda match: f"{match[1]}{shlex.quote(folder)}", text)
    return _RUN.sub(lambda match: shlex.quote(f"{folder}/{match.group()}"), whole)


NEXT = "; next: "
"""Between what a sentence says and what to do next."""


def without_advice(reason: str) -> str:
    return reason.partition(NEXT)[0]


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


NAMED = 6
"""A line that many names share shows at most so many of them."""


def first_few(words: Sequence[str], most: int) -> str:
    """`a, b, c and 4 more`."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return f"{', '.join(words[:most])}{more}"


def gathered(causes: Iterable[tuple[str, str]], noun: str) -> list[str]:
    """`NAME: CAUSE` for each pair; three names or more of one cause share a line."""
    lines = []
    for cause, those in grouped(causes, key=lambda pair: pair[1]).items():
        names = [name for name, _ in those]
        if len(names) < 3:
            lines += [f"{name}: {cause}" for name in names]
        else:
            lines.append(f"{counted(len(names), noun)}: {cause}: {first_few(names, NAMED)}")
    return lines


SMALLEST_SHARE = 0.0001
"""A smaller share is not shown with its digits."""


def percent(share: float) -> str:
    """`1.9%`, with two digits, and no more of them than can matter."""
    if 0 < share < SMALLEST_SHARE:
        return f"<{SMALLEST_SHARE:.2%}"
    return f"{100 * share:.2g}%" if share < 0.995 else f"{100 * share:.0f}%"


def effect_text(share: float) -> str:
    """A distance from a threshold, as a share of it: `0.48%`, `a factor of 65`."""
    return percent(share) if share < 1 else f"a factor of {1 + share:.2g}"


def with_interval(ratio: float, low: float, high: float, sign: str = "") -> str:
    """`1.92 [1.90, 1.95]`; `sign` is the `x` of a speedup."""
    return f"{ratio:.2f}{sign} [{low:.2f}, {high:.2f}]"


def suggestion(word: str, known: Collection[str], otherwise: str = "") -> str:
    """Suggests the known word that is nearest to an unknown word, for an error message."""
    near = difflib.get_close_matches(word, sorted(known), n=1)
    return f"did you mean `{near[0]}`?" if near else otherwise


def visible_escape(char: str) -> str:
    value = ord(char)
    if value < 0x100:
        return f"\\x{value:02x}"
    return f"\\u{value:04x}" if value < 0x10000 else f"\\U{value:08x}"
