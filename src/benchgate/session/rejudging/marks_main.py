"""The program that collects tests and writes down what their marks request; thresholds.py starts it.

Takes the path of a file to write and paths of tests, which are imported: their user named them. Gives the
requests of all test functions with gates as JSON, with the names of the systems to compare with, and pytest's
exit status; what pytest prints says why it failed. Runs no test and boots nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.errors import CatalogError, UsageError
from benchgate.base.jsonfields import as_json
from benchgate.plan import catalog
from benchgate.session.pytest_hooks.pytest_items import request_of
from benchgate.session.pytest_hooks.pytest_marks import gate_marks


class _MarkCollector:
    """Sees every collected item, also those that `-m` or `-k` of the tests' own configuration deselect."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        if any(item.get_closest_marker(name) for name in gate_marks(item)):
            request = request_of(item)
            self.found[request.test] = {
                "workload": request.workload,
                "gates": [as_json(gate) | {"to": _name_of(gate.to)} for gate in request.gates],
            }


def _name_of(word: str) -> str:
    """A mark may give a path and settings; a session knows the name. A word that cannot be read names none of
    the session's systems."""
    try:
        return catalog.load_system(word).name if word else ""
    except (CatalogError, UsageError):
        return word


def main(out: Path, tests: Sequence[str]) -> int:
    collector = _MarkCollector()
    status = pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *tests], plugins=[collector])
    out.write_text(json.dumps(collector.found), encoding="utf-8")
    return int(status)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
