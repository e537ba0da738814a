"""Reads where a timed window comes from: `result.work` and `result.total`.

A window is a figure that the guest prints, the guest time between two lines of its console, or what lies
between the marks that its programs execute. Takes the `result` section and a key; gives the window, None if
the key is absent. Fails with CatalogError.
"""

from __future__ import annotations

import re

from benchgate.base.system.results import LineWindow, MarkWindow, ResultPattern, WindowSource
from benchgate.base.yaml.yamlfile import Section
from benchgate.plan.system_keys import MARKS

_COUNTED = ("ticks", "cycles")
_NS = 1e9


def read(result: Section, key: str) -> WindowSource | None:
    if result.is_text(key):
        if result.text(key) != MARKS:
            result.refuse(f"expected a mapping, or `{MARKS}`", key)
        return MarkWindow()
    words = result.section(key)
    if words is None:
        return None
    found = _lines(words) if words.has("from") or words.has("to") else _figure(words)
    words.close()
    return found


def _lines(words: Section) -> LineWindow:
    return LineWindow(_names_line(words, "from"), _names_line(words, "to"))


def _figure(words: Section) -> ResultPattern:
    if not words.has("begins"):
        words.refuse(
            "`begins` is missing: add a pattern for the line that the kernel prints just before this time "
            "begins. Without it a figure that is too short could pass",
            "pattern",
        )
    unit = words.choice("unit")
    return ResultPattern(
        begins=_names_line(words, "begins") if words.has("begins") else "",
        regex=words.pattern("pattern"),
        unit=unit,
        shift=words.integer("shift"),
        hz=_hz(words, unit),
        step=words.number("step"),
    )


def _hz(words: Section, unit: str) -> float:
    """How many ticks or cycles are one second: `hz`, or `scale`, the ns of one."""
    given = [key for key in ("hz", "scale") if words.has(key)]
    if given and unit not in _COUNTED:
        words.refuse(f"is only for a figure in {' or '.join(_COUNTED)}", given[0])
    if len(given) > 1:
        words.refuse("leave out `hz` or `scale`: one says what the other says", "scale")
    if unit == "ticks" and not given:
        words.refuse(
            "a figure in ticks needs `hz`, the ticks of a second, or `scale`, the ns of a tick", "unit"
        )
    if "scale" in given:
        return _NS / words.number("scale")
    return words.number("hz") if given else 0.0


def _names_line(words: Section, key: str) -> str:
    pattern = words.pattern(key)
    if re.search(pattern, ""):
        words.refuse(f"`{pattern}` matches the empty string, so it names no line", key)
    return pattern
