"""pytest's hooks and fixtures, and nothing else: collection is planning, an item is a cell or a gate.

Takes pytest's configuration and marks, gives parametrized items and their outcomes. A user's mistake is a
UsageError or a collection error in one sentence; whatever stops the measuring is pytest.exit with code 4.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, NoReturn

import pytest

from benchgate import catalog, marks, options, plan, report
from benchgate.bench import Bench, CellResult, VerdictResult
from benchgate.errors import BenchgateError, UsageError
from benchgate.marks import Mark
from benchgate.model import Word
from benchgate.options import Option, Options
from benchgate.progress import Progress
from benchgate.report import ReportLine

BENCH = pytest.StashKey[Bench]()
SPENT_S = pytest.StashKey[float]()
TIMED = "benchgate_timed"
"""What a worker of xdist tells the session that started it."""
NOT_IN_PARALLEL = "-n: timed tests run one at a time; leave -n out, or pick other tests by -m"

MARKS = (
    "smp: process-scale sweeps over CPU counts (benchgate)",
    "threads: thread-scale sweeps over CPU counts (benchgate)",
    "workload(name, **parameters): what a test of cells or verdicts runs (benchgate)",
    "speedup(cpus, at_least=|at_most=, insn=, window='work', base=1): one gate (benchgate)",
    "system(*names): systems of this test, instead of those of --system (benchgate)",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("benchgate", "benchgate: kernel benchmarks as gated tests")
    for option in options.TABLE:
        group.addoption(option.flag, help=option.about, default=None, dest=option.dest, **_how(option))
        parser.addini(option.key, f"as {option.flag}: {option.about}", default=None, type=_ini_type(option))


def _how(option: Option) -> dict[str, Any]:
    if option.kind == "flag":
        return {"action": "store_true"}
    how: dict[str, Any] = {"action": "append"} if option.kind == "list" else {}
    if option.choices:
        how["choices"] = option.choices
    return {**how, "metavar": option.metavar} if option.metavar else how


def _ini_type(option: Option) -> Any:
    return {"flag": "bool", "list": "args"}.get(option.kind, "string")


def pytest_configure(config: pytest.Config) -> None:
    for line in MARKS:
        config.addinivalue_line("markers", line)
    terminal = sys.stderr.isatty()
    try:
        bench = config.stash[BENCH] = Bench(_options(config), Progress(sys.stderr, live=terminal))
        if bench.options.cpus is not None:
            bench.check_cpus()
    except BenchgateError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(_Watcher(config.stash[BENCH]), "benchgate-watcher")


def _options(config: pytest.Config) -> Options:
    def lookup(option: Option) -> object:
        given = config.getoption(option.dest, None)
        if given == "":
            raise UsageError(f"{option.flag} is empty; leave it out or give it a value")
        return _ini(config, option) if given is None else given

    found = options.read(lookup)
    if found.sets or found.systems != Options().systems:
        plan.check_words(found)
    return found


def _ini(config: pytest.Config, option: Option) -> object:
    """A path in an ini file is relative to that file, wherever pytest was started."""
    value = config.getini(option.key)
    home = config.inipath.parent if config.inipath else config.invocation_params.dir

    def placed(word: str) -> str:
        return str(home / word) if option.name in options.PATHS or options.is_path(word) else word

    if option.name not in (*options.PATHS, "system") or not value:
        return value
    return [placed(word) for word in value] if isinstance(value, list) else placed(str(value))


# ---- collection is planning


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = [name for name in ("cell", "verdict", "image") if name in metafunc.fixturenames]
    if not names or (marker(metafunc.definition, "workload") is None and names == ["image"]):
        return
    mistake = _plan_items(metafunc, names)
    if mistake:
        pytest.fail(mistake, pytrace=False)


def _plan_items(metafunc: pytest.Metafunc, names: Sequence[str]) -> str:
    """Makes the items of one test function; gives what is wrong with its marks, if anything is."""
    bench = metafunc.config.stash[BENCH]
    try:
        request = marks.read(
            marker(metafunc.definition, "workload"),
            [as_mark(mark) for mark in metafunc.definition.iter_markers("speedup")],
            [as_mark(mark) for mark in metafunc.definition.iter_markers("system")],
        )
        if "verdict" in names and not request.thresholds:
            return "a test of verdicts needs @pytest.mark.speedup(cpus=2, at_least=1.6)"
        bench.collected.add(catalog.load_workload(request.workload).name)
        for name in names:
            _parametrize(metafunc, name, request, bench)
    except BenchgateError as error:
        return str(error)
    return ""


def _parametrize(metafunc: pytest.Metafunc, name: str, request: plan.Request, bench: Bench) -> None:
    if name == "cell":
        cells = plan.with_smt_row(
            plan.plan_cells(request, bench.options, bench.ground), bench.ground, bench.options
        )
        metafunc.parametrize("cell", cells, ids=[one.cell.id for one in cells], indirect=True)
    elif name == "verdict":
        gates = plan.plan_gates(request, bench.options, bench.ground)
        metafunc.parametrize("verdict", gates, ids=[one.id for one in gates], indirect=True)
    else:
        found = [
            plan.plan_cell(request, system, 1, bench.ground, bench.options)
            for system in plan.systems_of(request, bench.options)
        ]
        metafunc.parametrize("image", found, ids=[one.cell.row for one in found], indirect=True)


def marker(node: pytest.Item | pytest.Function, name: str) -> Mark | None:
    found = node.get_closest_marker(name)
    return None if found is None else as_mark(found)


def as_mark(found: pytest.Mark) -> Mark:
    return Mark(found.args, found.kwargs)


def _planned(item: pytest.Item) -> dict[str, Any]:
    """The cell or gate of an item, if it is one of ours."""
    spec = getattr(item, "callspec", None)
    params = {} if spec is None else spec.params
    ours = (plan.PlannedCell, plan.PlannedGate)
    return {name: params[name] for name in ("cell", "verdict") if isinstance(params.get(name), ours)}


def _planned_image(item: pytest.Item) -> plan.PlannedCell | None:
    """What an item's `image` fixture makes, if it has one."""
    spec = getattr(item, "callspec", None)
    found = None if spec is None else spec.params.get("image")
    return found if isinstance(found, plan.PlannedCell) else None


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    picked = [planned for item in session.items for planned in _planned(item).values()]
    images = {one.cell.row: one for item in session.items if (one := _planned_image(item)) is not None}
    if picked or images:
        _tell_xdist(session.config)
    try:
        session.config.stash[BENCH].pick(
            [one for one in picked if isinstance(one, plan.PlannedCell)],
            [one for one in picked if isinstance(one, plan.PlannedGate)],
            tuple(images.values()),
        )
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
        bench: Bench = node.config.stash[BENCH]
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
def benchgate_session(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """The measuring session; opened by the first item that needs it."""
    bench = request.config.stash[BENCH]
    if hasattr(request.config, "workerinput"):
        pytest.fail(NOT_IN_PARALLEL, pytrace=False)
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield bench
    finally:
        signal.signal(signal.SIGTERM, previous)


def _interrupt(number: int, _: object) -> NoReturn:
    raise KeyboardInterrupt(f"signal {number}")


@pytest.fixture
def cell(request: pytest.FixtureRequest, benchgate_session: Bench) -> CellResult:
    """One cell's verified runs: `cell.require_verified()`."""
    planned: plan.PlannedCell = request.param
    _skip_if(planned.skip)
    result: CellResult = _measured(request, benchgate_session, planned.cell.row).cell(planned.cell.id)
    request.node.user_properties.extend(result.properties)
    return result


@pytest.fixture
def verdict(request: pytest.FixtureRequest, benchgate_session: Bench) -> VerdictResult:
    """One gate's verdict: `verdict.require_pass()`."""
    planned: plan.PlannedGate = request.param
    row = _measured(request, benchgate_session, planned.arm.cell.row)
    result: VerdictResult = row.verdict(planned)
    request.node.user_properties.extend(result.properties)
    return result


@pytest.fixture
def image(request: pytest.FixtureRequest, benchgate_session: Bench) -> Any:
    """A built system, ready to boot: what the `workload` mark names, on each system."""
    return _or_exit(request.config, lambda: benchgate_session.image(request.param))


@pytest.fixture
def boot(
    request: pytest.FixtureRequest,
    benchgate_session: Bench,
    image: Any,  # noqa: ARG001 - the rung below: it is made first, and parametrizes
) -> Iterator[Any]:
    """`boot(cpus=2)` boots the image, pinned, and gives its console as pexpect; ended after the test."""
    with benchgate_session.boots(request.node.callspec.params["image"]) as start:
        yield start


def _skip_if(reason: str) -> None:
    if reason:
        pytest.skip(reason)


def _measured(request: pytest.FixtureRequest, bench: Bench, row: str) -> Any:
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

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            message = _first_line(report)
            self._bench.note_report(ReportLine(report.nodeid, report.outcome, report.duration, message))


def _first_line(report: pytest.TestReport) -> str:
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
    if bench.complaint:
        session.exitstatus = int(pytest.ExitCode.USAGE_ERROR)
        return
    if not (bench.options.plan or session.config.option.collectonly):
        session.exitstatus = exit_code(bench, int(exitstatus))


def exit_code(bench: Bench, pytests: int) -> int:
    """0 every gate PASS; 1 a FAIL or INVALID; 5 nothing was decided; 75 only INCONCLUSIVE.

    Verdicts speak first: a FAIL that no test required is still a FAIL, and nothing verified is no success.
    """
    passed = pytests == pytest.ExitCode.OK
    if not bench.picked or not (passed or pytests == pytest.ExitCode.TESTS_FAILED):
        return pytests
    words = [verdict.outcome for verdict in bench.asked_verdicts()]
    if any(word in (Word.FAIL, Word.INVALID) for word in words):
        return int(pytest.ExitCode.TESTS_FAILED)
    if not passed:
        return 75 if bench.only_inconclusive_failed() else pytests
    if not bench.options.inconclusive_fails:
        words = [word for word in words if word is not Word.INCONCLUSIVE] or [Word.SKIP]
    if words:
        return report.exit_code(words)
    return 0 if bench.any_verified() else report.UNDECIDED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    bench = config.stash[BENCH]
    text = bench.summary(terminalreporter._tw.fullwidth)
    if text:
        terminalreporter.section("benchgate")
        terminalreporter.write_line(text)
