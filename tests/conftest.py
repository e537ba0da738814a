"""The marks and shared fixtures of our own tests. Soak tests run only with `nox -s soak`."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.line.sessions import Session
    from tests.ternkit import Bootkit

SIGNALS: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "history: rows kept for reference; `./run gate` leaves them out")
    config.addinivalue_line("markers", "tern: rows of our own kernel; `nox -s tern` runs them")
    config.addinivalue_line("markers", "schbench: wake-ups and requests; `nox -s schbench` runs them")
    config.addinivalue_line("markers", "profiles: tern's build profiles compared; `./run profiles` runs them")
    config.addinivalue_line("markers", "tools: existing programs as workloads; `nox -s tools` runs them")
    config.addinivalue_line("markers", "micro: single operations of a kernel; `nox -s micro` runs them")
    config.addinivalue_line("markers", "patterns: parallel patterns; `./run patterns` runs them")
    config.addinivalue_line("markers", "soak: many boots; runs only with -m soak")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "soak" in config.getoption("markexpr"):
        return
    long = [item for item in items if item.get_closest_marker("soak")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@pytest.fixture(scope="session", autouse=True)
def default_signals() -> Iterator[None]:
    """Restores the default action of SIGINT and SIGHUP. A shell ignores SIGINT in background jobs and `nohup`
    ignores SIGHUP, and children inherit that. Without this fixture, sessions that tests try to end with these
    signals would not end under `nohup ./run tests &`."""
    ignored = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, SIGNALS[number])
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Bootkit:
    """One for all test files, so that they share boots."""
    from tests import ternkit  # not at the top: tests/smp and tests/threads load this file too, without tern

    return ternkit.tern(tmp_path_factory.mktemp("tern"))


@pytest.fixture(scope="session")
def dropped_ipis(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """One quick session of a tern with a defect, shared by all test files."""
    from tests.line import sessions

    return sessions.dropped_ipis(tmp_path_factory.mktemp("dropped-ipis"))
