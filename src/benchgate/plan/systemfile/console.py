"""Reads `console`: the patterns that are matched while the guest prints.

Takes the top section; gives the patterns. `check_watched` is for other parts whose patterns are watched too.
Fails with CatalogError.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchgate.base import yamlfile
from benchgate.base.console_text import by_lines
from benchgate.base.yamlfile import Section


@dataclass(frozen=True, slots=True)
class Console:
    """The patterns; empty where the file has none."""

    ready: str
    failures: tuple[str, ...]
    online: str


def read(top: Section) -> Console:
    with top.optional("console") as words:
        failures = words.texts("failures")
        for pattern in failures:
            check_watched(words, "failures", pattern)
        ready = words.text("ready", "")
        if ready:
            check_watched(words, "ready", ready)
        return Console(ready, failures, words.pattern("online", "", groups=("n",)))


def check_watched(words: Section, key: str, pattern: str) -> None:
    """Checks a pattern that is matched against bytes while the guest prints; not every text pattern is valid
    for bytes. A pattern that matches the empty string is refused, because it would match any console."""
    try:
        yamlfile.regex(pattern)
    except ValueError as error:
        words.refuse(f"`{pattern}` {error}", key)
        return
    try:
        watched = yamlfile.regex(by_lines(pattern))
    except ValueError as error:
        words.refuse(f"`{pattern}` cannot be matched against a console's bytes: it {error}", key)
        return
    found = watched.search(b"\n\n")
    if found is not None and not found[0]:
        words.refuse(f"`{pattern}` matches the empty string, so it would match any console", key)
