"""No advice destroys: what the product says to do next neither deletes nor overwrites what somebody made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import benchgate

SOURCE = Path(benchgate.__file__).parent
DESTROYS = re.compile(
    r"(?<![\w./-])(rm|rmdir|mv|dd|mkfs|shred|truncate) +-?[\w./{]"
    r"|--(force|overwrite|delete|clean|purge|yes)\b"
    r"|\bmake +(mrproper|clean|distclean)\b"
    r"|\bgit +(reset|clean|restore|stash|push|rebase|checkout +(?!of\b)[-\w.]|branch +-[dD])"
    r"|\bhistory +(drop|delete|prune)\b"
    r"|(?<![<>=-])> *[\w./]+\.(json|yaml|log|csv)\b"
)
"""Commands that delete or overwrite what somebody made. The cache and the lock files hold what is fetched or
built again, so `benchgate cache gc` and `nox -s relock` destroy nothing."""
NEXT = re.compile(r"next: |Next: ")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Every text of a module, with `{}` where an f-string has a value; no docstrings."""
    tree = ast.parse(path.read_text())
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (one.value if isinstance(one, ast.Constant) else "{}" for one in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_whole = id(node) not in inside and id(node) not in documents
            yield from [(node.lineno, node.value)] if is_whole else []


FILES = [path for path in sorted(SOURCE.rglob("*.py")) if "tests" not in path.relative_to(SOURCE).parts]
EVERY = [(path, line, text) for path in FILES for line, text in texts(path)]
HINTS = ("benchgate ", "nox -s", "git ", "make ", "next: ", "--")


def test_the_texts_of_the_product_are_read() -> None:
    assert sum(bool(NEXT.search(text)) for _, _, text in EVERY) > 50
    assert any("--resume with its folder" in text for _, _, text in EVERY)


def test_no_text_that_may_be_advice_has_a_command_that_destroys() -> None:
    """The name of an option alone is its declaration."""
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {text}"
        for path, line, text in EVERY
        if " " in text and any(hint in text for hint in HINTS) and DESTROYS.search(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "next: rm -r reports/latest",
        "next: rm reports/baselines/main.json",
        "delete it with --force",
        "next: git checkout -- .",
        "next: git reset --hard",
        "run `make mrproper` there",
        "next: benchgate threads RUN --json > baseline.json",
    ],
)
def test_the_rule_sees_what_destroys(text: str) -> None:
    assert DESTROYS.search(text)


@pytest.mark.parametrize(
    "text",
    [
        "next: the form of a run",
        "next: --resume with its folder",
        "next: benchgate verify DIR",
        "name a git checkout of Linux",
        "a -> b.json",
    ],
)
def test_the_rule_leaves_other_advice_alone(text: str) -> None:
    assert not DESTROYS.search(text)
