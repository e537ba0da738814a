"""From a run as it stands on disk to a run whose verifier completed; nothing else makes a VerifiedRun.

Takes a RawRun and its Workload, reads the console in the run's folder, recomputes the answer by the
workload's oracle. Fails with VerifyError, whose message is the run's verdict: what was wrong, and where.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from benchgate import insn, oracle, selftest, wire
from benchgate.errors import BenchgateError, VerifyError
from benchgate.files import read_start
from benchgate.model import _VERIFY_ONLY, Cell, Ending, Lane, RawRun, VerifiedRun, WorkerReport, Workload
from benchgate.plaintext import by_lines, plain
from benchgate.systems import EndBy, Result, ResultFormat, System, plain_name
from benchgate.wire import Transcript

CONSOLE = "serial.log"
UNITS = ("ns", "cycles")
INSN_UNIT = "insn"
"""One instruction of the clock, which is one nanosecond of the guest's time."""
BENCH_RESULT = Result()
EXIT_CODES = (0, 33)
"""Powered off, or left through isa-debug-exit with success."""

FOREIGN_SHARE = 0.005
FOREIGN_FLOOR_NS = 2_000_000
"""CPU time of others, for each CPU, that is never held against a run. The time is counted from before the
first spawn to after the last join, and part of it is done for the workers: the kernel's RCU thread ends what
their starts and exits began: 0.2 to 2.3 ms in all were seen in quiet guests. A task that really competes
takes half of a CPU."""
FOREIGN_FLOOR_TCG_NS = 6_000_000
"""The same under TCG in wall time, where that code runs for the first time and is translated meanwhile: up to
4.3 ms at one CPU were seen on a quiet host. It matters for short windows only; from 1.2 s on a CPU the share
is larger."""
HOST_STALL_NS = 15_000_000
HOST_STALL_SHARE = 0.1
"""The most that stalls of the host may explain: for each CPU, or of the window on all CPUs (the larger).
A guest's clock runs on while the host lets a vCPU wait, and the task that was on it is billed for that: 5 to
84 ms, at most 5%, were seen where 2 would have been right, with five busy programs on a host of two CPUs.
Only as much is allowed as the host counted; where it does not tell, all of it; on the instruction clock
nothing."""

SPAN_RATIO, SPAN_SLACK_NS = 1.5, 1_000_000_000
"""On a wall lane no window is longer than the host saw its machine run. A guest calibrates its clock by
itself, sometimes badly, and the host may have been late to look: therefore so much more is allowed."""
MOST_CYCLES_PER_NS = 10
"""No processor's counter ticks faster than 10 GHz."""
SHORTEST_WINDOW = 10_000
"""In ns or cycles. A wall clock cannot tell what is shorter from the cost of asking it."""


def verify_on(run: RawRun, workload: Workload, system: System) -> VerifiedRun:
    """By the words of the system's YAML: how it prints, and which ends are good."""
    codes = None if system.end_by is EndBy.KILL else system.exit_codes
    console = read_console(run)
    if system.result.format is ResultFormat.PATTERNS:
        found = verify_selftest(run, system.result, online=system.online, exit_codes=codes)
    else:
        found = verify(run, workload, system.result, exit_codes=codes)
        if system.online:
            _check_online(run, console, system.online)
    _check_failures(console, system.failures)
    return found


def verify(
    run: RawRun,
    workload: Workload,
    result: Result = BENCH_RESULT,
    *,
    exit_codes: Collection[int] | None = EXIT_CODES,
) -> VerifiedRun:
    """The run, once its ending, transcript, window and every worker's answer have been found right.

    `result`: what the system says of itself. `exit_codes` None: the status says nothing, as the machine is
    killed after its result.
    """
    console = read_console(run)
    _check_ending(run, console, exit_codes)
    transcript = wire.parse(console, nonce=run.nonce)
    _check_echo(run.cell, workload, transcript, result)
    _check_cpus(run, transcript)
    _check_window(transcript)
    _check_books(transcript)
    _check_answers(run, workload, transcript)
    _check_foreign(run, transcript, result)
    unit, work, total = _window(run, transcript)
    _check_span(run, unit, work, total)
    return VerifiedRun(
        run=run,
        unit=unit,
        work=work,
        total=total,
        foreign=transcript.foreign,
        workers=transcript.reports,
        key=_VERIFY_ONLY,
    )


