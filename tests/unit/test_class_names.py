"""Each class name occurs once in the package, and is a noun: what somebody searches for is one thing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import benchgate

ROOT = Path(benchgate.__file__).parent
NOUNS = {"Seed", "Speed"}
"""They end like participles."""


def sources() -> dict[str, str]:
    """The source of every module, by its path in the package."""
    paths = [path.relative_to(ROOT) for path in sorted(ROOT.rglob("*.py"))]
    shipped = [path for path in paths if not {"tests", "tools"} & {*path.parts}]
    return {str(path): (ROOT / path).read_text(encoding="utf-8") for path in shipped}


def classes(modules: Mapping[str, str]) -> dict[str, list[str]]:
    """By name, the modules that define a class of this name, at any depth."""
    names: dict[str, list[str]] = {}
    for module, text in modules.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                names.setdefault(node.name, []).append(module)
    return names


def repeated(names: Mapping[str, list[str]]) -> list[str]:
    return [f"{name}: {', '.join(modules)}" for name, modules in sorted(names.items()) if len(modules) > 1]


def participles(names: Iterable[str]) -> list[str]:
    """Names of one word that ends in -ed, such as Placed. `PlacedPart` says what was placed."""
    return sorted(name for name in names if re.fullmatch(r"_?[A-Z][a-z]+ed", name) and name not in NOUNS)


def test_no_class_name_occurs_twice() -> None:
    names = classes(sources())
    assert len(names) > 400
    assert repeated(names) == []


def test_no_class_name_is_a_participle_alone() -> None:
    assert participles(classes(sources())) == []


def test_a_second_class_of_a_name_is_found() -> None:
    text, other = "class Order:\n    pass\n", "def make():\n    class Order:\n        pass\n"
    assert repeated(classes({"a.py": text, "b.py": other})) == ["Order: a.py, b.py"]
    assert repeated(classes({"a.py": text, "b.py": "class Orders: ...\n"})) == []


def test_a_participle_is_found() -> None:
    assert participles(["Placed", "_Wanted", "Speed", "PlacedPart", "Edge"]) == ["Placed", "_Wanted"]
