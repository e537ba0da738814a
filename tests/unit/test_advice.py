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


EVERY = [(path, line, text) for path in sorted(SOURCE.rglob("*.py")) for line, text in texts(path)]
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


def accepts(tree: ast.AST) -> Iterator[str]:
    """The words of each command that accepts a session: `command(*ACCEPT, "--add", ...)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "command":
            words = [ast.unparse(word) for word in node.args]
            if "*ACCEPT" in words or "'accept'" in words:
                yield " ".join(words)


def test_a_session_is_accepted_only_beside_what_is_there() -> None:
    """Issue 52: the tool's own advice replaced a good baseline by the regressed figures."""
    said = [words for path in SOURCE.rglob("*.py") for words in accepts(ast.parse(path.read_text()))]
    assert said
    for words in said:
        assert "'--add'" in words or "'--out' 'ANOTHER.json'" in words, words


def test_an_advice_that_replaces_a_baseline_is_found() -> None:
    (words,) = accepts(ast.parse("say(command(*ACCEPT, '--out', gate.baseline))"))
    assert "'--add'" not in words


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
