"""Reads the architecture of a system's guests: `arch`, and what differs there in `by_arch`.

Takes the top section and the settings; gives the `Architecture`, and puts the keys of its part of `by_arch`
in the place of the file's own. Fails with CatalogError.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchgate.base.arch import ARCHITECTURES, X86_64, Architecture
from benchgate.base.text import filled, suggestion
from benchgate.base.yamlfile import Section

_NAMES = tuple(ARCHITECTURES)


def read(top: Section, settings: Mapping[str, str]) -> Architecture:
    guest = _named(top, filled(top.text("arch", X86_64.name), settings), "arch")
    parts = top.section("by_arch")
    if parts is not None:
        for name in parts.keys():  # noqa: SIM118 - a Section, not a dict
            _named(parts, name, name)
        chosen = parts.section(guest.name)
        if chosen is not None:
            top.prefer(chosen)
    return guest


def _named(words: Section, name: str, key: str) -> Architecture:
    if name not in ARCHITECTURES:
        near = suggestion(name, _NAMES, f"it is one of {', '.join(_NAMES)}")
        words.refuse(f"`{name}` is not an architecture; {near}", key)
    return ARCHITECTURES.get(name, X86_64)
