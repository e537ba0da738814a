"""pytest's hooks and fixtures. Collection is planning; an item is a cell, a gate or a user's own test.

Takes pytest's configuration and marks; gives parametrized items and their outcomes. A user's mistake is a
UsageError or a collection error in one sentence; an error that stops measuring ends pytest with exit code 4.
"""

from __future__ import annotations

from benchgate.base import interrupts

with interrupts.quiet_imports(status=2):  # pytest's own status for an interrupt
    import contextlib
    import os
    from collections.abc import Callable, Generator, Iterator
    from functools import partial
    from typing import Any, NoReturn

    import pytest

    from benchgate.base.errors import BenchgateError, UsageError
    from benchgate.plan.planned import PlannedCell, PlannedGate
    from benchgate.session import progress
    from benchgate.session.pytest_hooks import (
        console,
        pytest_items,
        pytest_marks,
        pytest_options,
        xdist_partner,
    )
    from benchgate.session.pytest_hooks.pytest_session import PytestSession, ReportLine
    from benchgate.session.pytest_hooks.results import CellResult, NotPassed, VerdictResult, is_ours

STATE = pytest.StashKey[PytestSession]()
COMPLAINT = "benchgate_complaint"
"""The key under which an xdist worker reports a user's mistake, or an error that ends measuring."""


