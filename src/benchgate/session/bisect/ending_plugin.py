"""The plugin of one step's pytest: it writes down the error of benchgate that ended pytest (step.py).

Takes what interrupted pytest; gives a JSON object: the error's class and sentence, empty if there was none.
All else is in the session's folder.
"""

from __future__ import annotations

import json

import pytest

from benchgate.base.errors import BenchgateError
from benchgate.session import inner_pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    inner_pytest.declare(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Watcher())


class _Watcher:
    def __init__(self) -> None:
        self._error: BenchgateError | None = None

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        found = excinfo.value.__context__
        if isinstance(found, BenchgateError):
            self._error = found

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        error = self._error
        kind, text = ("", "") if error is None else (type(error).__name__, str(error))
        inner_pytest.answer(config, json.dumps({"error": kind, "text": text}).encode())
