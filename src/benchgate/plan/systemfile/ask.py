"""Reads how a system is asked for a workload: `ask` and `modes`.

Takes the top section; gives the typed parts of a `System`. Fails with CatalogError.
"""

from __future__ import annotations

from benchgate.base.cells import Mode
from benchgate.base.systems import Ask
from benchgate.base.yamlfile import Section

_OF_A_PROMPT = ("prompt", "steps", "input")


def read(top: Section) -> Ask:
    way = Ask(top.choice("ask", tuple(Ask), Ask.CMDLINE))
    given = [key for key in _OF_A_PROMPT if top.has(key)]
    if given and way is not Ask.PROMPT:
        top.refuse("is only for `ask: prompt`: write that, or leave this key out", given[0])
    return way


def modes(top: Section) -> tuple[Mode, ...]:
    words = top.texts("modes", tuple(Mode))
    unknown = [word for word in words if word not in tuple(Mode)]
    if unknown or not words:
        top.refuse(f"expected {' or '.join(Mode)}, found {', '.join(unknown) or 'nothing'}", "modes")
    return tuple(Mode(word) for word in words if word not in unknown)
