"""A run of pytest that uses benchgate. Collection is planning; an item is a cell, a gate or another test.

Takes pytest's configuration, functions and items; gives parametrized items, outcomes and the exit code. From
the first use on, pytest_plugin.py calls these functions, and pytest the `SessionHooks`, which the first call
registers. Verdicts have pytest's own colours, which know --color, NO_COLOR, FORCE_COLOR and PY_COLORS. A
user's mistake is a pytest.UsageError or a collection error in one sentence.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from benchgate.base.errors import BenchgateError, UsageError
from benchgate.base.gates import Word
from benchgate.session import progress
from benchgate.session.pytest_hooks import pytest_items, pytest_marks, pytest_options, xdist_partner
from benchgate.session.pytest_hooks.pytest_session import PytestSession, ReportLine
from benchgate.session.pytest_hooks.pytest_use import COMPLAINT, SESSION
from benchgate.session.pytest_hooks.results import NotPassed, is_ours

COLOURS = {
    Word.PASS: {"green": True},
    Word.FAIL: {"red": True, "bold": True},
    Word.INVALID: {"red": True, "bold": True},
    Word.INCONCLUSIVE: {"yellow": True, "bold": True},
    Word.SKIP: {"yellow": True},
}
_WORDS = "|".join(COLOURS)
_VERDICT = re.compile(rf"^(?:{_WORDS})(?=:)|(?<= )(?:{_WORDS})$", re.MULTILINE)
"""A verdict at the beginning of a sentence, or in the last column of a table."""
STATE = pytest.StashKey[PytestSession]()


def end_line(reporter: Any) -> None:
    """Ends the line of letters and file names that pytest has begun; with -q it has letters only."""
    reporter.ensure_newline()
    if reporter._tw.width_of_current_line:
        reporter._tw.line()


def coloured(text: str, markup: Callable[..., str]) -> str:
    """`markup` gives its text back unchanged where pytest has no colours."""
    return _VERDICT.sub(lambda match: markup(match[0], **COLOURS[Word(match[0])]), text)


def uncaptured(config: pytest.Config) -> AbstractContextManager[None]:
    """Inside, standard error is the one that pytest was started with."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    return contextlib.nullcontext() if capture is None else capture.global_and_fixture_disabled()


def state_of(config: pytest.Config) -> PytestSession:
    """The session of this run of pytest. The first call, perhaps in the middle of collection, reads the
    options."""
    if STATE not in config.stash:
        try:
            options = pytest_options.read(config)
            pytest_marks.register(config, options.gate_files)
            with uncaptured(config):
                shown = progress.on_stderr(is_alone=not xdist_partner.in_worker(config))
                state = PytestSession(options, shown)
                state.check_host()
        except BenchgateError as error:
            raise pytest.UsageError(str(error)) from None
        config.stash[STATE] = state
        if options.plan:
            xdist_partner.stay_here(config)
        config.pluginmanager.register(SessionHooks(state), SESSION)
        config.pluginmanager.register(_FinishHooks(state), f"{SESSION}-finish")
    return config.stash[STATE]


# ---- collection is planning


def plan_items(metafunc: pytest.Metafunc) -> None:
    mistake = pytest_items.plan_items(metafunc, state_of(metafunc.config))
    if mistake:
        pytest.fail(f"{metafunc.definition.name}: {mistake}", pytrace=False)


def pick(session: pytest.Session) -> None:
    """Takes what was collected for what will be measured."""
    items, state = session.items, state_of(session.config)
    picked = pytest_items.cells(items), pytest_items.gates(items), pytest_items.images(items)
    output = getattr(session.config, "workeroutput", None)
    try:
        pytest_marks.check(items)
        state.pick(*picked)
        state.nowhere = pytest_items.nowhere(items)
        state.point_out()
        if output is None and not (state.options.plan or session.config.option.collectonly):
            state.require_oracles()
    except UsageError as error:
        if output is None:
            raise pytest.UsageError(str(error)) from None
        output[COMPLAINT] = str(error)


def take_complaint(node: Any) -> None:
    """Takes that of an xdist worker for the whole session's."""
    state_of(node.config).complaint = node.workeroutput[COMPLAINT]


def require_no_late_mark(item: pytest.Item) -> None:
    """A test fails if a mark is added while it runs, because that is too late for a plan."""
    state_of(item.config)
    if mistake := pytest_marks.mistake(item):
        pytest.fail(mistake, pytrace=False)


# ---- running and reporting


class SessionHooks:
    """Each session registers its own, because some hooks have no session as argument."""

    def __init__(self, state: PytestSession) -> None:
        self._state = state

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if not self._state.options.plan or session.config.option.collectonly:
            return None
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and self._state.picked:
            reporter.write_line(self._state.describe())
        if reporter is not None:
            for node, why in self._state.nowhere.items():
                reporter.write_line(f"SKIP   {node}: {why}")
        try:
            self._state.try_qemus()
        except BenchgateError as error:
            raise pytest.UsageError(str(error)) from None
        return True

    @pytest.hookimpl(wrapper=True, trylast=True)  # before other plugins see the report
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """The reason of a verdict is a failure's whole text. A skip is where the test is, not our code."""
        report = yield
        if call.excinfo is not None and isinstance(call.excinfo.value, NotPassed):
            report.longrepr = str(call.excinfo.value)
        if isinstance(report.longrepr, tuple) and is_ours(report.longrepr[0]):
            path, line = item.reportinfo()[:2]
            report.longrepr = (os.fspath(path), (line or 0) + 1, report.longrepr[2])
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self._state.note_report(ReportLine(report.outcome, _message(report)))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        state = self._state
        if state.complaint:
            session.exitstatus = int(pytest.ExitCode.USAGE_ERROR)
            return
        if not (state.options.plan or session.config.option.collectonly):
            session.exitstatus = state.exit_code(int(exitstatus))

    def pytest_unconfigure(self) -> None:
        self._state.interruptions.release()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None]:
        """The verdict comes after what other plugins print, also where one of them raises."""
        try:
            yield
        finally:
            self._say_verdict(terminalreporter)

    def _say_verdict(self, reporter: Any) -> None:
        text = self._state.summary(reporter._tw.fullwidth)
        if not (self._state.options.plan or reporter.config.option.collectonly):
            text = text or self._state.nothing()
        if text:
            reporter.section("benchgate")
            reporter.write_line(coloured(text, reporter._tw.markup))


class _FinishHooks:
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


def _message(report: pytest.TestReport) -> str:
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return report.longreprtext.strip()
