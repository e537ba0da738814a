"""A word of the glossaries (ARCHITECTURE.md, and that of users) names only what they say of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import benchgate
from benchgate.plan import glossary as users

ROOT = Path(benchgate.__file__).parent
OWNERS = {
    "Arm": "base.gates",
    "Baseline": "features.baseline.baselines",
    "Cell": "base.cells",
    "Clock": "base.clocks",
    "Clocks": "base.clocks",
    "Course": "features.history.course",
    "Exploration": "base.exploration",
    "Find": "features.explore.exploration_result",
    "Gate": "base.gates",
    "Ground": "plan.planned",
    "Lane": "base.cells",
    "Machine": "base.system.machines",
    "Interval": "base.statistics.stats",
    "Metric": "base.workload.metrics",
    "Mix": "features.mix.guest.mix_runs",
    "Oracles": "judge.oracles.oracle",
    "Part": "features.mix.guest.mix_runs",
    "Placement": "base.cells",
    "Policy": "base.gates",
    "Profile": "insn.profile",
    "Promise": "base.workload.witness",
    "Ruling": "base.gates",
    "Scenario": "features.scenarios.scenario",
    "Script": "base.system.script",
    "Seats": "plan.planned",
    "Smoke": "base.system.boots",
    "System": "base.system.systems",
    "Verdict": "base.gates",
    "Window": "base.cells",
}
"""The class that is a word of the glossary, and where it is defined."""
MODULES = {
    "machine": {
        "base.system.machines",
        "commands.machine",
        "insn.machine_shape",
        "judge.checks.machine_agreement",
        "plan.machine_keys",
        "render.tables.machine",
    },
    "part": {"features.mix.guest.mix_part"},
    "gate": {"base.gates", "judge.gates", "render.page.chapters.gates"},
}
"""Words that also mean something else in English, and the modules about what the glossary means."""
NOT_FUNCTIONS = {"mark", "part"}
"""A mark is pytest's and a part is one of a mix: no public function or method is called so."""


def modules() -> dict[str, str]:
    """The source of every module by its name below `benchgate`; a package has the name of its folder."""
    result = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if {"tests", "tools"} & {*parts[1:]}:
            continue
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        result[name] = path.read_text(encoding="utf-8")
    return result


def glossary(text: str) -> set[str]:
    section = text.partition("## Glossary")[2]
    return set(re.findall(r"^\| (\w[\w ]*) \|", section, re.MULTILINE)) - {"word"}


def singular(word: str) -> str:
    return word.removesuffix("s")


def strange_classes(sources: Mapping[str, str], words: set[str]) -> Iterator[str]:
    """Classes that are a word of the glossary, in one number or the other, where the word is not at home."""
    reserved = {singular(word) for word in words}
    for module, text in sources.items():
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.ClassDef):
                continue
            name = node.name.lstrip("_")
            if singular(name.lower()) in reserved and OWNERS.get(name) != module:
                yield f"{module}.{node.name}"


def strange_modules(names: Iterator[str] | Mapping[str, str]) -> Iterator[str]:
    for module in names:
        for word in module.rpartition(".")[2].split("_"):
            if module not in MODULES.get(singular(word), {module}):
                yield module


def strange_functions(sources: Mapping[str, str]) -> Iterator[str]:
    for module, text in sources.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name in NOT_FUNCTIONS:
                yield f"{module}.{node.name}"


def words() -> set[str]:
    return glossary((ROOT.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")) | {*users.WORDS}


def test_a_class_with_a_word_of_the_glossary_is_what_the_glossary_says() -> None:
    assert list(strange_classes(modules(), words())) == []


def is_deleted(module: str) -> bool:
    """Whether its feature has been deleted with its folder."""
    return module.startswith("features.") and not (ROOT / "features" / module.split(".")[1]).is_dir()


def test_every_owner_is_there() -> None:
    """Otherwise the table would allow a class that the glossary does not mean."""
    sources, reserved = modules(), {singular(word) for word in words()}
    for name, module in OWNERS.items():
        if not is_deleted(module):
            assert singular(name.lower()) in reserved
            assert f"class {name}" in sources[module], f"{module} has no class {name}"
    known = {name for names in MODULES.values() for name in names if not is_deleted(name)}
    assert known <= {*sources}


def test_a_module_with_an_ambiguous_word_is_about_what_the_glossary_says() -> None:
    assert list(strange_modules(modules())) == []


def test_no_function_has_a_reserved_word_as_its_name() -> None:
    assert list(strange_functions(modules())) == []


def test_a_word_that_is_used_for_something_else_is_found() -> None:
    assert list(strange_classes({"run.x": "class _Lane: ...\nclass Lanes: ...\n"}, {"lane"})) == [
        "run.x._Lane",
        "run.x.Lanes",
    ]
    assert list(strange_classes({"base.cells": "class Lane: ...\n"}, {"lane"})) == []
    assert list(strange_modules({"host.machine": "", "commands.machine": "", "render.page.parts": ""})) == [
        "host.machine",
        "render.page.parts",
    ]
    assert list(strange_functions({"run.guest": "class G:\n    def mark(self): ...\n"})) == ["run.guest.mark"]


def test_the_glossary_is_read() -> None:
    assert {"gate", "machine", "bench line"} <= words()
    assert glossary("## Glossary\n\n| word | meaning |\n|---|---|\n| arm | one |\n") == {"arm"}
