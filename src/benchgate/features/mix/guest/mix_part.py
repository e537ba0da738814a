"""Verifies what the runs of one part of a mix printed, with the part's own workload, oracle and nonce.

Takes a part, its runs in the order of execution, and the window; gives a `PartRun`. Fails with VerifyError,
which names the part and the run: it ended early, completed nothing, printed no transcript of its own, ran
where it may not, or its answers are wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchgate.base.cells import Window
from benchgate.base.errors import VerifyError
from benchgate.base.system.results import ResultDefinition
from benchgate.base.text import one_line
from benchgate.base.workload.metrics import SECOND_NS
from benchgate.features.mix.guest.mix_lines import PartExecution, PartLine
from benchgate.features.mix.guest.mix_runs import COLD_RUNS, Part, PartRun
from benchgate.judge import wire
from benchgate.judge.checks.transcript_checks import (
    check_books,
    check_echo,
    check_took_time,
    check_window,
    require_cpus,
)
from benchgate.judge.metrics import computed
from benchgate.judge.oracles.oracle import check_answers, reported
from benchgate.judge.wire import Transcript

AS_PROCESS = ResultDefinition(system="native")
"""A part's program takes its manifest from its arguments, as on a host."""
_SIGNAL = 128


@dataclass(frozen=True, slots=True)
class MixPart:
    part: Part
    number: int
    nonce: str
    cpus: int
    """The CPU count of the guest."""
    start: int
    end: int
    """The window, by the guest's clock, in ns."""
    prints: ResultDefinition = AS_PROCESS
    """How its program names its system."""

    def nonce_of(self, run: int) -> str:
        """guest/port/linux/mix/runner.c makes the same nonce."""
        return f"{self.nonce}.p{self.number}.r{run}"

    def wrong(self, what: str) -> VerifyError:
        return VerifyError(f"part {self.part.name}: {what}")


def verify_part(placed: MixPart, line: PartLine, runs: Sequence[PartExecution]) -> PartRun:
    part = placed.part
    use = {name: reading.value for name, reading in line.uses.items()}
    if part.workload is None:
        if runs:
            raise placed.wrong("it is a dummy, but ran a program")
        return PartRun(part.name, Fraction(0), 0, use)
    _check_order(placed, runs)
    starved = starvation(placed, line, runs)
    good = [run for run in runs if run.exit == 0]
    found = [_verified(placed, execution) for execution in good]
    if len(good) <= COLD_RUNS and not starved:
        raise placed.wrong(_too_few(placed, len(good)))
    metrics = {name: tuple(one[name] for one in found) for name in part.workload.metrics if found}
    return PartRun(
        name=part.name,
        score=_score(placed, good, metrics),
        runs=len(good),
        use=use,
        starved=starved,
        run_ns=tuple(execution.end - execution.start for execution in good),
        metrics=metrics,
        unverified=part.workload.tool is not None and not part.workload.tool.verifies,
    )


def _too_few(placed: MixPart, completed: int) -> str:
    length = f"{(placed.end - placed.start) / 1e6:g} ms"
    result = "no run" if not completed else "its first run only, which is cold and does not count,"
    return f"it completed {result} in {length}: give it less to do, or raise `limit_ms`"


def _check_order(placed: MixPart, runs: Sequence[PartExecution]) -> None:
    last = placed.start
    for number, run in enumerate(runs):
        if run.number != number or not last <= run.start < run.end <= placed.end:
            raise placed.wrong(
                f"run {number} is missing, or is not inside the window after the one before it"
            )
        last = run.end


def starvation(placed: MixPart, line: PartLine, runs: Sequence[PartExecution]) -> str:
    """Names the resource of which the part had so little that it ended; empty: it did not end. Any other
    early end is an error."""
    failed = [run for run in runs if run.exit != 0]
    if not failed:
        return ""
    if line.oom_kills and placed.part.limits.memory_bytes is not None:
        return "memory"
    how = f"signal {failed[0].exit - _SIGNAL}" if failed[0].exit > _SIGNAL else f"status {failed[0].exit}"
    raise placed.wrong(f"it ended early: run {failed[0].number} ended with {how}; {_last(failed[0].text)}")


def _last(text: bytes) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return f"it printed last: `{one_line(lines[-1])}`" if lines else "it printed nothing"


def _verified(placed: MixPart, run: PartExecution) -> Mapping[str, float]:
    """The metrics of one run whose answers are right."""
    if len(run.text) != run.size:
        raise placed.wrong(f"run {run.number} printed {run.size} bytes, but {len(run.text)} were reported")
    try:
        return _metrics(placed, run, wire.parse(run.text, nonce=placed.nonce_of(run.number)))
    except VerifyError as error:
        raise placed.wrong(f"run {run.number}: {error}") from None


def _metrics(placed: MixPart, run: PartExecution, transcript: Transcript) -> Mapping[str, float]:
    part, workload = placed.part, placed.part.workload
    assert workload is not None
    check_echo(part.cell, workload, transcript, placed.prints)
    _check_cpus(placed, transcript)
    check_took_time(transcript, workload)
    check_window(transcript)
    hz = transcript.hz or SECOND_NS
    begin, end = (at * SECOND_NS // hz for at in (transcript.total_start, transcript.total_end))
    if not run.start <= begin <= end <= run.end:
        raise VerifyError("its window is not between its start and its end by the conductor's clock")
    check_books(transcript)
    transcript, seen = check_answers(workload, part.params, part.workers, transcript)
    windows = {Window.WORK: seen.work, Window.TOTAL: seen.total}
    return computed(workload.metrics, reported(transcript, seen, windows, transcript.hz))


def _check_cpus(placed: MixPart, transcript: Transcript) -> None:
    part = placed.part
    require_cpus(part.online(placed.cpus), transcript.online)
    allowed = set(part.cpus or range(placed.cpus))
    for report in transcript.reports:
        if not {report.cpu, report.cpu_end} <= allowed:
            raise VerifyError(
                f"worker {report.id} reports that it ran on CPU {report.cpu}, then {report.cpu_end}; "
                f"the CPUs of its part were {', '.join(map(str, sorted(allowed)))}"
            )


def _score(
    placed: MixPart, good: Sequence[PartExecution], metrics: Mapping[str, Sequence[float]]
) -> Fraction:
    """Counts from the end of the last cold run to that of the last completed one: no part of a run counts."""
    counted = len(good) - COLD_RUNS
    if counted < 1:
        return Fraction(0)
    if not placed.part.score:
        return Fraction(counted * SECOND_NS, good[-1].end - good[COLD_RUNS - 1].end)
    values = metrics[placed.part.score][COLD_RUNS:]
    return sum(map(Fraction, values), Fraction(0)) / counted
