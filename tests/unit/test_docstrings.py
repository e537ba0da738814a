"""Every module says what it takes, what it gives and how it fails; at least in more than one line."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import benchgate

ROOT = Path(benchgate.__file__).parent
# A package's front with nothing in it, or one that is started by name only.
PLAIN = {"__init__.py", "host/__init__.py", "machine/__init__.py", "render/__init__.py"}


def files() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py"))


@pytest.mark.parametrize("name", [name for name in files() if name not in PLAIN])
def test_a_module_says_what_it_is(name: str) -> None:
    said = ast.get_docstring(ast.parse((ROOT / name).read_text(encoding="utf-8"))) or ""
    assert len(said.splitlines()) > 1, f"{name}: say what it takes, what it gives and how it fails"


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_a_module_without_a_word_has_no_code_either(name: str) -> None:
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    assert all(isinstance(node, ast.Expr) for node in tree.body)
