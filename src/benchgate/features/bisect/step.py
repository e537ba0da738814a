"""One step of a bisect: pytest measures GOOD and another commit in one session, or a workload of one commit.

Takes the question, the systems of both commits and an empty folder; gives the `BisectStep`. The session's
folder and pytest's output stay in the folder. This module is also the plugin of the step's pytest: it writes
down the error of benchgate that ended pytest. Fails with UsageError if the step says nothing of the commit:
pytest could not begin, or its tests do not measure it. A build that fails is no error: the commit is skipped.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.errors import BenchgateError, BuildError, UsageError
from benchgate.base.files import read_json
from benchgate.base.gates import Word
from benchgate.base.interrupts import held
from benchgate.base.jsonfields import read
from benchgate.base.process import start
from benchgate.base.system.systems import System
from benchgate.base.text import one_line
from benchgate.evidence.files import SESSION, read_object, read_text
from benchgate.evidence.session_folder import SESSION_NAME, VERDICTS
from benchgate.features.bisect.state import BisectQuestion, BisectStep, Term
from benchgate.judge.gates import ratio
from benchgate.plan import catalog, mark_table
from benchgate.session import inner_pytest

PLUGIN = "benchgate.features.bisect.step"
_WALKED = "benchgate-walked-workload"
_OUTPUT, _ENDED = "pytest.log", "ended.json"
_MEASURED = (0, 1, 5, 75)
"""The exit statuses of a session that has come to its end (session/exit_codes.py)."""
_GRACE_S = 60.0
"""An interrupted session has so many seconds to end its guest and write its reports."""
_LONGEST = 500
_TERMS = {Word.FAIL: Term.BAD, Word.INVALID: Term.SKIP, Word.INCONCLUSIVE: Term.SKIP, Word.PASS: Term.GOOD}
"""What a verdict says of its commit, the strongest first."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What a step measures: A and B. For GOOD itself there is only A."""

    good: System
    other: System | None
    words: tuple[str, ...] = ()
    """The words of --system that name them."""
    workload: Path | None = None
    """The YAML of the walked workload as this commit has it; None if a system is walked."""

    @property
    def tested(self) -> System:
        return self.good if self.other is None else self.other

    @property
    def letters(self) -> Mapping[str, str]:
        return {} if self.other is None else {"A": self.good.name, "B": self.other.name}


@dataclass(frozen=True, slots=True)
class _PytestError:
    """The error of benchgate that ended pytest, as its plugin writes it; empty if there was none."""

    error: str = ""
    text: str = ""


def run(question: BisectQuestion, pair: Pair, commit: str, folder: Path) -> BisectStep:
    status, ended = _pytest(question, pair, folder)
    text = one_line(ended.text, _LONGEST)
    if ended.error == BuildError.__name__:
        return BisectStep(commit, Term.SKIP, f"it does not build: {text}")
    session = _session_in(folder)
    if status not in _MEASURED or session is None:
        what = text or _last_error(folder) or "see its output"
        where = f"output: {folder / _OUTPUT}"
        raise UsageError(f"testing {commit[:10]}: pytest ended with status {status}: {what}; {where}")
    letters = read_object(session, SESSION).get("letters", {})
    if letters != dict(pair.letters):
        advice = "remove --system from the tests' own options (addopts)"
        raise UsageError(f"testing {commit[:10]}: the session has other systems, {letters!r:.200}; {advice}")
    term, why = judged(_verdicts(session), pair)
    return BisectStep(commit, term, why, str(session.relative_to(folder.parent.parent)))


def judged(verdicts: Sequence[Mapping[str, Any]], pair: Pair) -> tuple[Term, str]:
    """What the verdicts on the tested commit say of it. One FAIL is enough."""
    mine = [verdict for verdict in verdicts if verdict.get("system") == pair.tested.name]
    for word, term in _TERMS.items():
        if reasons := [str(verdict.get("reason")) for verdict in mine if verdict.get("outcome") == word]:
            return term, one_line(reasons[0], _LONGEST)
    if pair.other is None and mine and all(verdict.get("gate") == ratio.KIND for verdict in mine):
        return Term.GOOD, "it is what the other commits are compared with"
    if mine:
        return Term.SKIP, one_line(f"nothing was decided: {mine[0].get('reason')}", _LONGEST)
    raise UsageError(f"no gate of these tests is on {pair.tested.name}; name tests without a mark `system`")