def verify_selftest(
    run: RawRun, result: Result, *, online: str, exit_codes: Collection[int] | None = EXIT_CODES
) -> VerifiedRun:
    """The same for a system with a fixed self-test, by the answers and patterns of its YAML."""
    console = read_console(run)
    _check_ending(run, console, exit_codes)
    if not online:
        raise VerifyError("the system's YAML names no `console.online`: nothing shows how many CPUs came up")
    _check_online(run, console, online)
    figures = selftest.read(console, result)
    if run.lane is Lane.INSN and read_clock(run).level is not insn.Level.FULL:
        raise VerifyError("a system without marks can be timed by the instruction clock at level full only")
    total = figures.work if figures.total is None else figures.total
    if total < figures.work:
        raise VerifyError(f"the total window ({total}) is shorter than the work window ({figures.work})")
    _check_span(run, figures.unit, figures.work, total)
    return VerifiedRun(
        run=run,
        unit=figures.unit,
        work=figures.work,
        total=total,
        foreign=None,
        workers=(),
        key=_VERIFY_ONLY,
    )


def read_console(run: RawRun) -> bytes:
    path = run.folder / CONSOLE
    try:
        return read_start(path, wire.MAX_CONSOLE_BYTES)
    except OSError as error:
        raise VerifyError(f"the run's console {path} cannot be read: {error.strerror}") from error


def _check_ending(run: RawRun, console: bytes, exit_codes: Collection[int] | None) -> None:
    """A run that did not end well is refused even if its transcript is whole."""
    said = wire.trouble(console)
    why = f"; the guest said `{said}`" if said else ""
    if run.ending is not Ending.DONE:
        detail = f": {run.detail}" if run.detail else ""
        raise VerifyError(f"the run ended with {run.ending}{detail}{why}")
    good = (0,) if run.lane is Lane.NATIVE else exit_codes
    if good is not None and run.exit_status not in good:
        raise VerifyError(f"exit status {run.exit_status} does not mean success{why}")
    if said:
        raise VerifyError(f"the run ended well, but the guest said `{said}`")


def _check_online(run: RawRun, console: bytes, pattern: str) -> None:
    if (came := selftest.online(console, pattern)) != run.cell.cpus:
        raise VerifyError(f"{run.cell.cpus} CPUs were asked for, but {came} came up")


def _check_failures(console: bytes, patterns: Collection[str]) -> None:
    """Who watched the run may have missed one: on the line that another pattern took, or after the result."""
    text = b"\n" + plain(console)
    for pattern in patterns:
        if re.search(by_lines(pattern), text):
            raise VerifyError(f"the run ended well, but its console matches the failure pattern `{pattern}`")


def _check_echo(cell: Cell, workload: Workload, said: Transcript, result: Result) -> None:
    """The console is of this very cell: a wrong binary or a wrong manifest measures something else."""
    known_as = result.system or plain_name(cell.system)
    if said.system != known_as:
        raise VerifyError(
            f"system was {known_as}, but the run was made by {said.system}; where {cell.system} calls "
            f"itself so, its YAML says `system: {said.system}` under `result`"
        )
    asked = {"workload": workload.name, "mode": str(cell.mode), "workers": cell.cpus}
    echoed = {"workload": said.workload, "mode": said.mode, "workers": said.workers}
    asked.update({f"parameter {name}": str(value) for name, value in cell.params})
    echoed.update({f"parameter {name}": value for name, value in said.params.items()})
    for name in sorted(asked.keys() | echoed.keys()):
        if asked.get(name) != echoed.get(name):
            raise VerifyError(f"{name} was {asked.get(name)}, but the run was made with {echoed.get(name)}")
    if said.unit not in UNITS:
        raise VerifyError(f"unit {said.unit} is not known; there are {', '.join(UNITS)}")


def _check_cpus(run: RawRun, said: Transcript) -> None:
    """As many CPUs as asked came up, and workers ran on these."""
    native = run.lane is Lane.NATIVE
    due = min(run.cell.cpus, len(set(run.pins))) if native else run.cell.cpus
    if said.online != due and not (native and not run.pins):
        raise VerifyError(f"{due} CPUs were asked for, but {said.online} came up")
    for report in said.reports:
        given = _cpus_of(run, report.id)
        if not {report.cpu, report.cpu_end} <= given:
            raise VerifyError(
                f"worker {report.id} says it ran on CPU {report.cpu}, then {report.cpu_end}; "
                f"it was given {', '.join(map(str, sorted(given)[:64]))}"
            )


def _cpus_of(run: RawRun, worker: int) -> set[int]:
    """A native worker is pinned to a CPU of the host; a guest's kernel may place it on any of the guest's."""
    if run.lane is not Lane.NATIVE:
        return set(range(run.cell.cpus))
    return {run.pins[worker % len(run.pins)]} if run.pins else set(range(2**16))


def _check_window(said: Transcript) -> None:
    """The window is what the workers' own times make it, and total encloses work."""
    for report in said.reports:
        if report.end < report.start or (report.end == report.start and not _is_idle(report)):
            raise VerifyError(
                f"worker {report.id} ended ({report.end}) no later than it started ({report.start})"
            )
        if report.start < said.total_start or report.end > said.total_end:
            raise VerifyError(f"worker {report.id} ran outside the total window")
    first = min(report.start for report in said.reports)
    last = max(report.end for report in said.reports)
    if (said.work_start, said.work_end) != (first, last):
        raise VerifyError(
            f"the work window {said.work_start}..{said.work_end} is not the workers' own, {first}..{last}"
        )


