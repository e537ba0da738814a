"""Each report is what a user's own file may be: loaded by its path, and made of what `benchgate` exports."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

import benchgate
from benchgate.base.gates import Word
from benchgate.render.reports import by_name, rendered
from tests.unit.factories import scaled_view
from tests.unit.test_green import GREEN, session

FILES = sorted(path for path in Path(__file__).parents[1].glob("*.py") if path.name != "__init__.py")
NO_STATE = re.compile(r'benchgate_verdict="PASS"[^\n]*\} 0\n')


def strange(source: str) -> list[str]:
    """What a source imports besides Python's own modules and the public names of benchgate."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "benchgate":
            found += [alias.name for alias in node.names if alias.name not in benchgate.__all__]
        elif isinstance(node, ast.ImportFrom):
            found += [str(node.module)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return [name for name in found if name.partition(".")[0] not in sys.stdlib_module_names]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_needs_nothing_that_is_not_public(path: Path) -> None:
    assert strange(path.read_text(encoding="utf-8")) == []


def test_what_is_not_public_is_found() -> None:
    source = "import json\nfrom benchgate import Word, hidden\nfrom benchgate.base.text import visible\n"
    assert strange(source) == ["hidden", "benchgate.base.text"]


def test_all_of_them_make_their_files_in_one_session() -> None:
    made = rendered(scaled_view(), FILES)
    assert made.errors == ()
    assert [*by_name(FILES)] == ["bmf.json", "kcidb.json", "openmetrics.txt"]
    assert {*by_name(FILES)} <= {*made.texts}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_does_not_say_pass_where_every_threshold_was_skipped(path: Path) -> None:
    (name,) = by_name([path])
    text = NO_STATE.sub("", rendered(session(Word.SKIP), [path]).texts[name])
    assert not GREEN.search(text)