def _pytest(question: BisectQuestion, pair: Pair, folder: Path) -> tuple[int, _PytestError]:
    """The exit status, and what ended it."""
    systems = [f"--system={word}" for word in pair.words]
    words = [*question.arguments, *systems, f"--reports={folder}", "--keep=0"]
    words += [f"--{_WALKED}={question.workload}:{pair.workload}"] if pair.workload else []
    argv = inner_pytest.argv(PLUGIN, folder / _ENDED, words)
    with contextlib.ExitStack() as stack:
        output = stack.enter_context((folder / _OUTPUT).open("wb"))
        nothing = stack.enter_context(Path(os.devnull).open("rb"))
        with held():
            said = output.fileno()  # in its 80 columns pytest cuts the line that says what it refused
            child = start(
                argv,
                {**os.environ, "COLUMNS": str(_LONGEST)},
                stdin=nothing.fileno(),
                stdout=said,
                stderr=said,
            )
            stack.callback(child.stop, _GRACE_S)
        child.wait(float("inf"))
    status = child.exit_status
    if status is None or status < 0:
        raise UsageError(f"pytest was killed (status {status}); output: {folder / _OUTPUT}")
    if not (folder / _ENDED).exists():  # it could not begin
        return status, _PytestError()
    return status, read(_PytestError, read_json(read_text(folder, _ENDED)), "a step")


def _last_error(folder: Path) -> str:
    """What pytest itself refused, such as a mark without an argument; empty if no line says so."""
    lines = read_text(folder, _OUTPUT).splitlines()
    said = (line.removeprefix("ERROR") for line in reversed(lines) if line.startswith(("ERROR ", "ERROR: ")))
    return one_line(next(said, "").lstrip(": "), _LONGEST)


def _session_in(folder: Path) -> Path | None:
    sessions = [path for path in folder.glob("runs/*") if SESSION_NAME.fullmatch(path.name)]
    return sessions[0] if len(sessions) == 1 else None


def _verdicts(session: Path) -> list[Mapping[str, Any]]:
    try:
        written = read_json(read_text(session, VERDICTS))
    except ValueError as error:
        raise UsageError(f"{session / VERDICTS} is not JSON: {error}") from error
    verdicts = written if isinstance(written, list) else []
    return [verdict for verdict in verdicts if isinstance(verdict, Mapping)]


# ---- in the step's pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    inner_pytest.declare(parser)
    about = "a workload's YAML, and the one that takes its place in the tests"
    parser.addoption(f"--{_WALKED}", dest=_WALKED, metavar="YAML:YAML", help=about)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, obj: object) -> None:
    """The marks of the test, its class and its module name the workload of the commit."""
    pair = collector.config.getoption(_WALKED)
    if not pair:
        return
    here, there = pair.split(":")
    for marks in (collector.own_markers, getattr(obj, "pytestmark", None)):
        if isinstance(marks, list):
            marks[:] = [_walked(mark, here, there) for mark in marks]


def _walked(given: pytest.Mark | pytest.MarkDecorator, here: str, there: str) -> pytest.Mark:
    """A mark that names no workload stays: what reads it says so."""
    mark = given.mark if isinstance(given, pytest.MarkDecorator) else given
    if mark.name != mark_table.WORKLOAD.name or not _names(mark, Path(here)):
        return mark
    moved: pytest.MarkDecorator = pytest.mark.workload(there, *mark.args[1:], **mark.kwargs)
    return moved.mark


def _names(mark: pytest.Mark, file: Path) -> bool:
    with contextlib.suppress(BenchgateError, IndexError):
        return catalog.load_workload(str(mark.args[0])).file == file
    return False


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Watcher())


class _Watcher:
    def __init__(self) -> None:
        self._error: BenchgateError | None = None

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        cause = excinfo.value.__context__
        if isinstance(cause, BenchgateError):
            self._error = cause

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        error = self._error
        kind, text = ("", "") if error is None else (type(error).__name__, str(error))
        inner_pytest.answer(config, json.dumps({"error": kind, "text": text}).encode())
