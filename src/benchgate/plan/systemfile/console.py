"""Reads how a boot is watched and how it ends: `console`, `end`, `deadlines`, `smoke`.

Takes the top section; gives the typed parts of a `System`. `check_watched` is for other parts whose patterns
are matched while the guest prints. Fails with CatalogError.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from benchgate.base.console_text import by_lines
from benchgate.base.runs import Deadlines
from benchgate.base.system.boots import NO_RESET, ConsoleWords, End, EndBy, Smoke
from benchgate.base.yaml import yaml_nodes
from benchgate.base.yaml.yamlfile import Section

CLOCK = "clock"
"""The value of `online` that stands in place of a pattern."""


def read(top: Section) -> ConsoleWords:
    with top.optional("console") as words:
        by_clock = words.text("online") == CLOCK
        result = words.read(
            ConsoleWords,
            ready=words.text("ready"),
            online="" if by_clock else words.pattern("online"),
            by_clock=by_clock,
            online_lines=words.text("online_lines"),
        )
        for key in ("ready", "failures", "harmless", "online_lines"):
            value = getattr(result, key)
            for pattern in value if isinstance(value, tuple) else filter(None, [value]):
                check_watched(words, key, pattern)
        if (result.online or by_clock) and result.online_lines:
            words.refuse(
                "leave out `online` or `online_lines`: each says how many CPUs came up", "online_lines"
            )
        return result


def groups(words: Section, pattern: str, key: str) -> tuple[str, ...]:
    """The names of a pattern's groups."""
    result = _compiled(words, pattern, key)
    return tuple(result.groupindex) if result else ()


def _compiled(words: Section, pattern: str, key: str) -> re.Pattern[str] | None:
    """The compiled pattern; None, after refusing the key, if it is invalid."""
    try:
        return yaml_nodes.regex(pattern)
    except ValueError as error:
        words.refuse(f"`{pattern}` {error}", key)
        return None


def check_watched(words: Section, key: str, pattern: str) -> None:
    """Checks a pattern that is matched against bytes while the guest prints; not every text pattern is valid
    for bytes. A pattern that matches the empty string is refused, because it would match any console."""
    if _compiled(words, pattern, key) is None:
        return
    try:
        watched = yaml_nodes.regex(by_lines(pattern))
    except ValueError as error:
        words.refuse(f"`{pattern}` cannot be matched against a console's bytes: it {error}", key)
        return
    match = watched.search(b"\n\n")
    if match is not None and not match[0]:
        words.refuse(f"`{pattern}` matches the empty string, so it would match any console", key)


def read_end(top: Section, good: int) -> End:
    """Reads `end`. `good` is the usual exit status of success on this architecture."""
    with top.optional("end") as words:
        may_reset = words.choice("reset") != NO_RESET
        return words.read(End, exit_codes=words.integers("exit_codes", (good,)), may_reset=may_reset)


def deadlines(top: Section) -> Deadlines:
    with top.optional("deadlines") as words:
        return words.read(Deadlines)


def smoke(top: Section, settings: Mapping[str, str], end_by: EndBy) -> Smoke | None:
    words = top.section("smoke")
    if words is None:
        return None
    result = words.whole(Smoke, settings)
    if re.search(result.passes, ""):
        words.refuse("matches the empty string, so any console would pass", "pass")
    if end_by is EndBy.KILL:
        check_watched(words, "pass", result.passes)
    return result
