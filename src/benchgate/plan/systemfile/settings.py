"""Reads `settings`: choices that the user makes when a system is named (`tern:sched=lottery`).

Takes the top section, the system's name and the chosen settings; gives every setting's value and the name
with those that differ from a default. Fails with CatalogError for the file, UsageError for the choice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from benchgate.base.errors import UsageError
from benchgate.base.yamlfile import Section

SETTING = re.compile(r"(?!(?:out|n|source|workload)\Z)[a-z][a-z0-9_]{0,31}\Z")
"""A valid name of a setting. `{out}`, `{n}`, `{source}` and `{workload}` are reserved."""


def read(top: Section, name: str, chosen: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """All settings with defaults filled in, and the name with the settings that differ from a default."""
    found: dict[str, str] = {}
    with top.optional("settings") as words:
        for key in words.keys():  # noqa: SIM118 - a Section, not a dict
            if not SETTING.match(key):
                words.refuse(
                    f"`{key}` is not a name for a setting: use lower-case letters, digits and _", key
                )
            with words.optional(key) as one:
                choices = one.texts("choices")
                default = one.choice("default", choices)
            found[key] = chosen.get(key, default)
            if found[key] not in choices:
                raise UsageError(f"{name}: setting {key}: `{found[key]}` is not one of {', '.join(choices)}")
            if found[key] != default:
                name += f".{key}-{found[key]}"
    if unknown := sorted(set(chosen) - set(found)):
        raise UsageError(f"{name} has no setting `{unknown[0]}`; it has {', '.join(found) or 'none'}")
    return found, name
