"""Reads how a system is asked for a workload: `ask` and `modes`.

Takes the top section; gives the typed parts of a `System`. Fails with CatalogError. Keys of features that do
not exist yet (prompts, host ports) are refused with that reason.
"""

from __future__ import annotations

from benchgate.base.cells import Mode
from benchgate.base.systems import Ask
from benchgate.base.yamlfile import Section


def read(top: Section) -> Ask:
    _refuse_future_keys(top)
    way = Ask(top.choice("ask", tuple(Ask), Ask.CMDLINE))
    if way is Ask.PROMPT:
        top.refuse("send/expect steps at a prompt cannot be used yet; ask by `cmdline` or `selftest`", "ask")
    return way


def modes(top: Section) -> tuple[Mode, ...]:
    words = top.texts("modes", tuple(Mode))
    unknown = [word for word in words if word not in tuple(Mode)]
    if unknown or not words:
        top.refuse(f"expected {' or '.join(Mode)}, found {', '.join(unknown) or 'nothing'}", "modes")
    return tuple(Mode(word) for word in words if word not in unknown)


def _refuse_future_keys(top: Section) -> None:
    future = {
        "ports": "host ports",
        "prompt": "send/expect steps at a prompt",
        "steps": "send/expect steps at a prompt",
        "input": "pacing, line ending and echo of input",
    }
    for key, what in future.items():
        if top.has(key):
            top.refuse(f"{what} cannot be used yet; ask by `cmdline` or `selftest`", key)
