"""Reads `when`: with which choices of a workload's parameters a line of its YAML file holds.

Takes the section that may have it, and the parameters; gives the words of each parameter that it names. Fails
with CatalogError, which names file, line and key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from benchgate.base.text import suggestion
from benchgate.base.workload.workloads import ParamSpec
from benchgate.base.yaml.yamlfile import Section


def read_when(words: Section, params: Mapping[str, ParamSpec]) -> Mapping[str, tuple[str, ...]]:
    with words.optional("when") as section:
        return {name: _words(section, name, params) for name in section.keys()}  # noqa: SIM118 - a Section


def _words(section: Section, name: str, params: Mapping[str, ParamSpec]) -> tuple[str, ...]:
    if name not in params:
        section.fail(f"is no parameter; {suggestion(name, params, listed(params))}", name)
    choices, result = params[name].choices, section.one_or_more(name)
    for word in result:
        if choices and word not in choices:
            section.fail(f"`{word}` is no choice of it; {suggestion(word, choices, listed(choices))}", name)
        if not choices and not re.fullmatch("[0-9]{1,18}", word):
            section.fail(f"`{word}` is no value of it: a whole number", name)
    return result


def listed(names: Iterable[str]) -> str:
    return f"there are {', '.join(names) or 'none'}"