def _window(run: RawRun, said: Transcript) -> tuple[str, int, int]:
    """The timed window: the guest's own, or on the instruction clock the marks', held against the guest's."""
    if run.lane is not Lane.INSN:
        return said.unit, said.work_end - said.work_start, said.total_end - said.total_start
    log = read_clock(run)
    seen = insn.window(log, run.cell.cpus)
    insn.agree(log, seen, said.reports, unit=said.unit, total=said.total_end - said.total_start)
    return INSN_UNIT, seen.work, seen.total


def _check_span(run: RawRun, unit: str, work: int, total: int) -> None:
    """The window fits into what the host itself saw of the run: a guest's clock is not trusted either."""
    if run.lane is Lane.INSN:
        log = read_clock(run)
        if log.end is not None and total > log.end:
            raise VerifyError(
                f"the window has {total} {unit}, but the instruction clock ended at {log.end} ns"
            )
        return
    if work < SHORTEST_WINDOW:
        raise VerifyError(
            f"a work window of {work} {unit} is too short for a wall clock; at least {SHORTEST_WINDOW} are "
            "needed: give the workload more to do, or take --clock insn"
        )
    if run.host_span_ns is None:
        raise VerifyError("the host did not see how long the machine ran, so nothing bounds its window")
    most = SPAN_RATIO * run.host_span_ns + SPAN_SLACK_NS
    if total > most * (1 if unit == "ns" else MOST_CYCLES_PER_NS):
        raise VerifyError(
            f"the window has {total} {unit}, but by the host's clock the whole machine ran for "
            f"{run.host_span_ns} ns only: the guest's clock is wrong"
        )


def read_clock(run: RawRun) -> insn.ClockLog:
    """The run's clock log, once it is seen to be of this run and of a clock that did not refuse."""
    if run.clock_log is None:
        raise VerifyError("the instruction clock left no log")
    log = insn.read_log(run.clock_log)
    if log.problem:
        raise VerifyError(f"the instruction clock: {log.problem}")
    if log.seed != run.seed:
        raise VerifyError(f"the instruction clock ran with seed {log.seed}, not {run.seed}")
    return log


def _is_idle(report: WorkerReport) -> bool:
    """Without work, one may end in the tick of the clock it began in; the oracle sees that none was due."""
    return "lo" in report.values and report.values["lo"] == report.values.get("hi")


def _check_answers(run: RawRun, workload: Workload, said: Transcript) -> None:
    """By the oracle. It says that something is wrong by VerifyError alone: one that falls over what a run
    reported has not found it right, nor has one that gives an answer where nobody looks."""
    check = oracle.load(workload.oracle, workload.source.parent)
    try:
        answer: object = check(dict(run.cell.params), said.reports, said.result)
    except BenchgateError:
        raise
    except Exception as error:  # whatever a user's program can do wrong
        why = f"{type(error).__name__}: {error}"
        raise VerifyError(f"the oracle {workload.oracle} could not check the answers: {why:.200}") from error
    if answer is not None:
        raise VerifyError(
            f"the oracle {workload.oracle} gave {answer!r:.80} back; a check gives nothing, or VerifyError"
        )


def _check_books(said: Transcript) -> None:
    for book in said.balances:
        if book.left != book.right:
            raise VerifyError(
                f"the guest's books do not balance: {book.name}: {book.left} is not {book.right}"
            )


def foreign_limit(run: RawRun, said: Transcript) -> float:
    """How much CPU time of others a run may hold, over all its CPUs."""
    capacity = (said.work_end - said.work_start) * said.online
    share = FOREIGN_SHARE * capacity
    if said.unit != "ns":
        return share
    stall = max(HOST_STALL_NS * said.online, HOST_STALL_SHARE * capacity)
    if run.lane is Lane.INSN:
        stall = 0.0
    elif run.host_delay_ns is not None:
        stall = min(stall, run.host_delay_ns)
    floor = FOREIGN_FLOOR_TCG_NS if run.lane is Lane.TCG else FOREIGN_FLOOR_NS
    return max(share, floor * said.online) + stall


def _check_foreign(run: RawRun, said: Transcript, result: Result) -> None:
    if said.foreign is None:
        if result.counts_foreign:
            raise VerifyError(
                "the guest did not count the CPU time of others (foreign time=na), so nothing shows that it "
                "was quiet; a system that cannot count it says `foreign: na` under `result` in its YAML"
            )
        return
    limit = foreign_limit(run, said)
    if said.foreign > limit:
        capacity = (said.work_end - said.work_start) * said.online
        raise VerifyError(
            f"the guest was not quiet: others used {said.foreign} {said.unit} of CPU time, "
            f"{said.foreign / capacity:.1%} of the work window; at most {limit:.0f} is allowed"
        )
