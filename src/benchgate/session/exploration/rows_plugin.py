"""The plugin of a pytest that only collects: it hands over the cells that were planned (rows.py).

Takes the items that pytest selected, after -k and -m; gives the options and the cells, pickled.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from benchgate.plan.options import Options
from benchgate.plan.planned import PlannedCell
from benchgate.session import inner_pytest
from benchgate.session.pytest_hooks import pytest_items, pytest_run


@dataclass(frozen=True, slots=True)
class PickedRows:
    options: Options
    cells: Mapping[str, PlannedCell]


def pytest_addoption(parser: pytest.Parser) -> None:
    inner_pytest.declare(parser)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    inner_pytest.leave_the_cache(config)


def pytest_collection_finish(session: pytest.Session) -> None:
    gates = pytest_items.gates(session.items)
    found = [*pytest_items.cells(session.items), *(arm for gate in gates for arm in gate.arms)]
    options = pytest_run.state_of(session.config).options
    rows = PickedRows(options, {one.cell.id: one for one in found})
    inner_pytest.answer(session.config, pickle.dumps(rows))
