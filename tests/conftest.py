"""Marks of our own tests, and signals. Long tests run only when they are asked for: `nox -s soak`."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.line.sessions import Session
    from tests.ternkit import Bootkit

HEARD: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}


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


@pytest.fixture(scope="session", autouse=True)
def hears_signals() -> Iterator[None]:
    """A shell starts its background jobs deaf to SIGINT, `nohup` to SIGHUP, and children inherit that through
    exec: without this, `nohup ./run tests &` would wait in vain for the sessions that our tests end."""
    deaf = [number for number in HEARD if signal.getsignal(number) is signal.SIG_IGN]
    for number in deaf:
        signal.signal(number, HEARD[number])
    yield
    for number in deaf:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Bootkit:
    """One for all files, so that they share boots."""
    from tests import ternkit  # a suite of rows, which has this file too, needs none of it

    return ternkit.tern(tmp_path_factory.mktemp("tern"))


@pytest.fixture(scope="session")
def dropped_ipis(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """One quick session of a tern with a defect, for all that can be seen on it."""
    from tests.line import sessions

    return sessions.dropped_ipis(tmp_path_factory.mktemp("dropped-ipis"))
