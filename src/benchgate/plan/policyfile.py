"""Reads a policy's YAML file.

Takes a path, or text and the path to name in messages, and what finds a machine by its word; gives a Policy.
Fails with CatalogError, which names file, line and key, for an unknown, missing or duplicate key, a wrong
type, inconsistent values, or a machine that is not found.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchgate.base.errors import CatalogError, UsageError
from benchgate.base.gates import MOST_RUNS, Policy
from benchgate.base.void_rule import OFF, VoidRule
from benchgate.base.yaml import yamlfile
from benchgate.base.yaml.yamlfile import Section

FindMachine = Callable[[str], object]
"""This fails with UsageError or CatalogError for the word of a missing or invalid machine."""


def _unchecked(word: str) -> object:
    return word


def load(path: Path, find_machine: FindMachine = _unchecked) -> Policy:
    return _read(yamlfile.load(path), find_machine)


def parse(text: str, path: Path, find_machine: FindMachine = _unchecked) -> Policy:
    return _read(yamlfile.parse(text, path), find_machine)


def _read(top: Section, find_machine: FindMachine) -> Policy:
    """The keys and defaults are the fields of Policy, except those that the session sets."""
    fields = (field for field in dataclasses.fields(Policy) if field.metadata.get("of") != "session")
    values = {field.name: _value(top, field) for field in fields}
    top.close()
    try:
        find_machine(values["machine"])
    except (UsageError, CatalogError) as wrong:
        top.fail(str(wrong), "machine")
    try:
        return Policy(**values)
    except ValueError as wrong:
        top.fail(str(wrong))


def _void_rule(section: Section) -> VoidRule:
    """A limit that is absent has its default; `off` takes a counter out of the rule."""
    usual = VoidRule()
    limits = {name: _limit(section, name, limit) for name, limit in usual.limits.items()}
    most, share = section.integer("most", usual.most, high=MOST_RUNS), section.number("share", usual.share)
    try:
        return VoidRule(**limits, most=most, share=share)
    except ValueError as wrong:
        section.fail(str(wrong))


def _limit(section: Section, name: str, usual: float | None) -> float | None:
    if not section.has(name):
        return usual
    return None if section.text(name) == OFF else section.number(name)


def _value(top: Section, field: dataclasses.Field[Any]) -> Any:
    if field.default is dataclasses.MISSING and not top.has(field.name):
        top.fail("is missing; fixtures/gates/default.yaml has all keys", field.name)
    default = None if field.default is dataclasses.MISSING else field.default
    match field.type:
        case "int":
            return top.integer(field.name, default)
        case "float":
            return top.number(field.name, default)
        case "tuple[int, ...]":
            return top.integers(field.name)
        case "VoidRule":
            with top.optional(field.name) as section:
                return _void_rule(section)
    return _machine(top, default) if field.name == "machine" else top.name(field.name)


def _machine(top: Section, usual: str | None) -> str:
    """The machine's name, or its path relative to the policy's file."""
    word = top.text("machine", usual)
    is_path = "/" in word or word.endswith((".yaml", ".yml"))
    return str(top.path.absolute().parent / word) if is_path else word
