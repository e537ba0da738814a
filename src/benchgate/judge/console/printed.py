"""The answers and figures of a run whose console does not use the wire format.

Takes the run's files, the guest's output and the system; gives `PrintedResult`. On wall time it gives why it
is not known that each vCPU took part, and then the run is void: a guest that prints its own figures could
claim CPUs that never ran. Fails with VerifyError: an answer or a figure is missing, ambiguous or wrong, or
the instruction clock contradicts a figure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from benchgate.base.cells import Lane, Window
from benchgate.base.errors import VerifyError
from benchgate.base.runs import CpuWork
from benchgate.base.system.results import (
    LineWindow,
    ResultDefinition,
    ResultFormat,
    ResultPattern,
    WindowSource,
)
from benchgate.base.system.systems import System
from benchgate.base.workload.metrics import SECOND_NS
from benchgate.base.workload.workloads import Workload
from benchgate.judge.console import bench_lines, patterns
from benchgate.judge.console.console_clock import ConsoleClock
from benchgate.judge.console.output import GuestOutput
from benchgate.judge.console.patterns import PrintedFigure, PrintedFigures
from benchgate.judge.cpu_use import LEAST_SHARE, shortest_ns
from benchgate.judge.metrics import MetricSource, computed
from benchgate.judge.noise import vcpu_time
from benchgate.judge.run_files import RunFiles

_WHOLE = re.compile(r"-?[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class PrintedResult:
    figures: PrintedFigures
    answers: Mapping[str, str]
    """The printed texts by name. Those of a self-test were compared with its YAML."""
    cpu_work: CpuWork = field(default_factory=CpuWork)
    """The instruction clock knows this; nothing is known on other lanes."""

    @property
    def values(self) -> Mapping[str, int | str]:
        """The answers for an oracle: numbers where they are whole ones."""
        return {name: int(text) if _WHOLE.fullmatch(text) else text for name, text in self.answers.items()}


def read(files: RunFiles, output: GuestOutput, system: System) -> PrintedResult:
    result, clock = system.result, None
    if files.run.lane is Lane.INSN:
        clock = _clock(files, output)
    if result.format is ResultFormat.BENCH_LINES:
        printed_figures = bench_lines.read(output.text, result)
        if clock is None:
            return PrintedResult(printed_figures, {})
        return _operations(output, result, printed_figures, clock)
    answers = patterns.answers(output, result.answers, system.script)
    if result.expect is not None:
        patterns.check_answers(answers, result.expect)
    seen = figures(output, result, clock)
    if clock is None or result.work is None:
        return PrintedResult(seen, answers)
    work = clock.lines("work", result.work)
    used = dict.fromkeys(Window, clock.used(work, seen.work))
    if result.total is not None and seen.total is not None:
        used[Window.TOTAL] = clock.used(clock.lines("total", result.total), seen.total)
    outside = clock.outside(work, seen.work, patterns.last_answer(output, result.answers, system.script))
    return PrintedResult(seen, answers, CpuWork(used, outside))


def _operations(
    output: GuestOutput, result: ResultDefinition, printed_figures: PrintedFigures, clock: ConsoleClock
) -> PrintedResult:
    operations = bench_lines.parse(output.text)
    clock.check_operations(operations)
    listed = [operations.measured[name] for name in result.operations if name in operations.measured]
    used = dict.fromkeys(Window, clock.used_by(listed))
    return PrintedResult(replace(printed_figures, late=clock.late_in(listed)), {}, CpuWork(used))


def _clock(files: RunFiles, output: GuestOutput) -> ConsoleClock:
    clock = ConsoleClock(files.clock, files.console, output)
    clock.check_vcpus(files.run.cell.cpus)
    return clock


def span(files: RunFiles, output: GuestOutput, result: ResultDefinition) -> tuple[int, int] | None:
    """How many bytes the console had where the work window begins, and where it ends, at lines that the
    instruction clock has logged. None: it lies between marks."""
    if result.is_marked:
        return None
    clock = _clock(files, output)
    if result.format is ResultFormat.BENCH_LINES:
        known = bench_lines.parse(output.text).measured
        listed = [known[name] for name in result.operations if name in known]
        if not listed:
            raise VerifyError("the program measured none of its operations")
        first, last = min(of.after for of in listed), max(of.line for of in listed)
        return clock.span(clock.record(first), clock.record(last))
    if result.work is None:
        raise VerifyError("the system's YAML has no work window (`result.work`)")
    return clock.span(*clock.lines("work", result.work))


def metrics(workload: Workload, seen: PrintedResult, total: int) -> Mapping[str, float]:
    """Computes the workload's metrics from the answers that are numbers."""
    windows = {Window.WORK: float(seen.figures.work), Window.TOTAL: float(total)}
    is_time = seen.figures.unit == "ns"
    numbers = {name: value for name, value in seen.values.items() if isinstance(value, int)}
    hz = SECOND_NS if is_time else None
    return computed(workload.metrics, MetricSource((), numbers, {}, hz, windows if is_time else None))


def figures(output: GuestOutput, result: ResultDefinition, clock: ConsoleClock | None) -> PrintedFigures:
    """Gives the windows; if `clock` is None, the run was on wall time."""
    if result.work is None:
        raise VerifyError("the system's YAML has no pattern for the work window (`result.work`)")
    work = _window(output, "work", result.work, clock)
    if result.total is None:
        return PrintedFigures(work.unit, work.value, None, step=work.step, late=work.late, unused=work.unused)
    total = _window(output, "total", result.total, clock)
    if total.unit != work.unit:
        raise VerifyError(f"work is in {work.unit} and total in {total.unit}: they must share a clock")
    step = max(work.step, total.step)
    return PrintedFigures(
        work.unit,
        work.value,
        total.value,
        step=step,
        late=work.late,
        total_late=total.late,
        unused=work.unused or total.unused,
    )


def _window(
    output: GuestOutput, what: str, source: WindowSource, clock: ConsoleClock | None
) -> PrintedFigure:
    if isinstance(source, ResultPattern):
        figure = patterns.figure(output, what, source)
        return figure if clock is None else clock.checked(what, source, figure)
    if clock is None:
        raise VerifyError(
            f"{what}: only the instruction clock times lines and marks: use --clock insn, or have the kernel "
            "print a figure"
        )
    if isinstance(source, LineWindow):
        return clock.between_lines(what, source)
    return clock.between_marks(what)


# ---- on wall time: did each vCPU run?


def check_threads(files: RunFiles, unit: str, work: int) -> str:
    """Gives an empty text if each vCPU took part. A thread's time also has what the vCPU did before the
    window, and its waits for a busy host, so this refuses too little, never too much."""
    cpus = files.run.cell.cpus
    if cpus == 1:
        return ""
    window_ns = shortest_ns(work, unit)
    ran = vcpu_time(files.moments, window_ns)
    if ran is None or len(ran) != cpus:
        return (
            f"nothing shows that each of its {cpus} CPUs worked, because the host could not read the time of "
            "their threads between the guest's figure and its end; let the guest stay until it is stopped "
            "(`end: {by: kill}`), or use --clock insn"
        )
    least = LEAST_SHARE * window_ns / cpus
    for vcpu, time_ns in enumerate(ran):
        if time_ns < least:
            raise VerifyError(
                f"work: the row counts {cpus} CPUs and its window is {work} {unit} long, but until the guest "
                f"printed that figure the thread of vCPU {vcpu} ran or waited for the host for only "
                f"{time_ns} ns: that CPU did not take part in the work"
            )
    return ""
