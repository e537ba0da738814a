"""Every module documents what it takes, what it gives and how it fails; every room documents its purpose."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import benchgate

ROOT = Path(benchgate.__file__).parent


@pytest.mark.parametrize("name", sorted(str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py")))
def test_a_module_has_a_docstring(name: str) -> None:
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    lines = len((ast.get_docstring(tree) or "").splitlines())
    has_code = any(not isinstance(node, ast.Expr) for node in tree.body)
    assert lines > (1 if has_code else 0), (
        f"{name}: add a docstring: what it takes, what it gives and how it fails"
    )
