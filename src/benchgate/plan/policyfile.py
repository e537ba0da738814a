"""Reads a policy's YAML file.

Takes a path, or text and the path to name in messages, and what finds a machine by its word; gives a Policy.
Fails with CatalogError, which names file, line and key, for an unknown, missing or duplicate key, a wrong
type, inconsistent values, or a machine that is not found.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchgate.base.errors import CatalogError, UsageError
from benchgate.base.gates import Policy
from benchgate.base.void_rule import DEFAULT as DEFAULT_VOID_RULE
from benchgate.base.void_rule import OFF, VoidRule
from benchgate.base.yaml import yamlfile
from benchgate.base.yaml.keys import Block, Integer, Integers, Key, Number
from benchgate.base.yaml.yamlfile import Section
from benchgate.plan.policy_keys import POLICY

FindMachine = Callable[[str], object]
"""This fails with UsageError or CatalogError for the word of a missing or invalid machine."""


def _unchecked(word: str) -> object:
    return word


def load(path: Path, find_machine: FindMachine = _unchecked) -> Policy:
    return _read(yamlfile.load(path, POLICY), find_machine)


def parse(text: str, path: Path, find_machine: FindMachine = _unchecked) -> Policy:
    return _read(yamlfile.parse(text, path, POLICY), find_machine)


def _read(top: Section, find_machine: FindMachine) -> Policy:
    values = {key: _value(top, key, row) for key, row in POLICY.forms[0].items()}
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
    limits = {name: _limit(section, name, limit) for name, limit in DEFAULT_VOID_RULE.limits.items()}
    try:
        return VoidRule(**limits, most=section.integer("most"), share=section.number("share"))
    except ValueError as wrong:
        section.fail(str(wrong))


def _limit(section: Section, name: str, usual: float | None) -> float | None:
    if not section.has(name):
        return usual
    return None if section.text(name) == OFF else section.number(name)


def _value(top: Section, key: str, row: Key) -> Any:
    if row.is_needed and not top.has(key):
        top.fail("is missing; fixtures/gates/default.yaml has all keys", key)
    match row:
        case Integer():
            return top.integer(key)
        case Number():
            return top.number(key)
        case Integers():
            return top.integers(key)
        case Block():
            with top.optional(key) as section:
                return _void_rule(section)
    return _machine(top) if key == "machine" else top.text(key)


def _machine(top: Section) -> str:
    """The machine's name, or its path relative to the policy's file."""
    word = top.text("machine")
    is_path = "/" in word or word.endswith((".yaml", ".yml"))
    return str(top.path.absolute().parent / word) if is_path else word
