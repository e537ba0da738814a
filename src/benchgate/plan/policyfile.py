"""Reads a policy's YAML file, by the table of its keys: kind, default, limits and meaning.

Takes a path, or text and the path to name in messages, and what finds a machine by its word; gives a Policy.
Fails with CatalogError, which names file, line and key, for an unknown, missing or duplicate key, a wrong
type, inconsistent values, or a machine that is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from benchgate.base.errors import CatalogError, UsageError
from benchgate.base.gates import MOST_RUNS, Policy
from benchgate.base.void_rule import DEFAULT as DEFAULT_VOID_RULE
from benchgate.base.void_rule import OFF, VoidRule
from benchgate.base.yaml import yamlfile
from benchgate.base.yaml.keys import (
    Block,
    Choice,
    Either,
    Integer,
    Integers,
    Key,
    Number,
    Table,
    Text,
    YamlFile,
    name,
)
from benchgate.base.yaml.yamlfile import Section

_USUAL: Mapping[str, Any] = {field.name: field.default for field in fields(Policy)}


def _counter(name: str, about: str) -> Either:
    """A limit, or the word that takes the counter out of the rule."""
    limit = DEFAULT_VOID_RULE.limits[name]
    kinds = (Number(about), Choice("no limit", (OFF,)))
    return Either(about, kinds, default=OFF if limit is None else limit)


_VOID: Table = {
    "run_delay": _counter(
        "run_delay", "the longest wait of a vCPU's thread for a host CPU, as a share of the window"
    ),
    "steal": _counter("steal", "what the hypervisor withheld of a CPU of the run, as a share of the window"),
    "migrations": _counter("migrations", "how often a pinned vCPU's thread changed its CPU"),
    "frequency": _counter(
        "frequency", "the spread of the frequencies of the run's CPUs, as a share of the highest"
    ),
    "throttles": _counter("throttles", "how often the processor was slowed down because of its temperature"),
    "involuntary": _counter("involuntary", "how often per second of the window a vCPU's thread lost its CPU"),
    "psi_cpu": _counter(
        "psi_cpu", "for how long some task of the whole host waited, as a share of the window"
    ),
    "most": Integer(
        "a sweep ends after more void runs than this ...", default=DEFAULT_VOID_RULE.most, high=MOST_RUNS
    ),
    "share": Number("... and than this share of its runs", default=DEFAULT_VOID_RULE.share),
}
POLICY = YamlFile(
    "How certain a verdict must be (`--policy`).",
    name="policy",
    title="A policy",
    places=("fixtures/gates/*.yaml",),
    forms=(
        {
            "name": name("the policy's name, in reports"),
            "looks": Integers(
                "the numbers of runs per arm at which a verdict can be reached: odd, ascending"
            ),
            "alpha": Number("the error probability of one look, chosen for the list of looks"),
            "overall_error": Number("the error probability of a gate over all looks together, below 0.5"),
            "first": Integer("the first look; --runs changes it"),
            "max_runs": Integer("the last look; --max-runs changes it"),
            "superlinear": Number(
                "a figure above this factor times the ratio of the CPU counts is INVALID",
                default=_USUAL["superlinear"],
            ),
            "superlinear_ideal": Number(
                "the same on the ideal machine, if workers neither share CPUs nor make calls",
                default=_USUAL["superlinear_ideal"],
            ),
            "capacity_reach": Number(
                "a FAIL is due to the host only if the guest reaches this share of the host's speedup",
                default=_USUAL["capacity_reach"],
            ),
            "minutes": Number(
                "on wall time no further look of a row is begun after this time", default=_USUAL["minutes"]
            ),
            "warmups": Integer(
                "boots per arm that are discarded before the first counted one, on wall time",
                default=_USUAL["warmups"],
            ),
            "void": Block(
                "which runs on wall time are void, because the host disturbed them",
                forms=(_VOID,),
                otherwise="the defaults of its keys",
            ),
            "machine": Text(
                "the machine, unless an option or a mark names one; a path is relative to this file",
                default=_USUAL["machine"],
            ),
            "boots": Integer(
                "how many different boots stand behind the runs of an arm that starts warm",
                default=_USUAL["boots"],
            ),
            "apart": Number(
                "runs of an arm are in groups if these differ by at least this share of the larger figure, "
                "and a gate passes only if its worst group does; 0: never",
                default=_USUAL["apart"],
            ),
        },
    ),
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
