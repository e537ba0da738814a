"""pytest's hooks and fixtures, and nothing else: collection is planning, an item is a cell or a gate.

Takes pytest's configuration and marks, gives parametrized items and their outcomes. A user's mistake is a
UsageError or a collection error in one sentence; whatever stops the measuring is pytest.exit with code 4.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

from benchgate.base.errors import BenchgateError, UsageError
from benchgate.plan.planned import PlannedCell, PlannedGate
from benchgate.session import pytest_items, pytest_options
from benchgate.session.progress import Progress
from benchgate.session.pytest_session import PytestSession, ReportLine
from benchgate.session.results import CellResult, VerdictResult

BENCH = pytest.StashKey[PytestSession]()
SPENT_S = pytest.StashKey[float]()
TIMED = "benchgate_timed"
"""What a worker of xdist tells the session that started it."""
NOT_IN_PARALLEL = "-n: timed tests run one at a time; leave -n out, or pick other tests by -m"

MARKS = (
    "smp: process-scale sweeps over CPU counts (benchgate)",
    "threads: thread-scale sweeps over CPU counts (benchgate)",
    "workload(name, **parameters): what a test of cells or verdicts runs (benchgate)",
    "speedup(cpus, at_least=|at_most=, insn=, window='work', base=1): one gate (benchgate)",
    "gate(kind, cpus, base=None, at_least=, at_most=, insn=, window='work'): one of any kind (benchgate)",
    "system(*names): systems of this test, instead of those of --system (benchgate)",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    pytest_options.register(parser)


def pytest_configure(config: pytest.Config) -> None:
    for line in MARKS:
        config.addinivalue_line("markers", line)
    terminal = sys.stderr.isatty()
    try:
        bench = config.stash[BENCH] = PytestSession(
            pytest_options.read(config), Progress(sys.stderr, live=terminal)
        )
        bench.check_cpus()
    except BenchgateError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(_Watcher(config.stash[BENCH]), "benchgate-watcher")


# ---- collection is planning


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mistake = pytest_items.plan_items(metafunc, metafunc.config.stash[BENCH])
    if mistake:
        pytest.fail(mistake, pytrace=False)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    picked = (
        pytest_items.cells(session.items),
        pytest_items.gates(session.items),
        pytest_items.images(session.items),
    )
    if any(picked):
        _tell_xdist(session.config)
    try:
        session.config.stash[BENCH].pick(*picked)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


def _tell_xdist(config: pytest.Config) -> None:
    """Timed tests run one at a time: a worker of xdist measures nothing and tells the session behind it."""
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output[TIMED] = True


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    if getattr(node, "workeroutput", {}).get(TIMED):
        bench: PytestSession = node.config.stash[BENCH]
        bench.complaint = NOT_IN_PARALLEL


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    bench = session.config.stash[BENCH]
    if not bench.options.plan or session.config.option.collectonly:
        return None
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(bench.describe())
    return True


# ---- fixtures: a ladder, each rung usable alone


@pytest.fixture(scope="session")
def benchgate_session(request: pytest.FixtureRequest) -> PytestSession:
    """The measuring session; opened by the first item that needs it."""
    bench = request.config.stash[BENCH]
    if hasattr(request.config, "workerinput"):
        pytest.fail(NOT_IN_PARALLEL, pytrace=False)
    bench.interruptions.watch()  # until the session's folder is closed, in pytest_sessionfinish
    return bench


@pytest.fixture
def cell(request: pytest.FixtureRequest, benchgate_session: PytestSession) -> CellResult:
    """One cell's verified runs: `cell.require_verified()`."""
    planned: PlannedCell = _planned(request)
    _skip_if(planned.skip)
    result: CellResult = _measured(request, benchgate_session, planned.cell.row).cell(planned.cell.id)
    request.node.user_properties.extend(result.properties)
    return result


@pytest.fixture
def verdict(request: pytest.FixtureRequest, benchgate_session: PytestSession) -> VerdictResult:
    """One gate's verdict: `verdict.require_pass()`."""
    planned: PlannedGate = _planned(request)
    row = _measured(request, benchgate_session, planned.arm.cell.row)
    result: VerdictResult = row.verdict(planned)
    request.node.user_properties.extend(result.properties)
    return result


@pytest.fixture
def image(request: pytest.FixtureRequest, benchgate_session: PytestSession) -> Any:
    """A built system, ready to boot: what the `workload` mark names, on each system."""
    planned: PlannedCell = _planned(request)
    return _or_exit(request.config, lambda: benchgate_session.image(planned))


@pytest.fixture
def boot(
    request: pytest.FixtureRequest,
    benchgate_session: PytestSession,
    image: Any,  # noqa: ARG001 - the rung below: it is made first, and parametrizes
) -> Iterator[Any]:
    """`boot(cpus=2)` boots the image, pinned, and gives its console as pexpect; ended after the test."""
    with benchgate_session.boots(request.node.callspec.params["image"]) as start:
        yield start


def _planned(request: pytest.FixtureRequest) -> Any:
    """What collection planned for this item; it plans by the arguments and marks of functions alone."""
    if not hasattr(request, "param"):
        pytest.fail(
            f"nothing was planned for the fixture `{request.fixturename}` here: a test function must carry "
            '@pytest.mark.workload("primes", ...) and name the fixture, or one that does, as an argument; '
            "getfixturevalue and unittest's classes come too late",
            pytrace=False,
        )
    return request.param


def _skip_if(reason: str) -> None:
    if reason:
        pytest.skip(reason)


def _measured(request: pytest.FixtureRequest, bench: PytestSession, row: str) -> Any:
    before = bench.spent_s
    found = _or_exit(request.config, lambda: bench.row(row))
    request.node.stash[SPENT_S] = bench.spent_s - before
    return found


def _or_exit(config: pytest.Config, action: Callable[[], Any]) -> Any:
    try:
        with _heard(config):
            return action()
    except BenchgateError as error:
        pytest.exit(f"benchgate: {error}", returncode=4)


@contextlib.contextmanager
def _heard(config: pytest.Config) -> Iterator[None]:
    """pytest captures what a fixture writes; the progress of a measurement is for the person who waits."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    with contextlib.nullcontext() if capture is None else capture.global_and_fixture_disabled():
        bench, reporter = config.stash[BENCH], config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            bench.progress.before_first = reporter.ensure_newline
        yield


# ---- reporting


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The first item of a row would be billed for the whole sweep."""
    report = yield
    spent_s = item.stash.get(SPENT_S, 0.0)
    if call.when == "setup" and spent_s:
        report.duration = max(0.0, report.duration - spent_s)
    return report


class _Watcher:
    """Hears every report; the hook gives no session, so each session registers one of these."""

    def __init__(self, bench: PytestSession) -> None:
        self._bench = bench

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self._bench.note_report(ReportLine(report.outcome, _message(report)))


def _message(report: pytest.TestReport) -> str:
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return report.longreprtext.strip()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    bench = session.config.stash[BENCH]
    try:
        bench.close(interrupted=exitstatus in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR))
    except BenchgateError as error:
        bench.complaint = str(error)
    finally:
        bench.interruptions.release()
    if bench.complaint:
        session.exitstatus = int(pytest.ExitCode.USAGE_ERROR)
        return
    if not (bench.options.plan or session.config.option.collectonly):
        session.exitstatus = bench.exit_code(int(exitstatus))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    bench = config.stash[BENCH]
    text = bench.summary(terminalreporter._tw.fullwidth)
    if text:
        terminalreporter.section("benchgate")
        terminalreporter.write_line(text)
