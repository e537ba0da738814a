"""Reads a policy's YAML file, whose keys the fields of `Policy` and `VoidRule` declare.

Takes a path, or text and the path to name in messages, and what finds a machine by its word; gives a Policy.
Fails with CatalogError, which names file, line and key, for an unknown, missing or duplicate key, a wrong
type, inconsistent values, or a machine that is not found.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchgate.base.errors import CatalogError, UsageError
from benchgate.base.gates import Policy
from benchgate.base.void_rule import DEFAULT as DEFAULT_VOID_RULE
from benchgate.base.void_rule import OFF, VoidRule
from benchgate.base.yaml import yamlfile
from benchgate.base.yaml.keys import YamlFile, table
from benchgate.base.yaml.yamlfile import Section

POLICY = YamlFile(
    "How certain a verdict must be (`--policy`).",
    name="policy",
    title="A policy",
    places=("fixtures/gates/*.yaml",),
    forms=(table(Policy),),
)


FindMachine = Callable[[str], object]
"""This fails with UsageError or CatalogError for the word of a missing or invalid machine."""


def _unchecked(word: str) -> object:
    return word


def load(path: Path, find_machine: FindMachine = _unchecked) -> Policy:
    return _read(yamlfile.load(path, POLICY), find_machine)


def parse(text: str, path: Path, find_machine: FindMachine = _unchecked) -> Policy:
    return _read(yamlfile.parse(text, path, POLICY), find_machine)


def _read(top: Section, find_machine: FindMachine) -> Policy:
    for key, row in table(Policy).items():
        if row.is_needed and not top.has(key):
            top.fail("is missing; fixtures/gates/default.yaml has all keys", key)
    with top.optional("void") as section:
        void = _void_rule(section)
    try:
        policy = top.whole(Policy, void=void, machine=_machine(top))
    except ValueError as wrong:
        top.fail(str(wrong))
    try:
        find_machine(policy.machine)
    except (UsageError, CatalogError) as wrong:
        top.fail(str(wrong), "machine")
    return policy


def _void_rule(section: Section) -> VoidRule:
    """A limit that is absent has its default; `off` takes a counter out of the rule."""
    limits = {name: _limit(section, name, limit) for name, limit in DEFAULT_VOID_RULE.limits.items()}
    try:
        return section.read(VoidRule, **limits)
    except ValueError as wrong:
        section.fail(str(wrong))


def _limit(section: Section, name: str, usual: float | None) -> float | None:
    if not section.has(name):
        return usual
    return None if section.text(name) == OFF else section.number(name)


def _machine(top: Section) -> str:
    """The machine's name, or its path relative to the policy's file."""
    word = top.text("machine")
    is_path = "/" in word or word.endswith((".yaml", ".yml"))
    return str(top.path.absolute().parent / word) if is_path else word
