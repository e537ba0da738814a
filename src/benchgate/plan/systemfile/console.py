"""Reads `console`: the patterns that are matched while the guest prints.

Takes the top section; gives its `ConsoleWords`. `check_watched` is for other parts whose patterns are watched
too. Fails with CatalogError.
"""

from __future__ import annotations

import re

from benchgate.base import yaml_values
from benchgate.base.console_text import by_lines
from benchgate.base.watching import REPEAT_BYTES, ConsoleWords
from benchgate.base.yamlfile import Section

CLOCK = "clock"
"""In place of the pattern of `online`."""
_MOST_REPEATED = 1 << 30


def read(top: Section) -> ConsoleWords:
    with top.optional("console") as words:
        failures, harmless = _watched(words, "failures"), _watched(words, "harmless")
        repeats = words.integer("repeat_bytes", REPEAT_BYTES, high=_MOST_REPEATED)
        ready = words.text("ready", "")
        if ready:
            check_watched(words, "ready", ready)
        by_clock = words.text("online", "") == CLOCK
        online = "" if by_clock else words.pattern("online", "", groups=("n",))
        lines = words.text("online_lines", "")
        if lines:
            check_watched(words, "online_lines", lines)
        if (online or by_clock) and lines:
            words.refuse(
                "leave out `online` or `online_lines`: each says how many CPUs came up", "online_lines"
            )
        return ConsoleWords(ready, failures, harmless, repeats, online, by_clock, lines)


def groups(words: Section, pattern: str, key: str) -> tuple[str, ...]:
    """The names of a pattern's groups."""
    found = _compiled(words, pattern, key)
    return tuple(found.groupindex) if found else ()


def _compiled(words: Section, pattern: str, key: str) -> re.Pattern[str] | None:
    """None if it is not valid, which is refused."""
    try:
        return yaml_values.regex(pattern)
    except ValueError as error:
        words.refuse(f"`{pattern}` {error}", key)
        return None


def _watched(words: Section, key: str) -> tuple[str, ...]:
    patterns = words.texts(key)
    for pattern in patterns:
        check_watched(words, key, pattern)
    return patterns


def check_watched(words: Section, key: str, pattern: str) -> None:
    """Checks a pattern that is matched against bytes while the guest prints; not every text pattern is valid
    for bytes. A pattern that matches the empty string is refused, because it would match any console."""
    if _compiled(words, pattern, key) is None:
        return
    try:
        watched = yaml_values.regex(by_lines(pattern))
    except ValueError as error:
        words.refuse(f"`{pattern}` cannot be matched against a console's bytes: it {error}", key)
        return
    found = watched.search(b"\n\n")
    if found is not None and not found[0]:
        words.refuse(f"`{pattern}` matches the empty string, so it would match any console", key)
