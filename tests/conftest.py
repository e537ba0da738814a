"""Marks of our own tests. Long tests run only when they are asked for: `nox -s soak`, `pytest -m soak`."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "history: rows of the past; `./run gate` leaves them out")
    config.addinivalue_line("markers", "tern: rows of our own kernel; `nox -s tern` runs them")
    config.addinivalue_line("markers", "profiles: tern's build profiles compared; `./run profiles` runs them")
    config.addinivalue_line("markers", "soak: many boots; runs only with -m soak")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "soak" in config.getoption("markexpr"):
        return
    long = [item for item in items if item.get_closest_marker("soak")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
