"""Asks an oracle: a Python file beside the workload that computes the right answers independently.

The file defines

    def check(params, reports, result) -> None

`params` maps names to values, `reports` is a list of WorkerReport, `result` maps names to numbers. Of a
system that prints answers in its own form, `reports` is empty, and a result that is no number is a text. A
fourth parameter, if it is called `run`, gets an OracleRun: clock, windows and histograms. `check` raises
VerifyError, with a reason that names the worker, if anything that a run reported is wrong. It checks each
worker's values for its task, that the tasks cover the work exactly, that they have equal cost where this is
required, and the result. answers.py has helpers for these checks.

The oracle runs in a process of its own (oracle_process.py), our own oracles too. Takes the file's path and
what a run reported; gives nothing. Fails with VerifyError if the answers are wrong, or if the oracle did
anything but say that they are right; with OracleError if that may be the machine's fault: its process was
killed, exceeded a limit, had no memory, or could not load the file. With BootError or HostError if the host
cannot start its process.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from benchgate.base.cells import Params, ParamValue, Window
from benchgate.base.errors import BootError, HostError, OracleError, UsageError, VerifyError
from benchgate.base.jsonfields import as_json
from benchgate.base.runs import OracleRun, WorkerReport
from benchgate.base.statistics.histogram import Histogram
from benchgate.base.text import one_line
from benchgate.base.workload.metrics import SECOND_NS
from benchgate.base.workload.workloads import Workload
from benchgate.judge.console import tool_result
from benchgate.judge.metrics import MetricSource
from benchgate.judge.oracles.oracle_process import (
    LIMITS,
    NoAnswerError,
    OracleKilledError,
    OracleLimits,
    OracleProcess,
)
from benchgate.judge.wire import Transcript

LONGEST = 600
TRIES = 3
"""Processes that are asked if each is killed, as the host does when it runs out of memory."""
_OTHERWISE = {
    "raised": "the oracle {name} could not check the answers: {text}",
    "returned": "the oracle {name} returned {text}; it must return nothing, or raise VerifyError",
}
_FAILED = {
    "no memory": "the oracle {name} could not check the answers: {text}",
    "unloadable": "the oracle {name} cannot be loaded: {text}",
}


class Oracles:
    """Keeps the process of the last oracle, because the next run usually asks it again: it has imported its
    libraries, and keeps its tables. A process that did not answer properly is never asked again."""

    def __init__(self, limits: OracleLimits = LIMITS) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._known: tuple[Path, int, int] | None = None
        self._process: OracleProcess | None = None

    def check(
        self,
        file: Path,
        params: Mapping[str, ParamValue],
        reports: Sequence[WorkerReport],
        result: Mapping[str, int | str],
        run: OracleRun,
    ) -> None:
        question = {"params": dict(params), "reports": [as_json(report) for report in reports]}
        question |= {"result": dict(result), "run": as_json(run)}
        try:
            with self._lock:
                word, text = self._answer(file, question)
        except NoAnswerError as error:
            raise OracleError(f"the oracle {file.name} gave no answer: {one_line(str(error))}") from None
        if word == "right":
            return
        shown = one_line(text, LONGEST)
        if word == "wrong":
            raise VerifyError(shown or f"the oracle {file.name} refused the answers and gave no reason")
        if word in _FAILED:
            raise OracleError(_FAILED[word].format(name=file.name, text=shown))
        raise VerifyError(_OTHERWISE[word].format(name=file.name, text=shown))

    def load(self, file: Path) -> None:
        """UsageError, with file and line, if the oracle cannot be loaded. A process that does not start, or
        ends instead of answering, is left to the runs that ask it: that can be the host's fault."""
        try:
            with self._lock:
                word, text = self._answer(file, {"loads": True})
        except (NoAnswerError, BootError, HostError):
            return
        except VerifyError as error:
            raise UsageError(str(error)) from None
        if word != "right":
            raise UsageError(f"{file}:{one_line(text, LONGEST)}")

    def close(self) -> None:
        """Ends the process, if there is one. A later question starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def _answer(self, file: Path, question: Mapping[str, object]) -> tuple[str, str]:
        """A process that was killed says nothing of the answers, so another one is asked."""
        for _ in range(TRIES - 1):
            with contextlib.suppress(OracleKilledError):
                return self._ask(file, question)
        try:
            return self._ask(file, question)
        except OracleKilledError as error:
            raise NoAnswerError(f"{error}, in each of {TRIES} tries") from None

    def _ask(self, file: Path, question: Mapping[str, object]) -> tuple[str, str]:
        process = self._process_of(file)
        self._process = None
        word, text = process.ask(question)
        if word in ("right", "wrong"):
            self._process = process
        else:
            process.end()
            if word not in {**_OTHERWISE, **_FAILED}:
                raise NoAnswerError(f"it answered {word!r:.40}")
        return word, text

    def _process_of(self, file: Path) -> OracleProcess:
        """Another file, or one that was changed, is another oracle."""
        try:
            seen = file.stat()
        except OSError:
            raise VerifyError(f"there is no oracle file {file}") from None
        known = (file.absolute(), seen.st_mtime_ns, seen.st_size)
        if self._process is None or known != self._known or not self._process.is_ready:
            self.close()
            try:
                self._process = OracleProcess(file.absolute(), self._limits)
            except OSError as error:
                raise HostError(f"cannot start the process of the oracle {file}: {error.strerror}") from error
            self._known = known
        return self._process


def require_loadable(workloads: Iterable[Workload]) -> None:
    """Loads each workload's oracle once. UsageError with a line for each that cannot be loaded, because no
    run of its workload could be verified."""
    problems = []
    for workload in {one.name: one for one in workloads if one.has_oracle}.values():
        try:
            ORACLES.load(workload.oracle)
        except UsageError as error:
            problems.append(f"the oracle of workload {workload.name} cannot be loaded: {error}")
    if problems:
        raise UsageError("\n".join(problems))


ORACLES = Oracles()
"""The oracles of this process. A session closes them at its end."""
atexit.register(ORACLES.close)


# ---- what a transcript is asked


def check_answers(
    workload: Workload, params: Params, cpus: int, transcript: Transcript
) -> tuple[Transcript, OracleRun]:
    """The transcript with the numbers that an existing program printed, and what the oracle knew."""
    if workload.tool:
        transcript = tool_result.with_result(workload.tool, transcript)
    seen = OracleRun(
        cpus=cpus,
        unit=transcript.unit,
        hz=transcript.hz,
        work=transcript.work_end - transcript.work_start,
        total=transcript.total_end - transcript.total_start,
        by_worker=transcript.histograms,
    )
    if workload.has_oracle:
        ORACLES.check(workload.oracle, dict(params), transcript.reports, transcript.result, seen)
    return transcript, seen


def reported(
    transcript: Transcript,
    seen: OracleRun,
    windows: Mapping[Window, int],
    hz: int | None,
    measured: Mapping[str, Histogram] = MappingProxyType({}),
) -> MetricSource:
    """`windows` are in a unit of which `hz` make one second; `measured` has what the machine measured."""
    in_ns = {window: length * SECOND_NS / hz for window, length in windows.items()} if hz else None
    return MetricSource(
        transcript.reports, transcript.result, seen.histograms, transcript.hz, in_ns, measured
    )
