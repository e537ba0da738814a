"""Every module documents what it takes, what it gives and how it fails; every room documents its purpose."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import benchgate

ROOT = Path(benchgate.__file__).parent
MODULES = [path.relative_to(ROOT) for path in sorted(ROOT.rglob("*.py"))]


@pytest.mark.parametrize("name", [str(path) for path in MODULES if not {"tests", "tools"} & {*path.parts}])
def test_a_module_has_a_docstring(name: str) -> None:
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    lines = len((ast.get_docstring(tree) or "").splitlines())
    has_code = any(not isinstance(node, ast.Expr) for node in tree.body)
    assert lines > (1 if has_code else 0), (
        f"{name}: add a docstring: what it takes, what it gives and how it fails"
    )
