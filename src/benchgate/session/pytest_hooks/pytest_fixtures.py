"""The values of the fixtures that pytest_plugin.py declares.

Takes the request of a fixture and the session; gives results, which are measured when they are first asked
for. A fixture for which nothing was planned fails its test; an error that stops measuring ends pytest with
exit code 4.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NoReturn

import pytest

from benchgate.base.errors import BenchgateError
from benchgate.base.runs import Image
from benchgate.plan.planned import PlannedCell, PlannedGate
from benchgate.session.pytest_hooks import pytest_run, xdist_partner
from benchgate.session.pytest_hooks.pytest_run import STATE, state_of
from benchgate.session.pytest_hooks.pytest_session import Boots, PytestSession
from benchgate.session.pytest_hooks.pytest_use import COMPLAINT
from benchgate.session.pytest_hooks.results import CellResult, VerdictResult


def session(request: pytest.FixtureRequest) -> PytestSession:
    state = state_of(request.config)
    if not xdist_partner.may_measure(request.config):
        _fail_in_worker(request.config, xdist_partner.NOT_HERE)
    state.beside = xdist_partner.BESIDE if xdist_partner.in_worker(request.config) else ""
    state.interruptions.watch()  # they last until pytest_unconfigure
    return state


def cell(request: pytest.FixtureRequest, state: PytestSession) -> CellResult:
    planned: PlannedCell = _planned(request)
    if planned.skip:
        pytest.skip(planned.skip)
    row = _measured(request, state, planned.cell.row)
    if skip := row.skip(planned):  # this is known only since the host was probed
        pytest.skip(skip)
    result: CellResult = row.cell(planned)
    request.node.user_properties.extend(result.properties)
    return result


def verdict(request: pytest.FixtureRequest, state: PytestSession) -> VerdictResult:
    planned: PlannedGate = _planned(request)
    row = _measured(request, state, planned.arm.cell.row)
    result: VerdictResult = row.verdict(planned)
    request.node.user_properties.extend(result.properties)
    return result


def image(request: pytest.FixtureRequest, state: PytestSession) -> Image:
    planned: PlannedCell = _planned(request)
    built: Image = or_exit(request.config, lambda: state.image(planned))
    return built


def boots(request: pytest.FixtureRequest, state: PytestSession) -> AbstractContextManager[Boots]:
    return state.boots(request.node.callspec.params["image"])


def _planned(request: pytest.FixtureRequest) -> Any:
    """The plan of this item, which collection made from the arguments and marks of its function."""
    if not hasattr(request, "param"):
        marked = 'the test function must have @pytest.mark.workload("primes", ...) and request the fixture'
        how = "directly or through another one, by an argument; getfixturevalue and unittest classes are not"
        why = f"{marked}, {how} supported"
        pytest.fail(f"nothing was planned for the fixture `{request.fixturename}`: {why}", pytrace=False)
    return request.param


def _measured(request: pytest.FixtureRequest, state: PytestSession, row: str) -> Any:
    return or_exit(request.config, lambda: state.row(row))


def or_exit(config: pytest.Config, action: Callable[[], Any]) -> Any:
    """Acts with progress shown at once."""
    try:
        with _uncaptured(config):
            return action()
    except BenchgateError as error:
        if xdist_partner.in_worker(config):
            _fail_in_worker(config, str(error))
        pytest.exit(f"benchgate: {error}", returncode=4)


def _fail_in_worker(config: Any, why: str) -> NoReturn:
    """A worker of xdist that exits while it has tests would be taken for a crash."""
    config.workeroutput[COMPLAINT] = config.stash[STATE].complaint = why
    pytest.fail(f"benchgate: {why}", pytrace=False)


@contextlib.contextmanager
def _uncaptured(config: pytest.Config) -> Iterator[None]:
    """Shows the progress at once, although pytest captures the output of fixtures."""
    with pytest_run.uncaptured(config):
        state, reporter = state_of(config), config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            state.progress.end_line = partial(pytest_run.end_line, reporter)
        try:
            yield
        finally:
            state.progress.close()  # pytest goes on at the beginning of a line
