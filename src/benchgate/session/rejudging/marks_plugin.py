"""The plugin of a pytest that only collects: it writes down what the marks of tests request (thresholds.py).

Takes the items of pytest; gives the requests of all test functions with gates as JSON, with the names of
workloads and of the systems to compare with. A mark that cannot be read fails as in `plan/marks.py`, and so
ends pytest.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from benchgate.base.errors import CatalogError, UsageError
from benchgate.base.jsonfields import as_json
from benchgate.base.system.systems import System
from benchgate.base.workload.workloads import Workload
from benchgate.plan import catalog
from benchgate.session import inner_pytest
from benchgate.session.pytest_hooks import pytest_run
from benchgate.session.pytest_hooks.pytest_items import request_of
from benchgate.session.pytest_hooks.pytest_marks import gate_marks


def pytest_addoption(parser: pytest.Parser) -> None:
    inner_pytest.declare(parser)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    pytest_run.state_of(config)
    inner_pytest.leave_the_cache(config)
    config.pluginmanager.register(_MarkCollector())


class _MarkCollector:
    """Sees every collected item, also those that `-m` or `-k` of the tests' own configuration deselect."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, Any]] = {}

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        if any(item.get_closest_marker(name) for name in gate_marks(item)):
            request = request_of(item)
            to = [gate.to and _name_of(catalog.load_system, gate.to) for gate in request.gates]
            self._found[request.test] = {
                "workload": _name_of(catalog.load_workload, request.workload),
                "gates": [as_json(replace(gate, to=to)) for gate, to in zip(request.gates, to, strict=True)],
            }

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        inner_pytest.answer(session.config, json.dumps(self._found).encode())


def _name_of(load: Callable[[str], System | Workload], word: str) -> str:
    """A mark may give a path, and settings of a system; a session knows the name. A word that cannot be read
    names nothing of the session."""
    try:
        return load(word).name
    except (CatalogError, UsageError):
        return word
