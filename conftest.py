"""This repository's pytest plugins, and the marks and shared fixtures of our own tests.

Nothing of benchgate is imported, so `-p no:benchgate` works here. Tests with the mark `long` or `soak` run
only in the nox sessions of these names.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.line.sessions import Session
    from tests.ternkit import Bootkit

pytest_plugins = ["pytester"]
TESTS = Path(__file__).parent / "tests"
ONLY_NAMED = ("rows", "inside")
"""Folders of tests that measure, or that need a machine made for them: they run only if a word names them."""
ONLY_ASKED = ("long", "soak", "lies", "scx")
"""Tests with these marks run only where `-m` names the mark."""
SIGNALS: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m smp` imports no module that has no such mark: eleven thousand tests have none. So it is for each
    mark with a folder of tests; `pytest_collection_modifyitems` gives others to modules that do not name
    them."""
    named = [config.invocation_params.dir / word.partition("::")[0] for word in config.args]
    if collection_path.name in ONLY_NAMED and collection_path.is_dir():
        return None if any(path.is_relative_to(collection_path) for path in named) else True
    mark = config.option.markexpr
    if collection_path.suffix != ".py" or not mark.isidentifier() or not (TESTS / mark).is_dir():
        return None
    has_mark = f"mark.{mark}" in collection_path.read_text(encoding="utf-8")
    return None if has_mark or collection_path in named else True


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "history: rows kept for reference; `./run gate` leaves them out")
    config.addinivalue_line("markers", "tern: rows of our own kernel; `nox -s tern` runs them")
    config.addinivalue_line("markers", "schbench: wake-ups and requests; `nox -s schbench` runs them")
    config.addinivalue_line("markers", "profiles: tern's build profiles compared; `./run profiles` runs them")
    config.addinivalue_line("markers", "tools: existing programs as workloads; `nox -s tools` runs them")
    config.addinivalue_line("markers", "micro: single operations of a kernel; `nox -s micro` runs them")
    config.addinivalue_line("markers", "patterns: parallel patterns; `./run patterns` runs them")
    config.addinivalue_line("markers", "memory: cache lines and locks; `./run memory` runs them")
    config.addinivalue_line("markers", "schedulers: idle CPUs beside waiting threads; `nox -s schedulers`")
    config.addinivalue_line("markers", "scenarios: groups of threads with a time line; `nox -s scenarios`")
    config.addinivalue_line("markers", "mixed: applications, alone and in mixes; `nox -s mixed` runs them")
    config.addinivalue_line("markers", "fleet: faults of a fleet; `nox -s fleet-faults` runs them")
    config.addinivalue_line("markers", "soak: many boots; runs only with -m soak")
    config.addinivalue_line("markers", "lies: a boot for each lie; runs only with -m lies")
    config.addinivalue_line("markers", "scx: schedulers in BPF on a built kernel; runs only with -m scx")
    config.addinivalue_line("markers", "long: a promise at its full breadth; runs only with -m long")
    config.addinivalue_line("markers", "alone: measures wall time, or the host; no other test runs beside it")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    unasked = [mark for mark in ONLY_ASKED if mark not in config.getoption("markexpr")]
    left = [item for item in items if any(map(item.get_closest_marker, unasked))]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """No search for garbage looks at the collected tests, neither while they become more nor later: each
    session that a test runs in this process ends with a search, which took half a second."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


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


@pytest.fixture(autouse=True)
def same_signals() -> Iterator[None]:
    """A test that leaves SIGINT ignored would make a later one of the same process wait for ever."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    left = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        signal.signal(number, handler)
    assert left == before


@pytest.fixture
def interruptible() -> Iterator[None]:
    """An interrupted command ignores others until its process ends, and this process goes on."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Sessions of tests leave nothing in the user's state folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_hypothesis_in_children() -> Iterator[None]:
    """A pytest that a test starts as a process has no property to test, and its plugin takes 0.6 s of CPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")
        yield


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
