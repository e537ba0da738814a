"""What verdicts advise never replaces a good baseline."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1]


def accepts(tree: ast.AST) -> Iterator[str]:
    """The words of each command that accepts a session: `command(*ACCEPT, "--add", ...)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "command":
            words = [ast.unparse(word) for word in node.args]
            if "*ACCEPT" in words or "'accept'" in words:
                yield " ".join(words)


def test_a_session_is_accepted_only_beside_what_is_there() -> None:
    """Issue 52: the tool's own advice replaced a good baseline by the regressed figures."""
    said = [words for path in SOURCE.glob("*.py") for words in accepts(ast.parse(path.read_text()))]
    assert said
    for words in said:
        assert "'--add'" in words or "'--out' 'ANOTHER.json'" in words, words


def test_an_advice_that_replaces_a_baseline_is_found() -> None:
    (words,) = accepts(ast.parse("say(command(*ACCEPT, '--out', gate.baseline))"))
    assert "'--add'" not in words