def pytest_addoption(parser: pytest.Parser) -> None:
    pytest_options.register(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> None:
    try:
        pytest_options.choose_root_again(early_config, parser, args)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_configure(config: pytest.Config) -> None:
    try:
        options = pytest_options.read(config)
        pytest_marks.register(config, options.gate_files)
        shown = progress.on_stderr(is_alone=not xdist_partner.in_worker(config))
        state = config.stash[STATE] = PytestSession(options, shown)
        state.check_host()
    except BenchgateError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(_ReportCollector(state), "benchgate-reports")
    if options.plan and getattr(config.option, "tx", None):
        config.option.dist, config.option.tx = "no", []  # a plan is made here
    elif getattr(config.option, "tx", None) and not xdist_partner.in_worker(config):
        config.pluginmanager.register(xdist_partner.XdistController(state), "benchgate-xdist")


# ---- collection is planning


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mistake = pytest_items.plan_items(metafunc, metafunc.config.stash[STATE])
    if mistake:
        pytest.fail(mistake, pytrace=False)


@pytest.hookimpl(tryfirst=True)  # before xdist tells the controller of the tests
def pytest_collection_finish(session: pytest.Session) -> None:
    items, state = session.items, session.config.stash[STATE]
    picked = pytest_items.cells(items), pytest_items.gates(items), pytest_items.images(items)
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        xdist_partner.announce(session)
    try:
        pytest_marks.check(items)
        state.pick(*picked)
        state.point_out()
        if output is None and not (state.options.plan or session.config.option.collectonly):
            state.require_oracles()
    except UsageError as error:
        if output is None:
            raise pytest.UsageError(str(error)) from None
        output[COMPLAINT] = str(error)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    if complaint := getattr(node, "workeroutput", {}).get(COMPLAINT):
        node.config.stash[STATE].complaint = complaint


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A test fails if a mark is added while it runs, because that is too late for a plan."""
    outcome = yield
    if mistake := pytest_marks.mistake(item):
        pytest.fail(mistake, pytrace=False)
    return outcome


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    state = session.config.stash[STATE]
    if not state.options.plan or session.config.option.collectonly:
        return None
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(state.describe())
    try:
        state.try_qemus()
    except BenchgateError as error:
        raise pytest.UsageError(str(error)) from None
    return True


# ---- fixtures: each can be requested alone


@pytest.fixture(scope="session")
def benchgate_session(request: pytest.FixtureRequest) -> PytestSession:
    """The session of this pytest run; measuring starts with the first item that needs a result."""
    state = request.config.stash[STATE]
    if not xdist_partner.may_measure(request.config):
        _fail_in_worker(request.config, xdist_partner.NOT_HERE)
    state.beside = xdist_partner.BESIDE if xdist_partner.in_worker(request.config) else ""
    state.interruptions.watch()  # they last until pytest_unconfigure
    return state


@pytest.fixture
def cell(request: pytest.FixtureRequest, benchgate_session: PytestSession) -> CellResult:
    """The verified runs of a cell: `cell.require_verified()`."""
    planned: PlannedCell = _planned(request)
    if planned.skip:
        pytest.skip(planned.skip)
    row = _measured(request, benchgate_session, planned.cell.row)
    if skip := row.skip(planned):  # this is known only since the host was probed
        pytest.skip(skip)
    result: CellResult = row.cell(planned)
    request.node.user_properties.extend(result.properties)
    return result


@pytest.fixture
def verdict(request: pytest.FixtureRequest, benchgate_session: PytestSession) -> VerdictResult:
    """The verdict of a gate: `verdict.require_pass()`."""
    planned: PlannedGate = _planned(request)
    row = _measured(request, benchgate_session, planned.arm.cell.row)
    result: VerdictResult = row.verdict(planned)
    request.node.user_properties.extend(result.properties)
    return result


@pytest.fixture
def isolation(request: pytest.FixtureRequest, benchgate_session: PytestSession) -> Any:
    """How the best mix of a study isolates its parts: `isolation.require_pass()`."""
    from benchgate.session.mix_study import guest_runner, isolation_mark  # noqa: PLC0415 - the solver takes long to import

    asked = isolation_mark.asked(request.node)
    options = benchgate_session.options
    if options.plan:
        pytest.skip("--plan measures no study; next: benchgate mix vectors STUDY --plan")
    return _or_exit(
        request.config,
        lambda: isolation_mark.measure(asked, options, guest_runner.opened, benchgate_session.progress),
    )


@pytest.fixture
def image(request: pytest.FixtureRequest, benchgate_session: PytestSession) -> Any:
    """A system's image with the workload of the `workload` mark, ready to boot."""
    planned: PlannedCell = _planned(request)
    return _or_exit(request.config, lambda: benchgate_session.image(planned))


@pytest.fixture
def boot(
    request: pytest.FixtureRequest,
    benchgate_session: PytestSession,
    image: Any,  # noqa: ARG001 - requested so that the image is built and the test parametrized
) -> Iterator[Any]:
    """`boot(cpus=2)` boots the image, pinned, and gives its console as pexpect; `boot(cpus=2, clock="insn")`
    on the instruction clock. It ends with the test."""
    with benchgate_session.boots(request.node.callspec.params["image"]) as start:
        yield start


def _planned(request: pytest.FixtureRequest) -> Any:
    """The plan of this item, which collection made from the arguments and marks of its function."""
    if not hasattr(request, "param"):
        pytest.fail(
            f"nothing was planned for the fixture `{request.fixturename}`: the test function must have "
            '@pytest.mark.workload("primes", ...) and request the fixture, directly or through another one, '
            "by an argument; getfixturevalue and unittest classes are not supported",
            pytrace=False,
        )
    return request.param


def _measured(request: pytest.FixtureRequest, state: PytestSession, row: str) -> Any:
    return _or_exit(request.config, lambda: state.row(row))


def _or_exit(config: pytest.Config, action: Callable[[], Any]) -> Any:
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
    capture = config.pluginmanager.get_plugin("capturemanager")
    with contextlib.nullcontext() if capture is None else capture.global_and_fixture_disabled():
        state, reporter = config.stash[STATE], config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            state.progress.end_line = partial(console.end_line, reporter)
        try:
            yield
        finally:
            state.progress.close()  # pytest goes on at the beginning of a line


# ---- reporting


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The reason of a verdict is a failure's whole text. The place of a skip is the test, not our code."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, NotPassed):
        report.longrepr = str(call.excinfo.value)
    if isinstance(report.longrepr, tuple) and is_ours(report.longrepr[0]):
        path, line = item.reportinfo()[:2]
        report.longrepr = (os.fspath(path), (line or 0) + 1, report.longrepr[2])
    return report


class _ReportCollector:
    """Passes on every report. Each session registers its own, because the hook has no session argument."""

    def __init__(self, state: PytestSession) -> None:
        self._state = state

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None]:
        """pytest handles no interrupt from here on. The session ends before those of other plugins."""
        self._state.interruptions.hold_off()
        self._state.end(exitstatus, session.config)
        if xdist_partner.in_worker(session.config):
            xdist_partner.hand_over(session.config, **self._state.ended(xdist_partner.width(session.config)))
        yield

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self._state.note_report(ReportLine(report.outcome, _message(report)))


def _message(report: pytest.TestReport) -> str:
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return report.longreprtext.strip()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    state = session.config.stash[STATE]
    if state.complaint:
        session.exitstatus = int(pytest.ExitCode.USAGE_ERROR)
        return
    if not (state.options.plan or session.config.option.collectonly):
        session.exitstatus = state.exit_code(int(exitstatus))


def pytest_unconfigure(config: pytest.Config) -> None:
    if STATE in config.stash:
        config.stash[STATE].interruptions.release()


@pytest.hookimpl(tryfirst=True)  # pytest-benchmark's may raise
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    state = config.stash[STATE]
    shown = config.option.tbstyle not in ("no", "line")
    text = state.summary(terminalreporter._tw.fullwidth, failures_shown=shown)
    if text:
        terminalreporter.section("benchgate")
        terminalreporter.write_line(console.coloured(text, terminalreporter._tw.markup))
