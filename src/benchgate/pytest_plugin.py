"""The door for pytest: options, marks, fixtures, and when a run of pytest becomes one that uses benchgate.

Options and marks are known at once. All else is imported at the first use: an option, or a function with a
fixture or a mark of ours. A run of other tests has none of these, and costs nothing. Fails as the functions
of session/pytest_hooks/pytest_run.py do, which are behind this door.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from benchgate.plan import mark_table
from benchgate.session.pytest_hooks import pytest_flags, pytest_use, xdist_partner

if TYPE_CHECKING:
    from benchgate.base.runs import Image
    from benchgate.session.mix_study.isolation_mark import IsolationResult
    from benchgate.session.pytest_hooks.pytest_session import Boots, PytestSession
    from benchgate.session.pytest_hooks.results import CellResult, VerdictResult


def pytest_addoption(parser: pytest.Parser) -> None:
    pytest_flags.register(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> None:
    pytest_flags.choose_root_again(early_config, parser, args)


def pytest_configure(config: pytest.Config) -> None:
    for line in mark_table.lines():
        config.addinivalue_line("markers", line)
    xdist_partner.register(config, _session)
    if pytest_use.is_configured(config):
        _session(config)


def _session(config: pytest.Config) -> PytestSession:
    from benchgate.session.pytest_hooks import pytest_run

    return pytest_run.state_of(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if pytest_use.is_planned(metafunc):
        from benchgate.session.pytest_hooks import pytest_run

        pytest_run.plan_items(metafunc)


@pytest.hookimpl(wrapper=True)
def pytest_collection_finish(session: pytest.Session) -> Generator[None]:
    if xdist_partner.in_worker(session.config):  # before xdist tells the controller of the tests
        xdist_partner.announce(session)
    yield
    if pytest_use.has_begun(session.config) or any(map(pytest_use.is_marked, session.items)):
        from benchgate.session.pytest_hooks import pytest_run

        pytest_run.pick(session)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    if pytest_use.COMPLAINT in getattr(node, "workeroutput", {}):
        from benchgate.session.pytest_hooks import pytest_run

        pytest_run.take_complaint(node)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    outcome = yield
    if pytest_use.has_begun(item.config) or pytest_use.is_marked(item):
        from benchgate.session.pytest_hooks import pytest_run

        pytest_run.require_no_late_mark(item)
    return outcome


# ---- fixtures: each can be requested alone


@pytest.fixture(scope="session")
def benchgate_session(request: pytest.FixtureRequest) -> PytestSession:
    """The session of this pytest run; measuring starts with the first item that needs a result."""
    from benchgate.session.pytest_hooks import pytest_fixtures

    return pytest_fixtures.session(request)


@pytest.fixture
def cell(request: pytest.FixtureRequest, benchgate_session: PytestSession) -> CellResult:
    """The verified runs of a cell: `cell.require_verified()`."""
    from benchgate.session.pytest_hooks import pytest_fixtures

    return pytest_fixtures.cell(request, benchgate_session)


@pytest.fixture
def verdict(request: pytest.FixtureRequest, benchgate_session: PytestSession) -> VerdictResult:
    """The verdict of a gate: `verdict.require_pass()`."""
    from benchgate.session.pytest_hooks import pytest_fixtures

    return pytest_fixtures.verdict(request, benchgate_session)


@pytest.fixture
def isolation(request: pytest.FixtureRequest, benchgate_session: PytestSession) -> IsolationResult:
    """How the best mix of a study isolates its parts: `isolation.require_pass()`."""
    from benchgate.session.mix_study import isolation_mark

    return isolation_mark.fixture_value(request, benchgate_session)


@pytest.fixture
def image(request: pytest.FixtureRequest, benchgate_session: PytestSession) -> Image:
    """A system's image with the workload of the `workload` mark, ready to boot."""
    from benchgate.session.pytest_hooks import pytest_fixtures

    return pytest_fixtures.image(request, benchgate_session)


@pytest.fixture
def boot(
    request: pytest.FixtureRequest,
    benchgate_session: PytestSession,
    image: Image,  # noqa: ARG001 - requested so that the image is built and the test parametrized
) -> Iterator[Boots]:
    """`boot(cpus=2)` boots the image, pinned, and gives its console as pexpect; `boot(cpus=2, clock="insn")`
    on the instruction clock. It ends with the test."""
    from benchgate.session.pytest_hooks import pytest_fixtures

    with pytest_fixtures.boots(request, benchgate_session) as start:
        yield start
