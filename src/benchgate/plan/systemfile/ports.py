"""Reads `ports`: what the host can reach of a guest.

Takes the top section and what is typed; gives the `Port`s by name. Fails with CatalogError.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchgate.base.network import MOST_PORTS, Port, port_values
from benchgate.base.script import PORT, Script
from benchgate.base.yaml_values import NAME
from benchgate.base.yamlfile import Section

_HIGHEST = 65535


def read(top: Section, script: Script | None) -> Mapping[str, Port]:
    with top.optional("ports") as words:
        names = words.keys()
        for name in names:
            if not NAME.match(name):
                words.refuse("is not a name: lower-case letters, digits and _", name)
        found = {name: _port(words, name) for name in names}
    if len(found) > MOST_PORTS:
        top.refuse(f"has more than {MOST_PORTS} ports", "ports")
    known = port_values(dict.fromkeys(found, 0))
    typed = sorted(script.places) if script is not None else ()
    for place in typed:
        if place.partition(".")[0] == PORT and place not in known and not top.refused("ports"):
            have = ", ".join(f"{{{one}}}" for one in known) or "none"
            top.refuse(f"a step types {{{place}}}, which is none of its ports; there are {have}", "ports")
    return found


def _port(words: Section, name: str) -> Port:
    """`web: 80`, or `web: {guest: 80, host: 8080}`."""
    if not words.is_mapping(name):
        return Port(words.integer(name, low=1, high=_HIGHEST))
    with words.optional(name) as one:
        return Port(one.integer("guest", low=1, high=_HIGHEST), one.integer("host", 0, low=0, high=_HIGHEST))
