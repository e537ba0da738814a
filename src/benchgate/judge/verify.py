"""Verifies a run from its files; only this module makes a VerifiedRun.

Takes a RawRun and its Workload; reads the run's files, has the workload's oracle recompute the answer, and
gives a VerifiedRun, which has the metrics and says if the host disturbed it more than `rule` allows. Fails
with VerifyError; its message says what is wrong with the run, and where.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from benchgate import hooks
from benchgate.base.cells import Lane, Window
from benchgate.base.console_text import by_lines, plain
from benchgate.base.errors import OracleError, UnusedCpuError, VerifyError
from benchgate.base.exploration import Exploration
from benchgate.base.runs import _VERIFY_ONLY, CpuWork, Ending, OracleRun, RawRun, Resolution, VerifiedRun
from benchgate.base.system.boots import WORKLOAD_INITRD, EndBy
from benchgate.base.system.qemu import host_ports
from benchgate.base.system.results import ResultDefinition, ResultFormat
from benchgate.base.system.script import port_values, values_of
from benchgate.base.system.systems import System
from benchgate.base.void_rule import NO_RULE, VoidRule
from benchgate.base.workload.metrics import SECOND_NS
from benchgate.base.workload.workloads import Workload
from benchgate.insn.window import agree
from benchgate.judge import cpu_use, wire
from benchgate.judge.checks.agreement import check_agreement
from benchgate.judge.checks.balance import check_balance
from benchgate.judge.checks.counts_balance import check_counts
from benchgate.judge.checks.foreign import check_foreign
from benchgate.judge.checks.linux_kernel import check_kernel, hint
from benchgate.judge.checks.measured import measured
from benchgate.judge.checks.thread_record import with_threads
from benchgate.judge.checks.transcript_checks import (
    check_books,
    check_cpus,
    check_echo,
    check_started,
    check_took_time,
    check_window,
    require_cpus,
)
from benchgate.judge.checks.witness import witnessed
from benchgate.judge.console import patterns, printed
from benchgate.judge.console.output import GuestOutput, of_console, of_conversation
from benchgate.judge.console.patterns import PrintedFigures
from benchgate.judge.console.printed import check_threads
from benchgate.judge.cpu_use import may_sleep
from benchgate.judge.metrics import computed, without_value
from benchgate.judge.noise import NOT_KNOWN, disturbance, excess, is_judged
from benchgate.judge.oracles.oracle import ORACLES, check_answers, reported
from benchgate.judge.run_files import ARGV, RunFiles
from benchgate.judge.wire import MAX_HZ, Transcript

INSN_UNIT = "insn"
"""One instruction on the instruction clock, which is one nanosecond of guest time."""
BENCH_RESULT = ResultDefinition()
EXIT_CODES = (0, 33)
"""Power-off, and success through isa-debug-exit."""

SPAN_RATIO, SPAN_SLACK_NS = 1.5, 1_000_000_000
"""A window on a wall lane cannot be longer than the guest ran by the host's clock. The tolerance is large,
because a guest may calibrate its clock badly and the host may sample late."""
SHORTEST_WINDOW = 10_000
"""The unit is ns or cycles. The cost of reading a wall clock matters in a shorter window."""


def verify_on(
    run: RawRun,
    workload: Workload,
    system: System,
    rule: VoidRule = NO_RULE,
    *,
    exploration: Exploration | None = None,
) -> VerifiedRun:
    """Verifies by the settings of the system's YAML: its output format, and the exit codes for success.

    `exploration`: how its vCPUs must have been stalled; then the result is for whoever explores. None: it may
    be a sample, so an explored run is refused."""
    return verify_files(RunFiles(run), workload, system, rule, exploration)


def verify_files(
    files: RunFiles,
    workload: Workload,
    system: System,
    rule: VoidRule = NO_RULE,
    exploration: Exploration | None = None,
) -> VerifiedRun:
    """Does the same for a run whose files somebody reads on."""
    try:
        return _verified_on(files, workload, system, rule, exploration)
    except OracleError:
        raise
    except VerifyError as error:
        ours = system.boot.initrd == WORKLOAD_INITRD
        more = hint(files.run, files.console, str(error), system) if ours else ""
        if not more:
            raise
        raise type(error)(f"{error}{more}") from error


def _verified_on(
    files: RunFiles, workload: Workload, system: System, rule: VoidRule, exploration: Exploration | None
) -> VerifiedRun:
    run, codes = files.run, None if system.end.by is EndBy.KILL else system.end.exit_codes
    if system.result.format is not ResultFormat.BENCH:
        verified = verify_printed(files, workload, system, exit_codes=codes, rule=rule)
        if run.lane is not Lane.INSN and not verified.void:
            unseen = check_threads(files, verified.unit, verified.work)
            used = cpu_use.of_printed(files, verified.unit, verified.work, verified.total)
            verified = replace(verified, void=unseen, cpu_work=CpuWork(used))
    else:
        verified = verify(
            files,
            workload,
            system.result,
            exit_codes=codes,
            rule=rule,
            step_ns=system.arch.clock_step_ns,
        )
        output = output_of(files, system)
        if system.console.counts_cpus:
            require_cpus(run.cell.cpus, patterns.online_cpus(output, system))
    check_failures(files.console, system.console.failures)
    check_kernel(files.console, system)
    check_agreement(files, system, exploration)
    if run.lane is Lane.INSN:
        check_balance(files.clock)
        check_counts(files.clock)
        check_started(files.clock, files.start)
    start = None if files.start is None else (files.start.boot, files.start.digest)
    verified = with_threads(verified, files, workload)
    for check in hooks.run_checks(workload.program):
        verified = check(verified, files, workload)
    verified = replace(verified, arch=system.arch.name, start=start)
    return replace(verified, promises=witnessed(verified, files, workload, system))


def output_of(files: RunFiles, system: System) -> GuestOutput:
    """What the guest printed; at a prompt, after the conversation was repeated."""
    if system.script is None:
        return of_console(files.console)
    try:
        hosts = host_ports(files.argv, system.ports)
    except ValueError as error:
        raise VerifyError(f"{ARGV}: {error}") from None
    values = {**values_of(files.run.cell, files.run.nonce), **port_values(hosts)}
    script = system.script.filled(values)
    return of_conversation(files.console, script, files.typed)


def verify(  # noqa: PLR0913 - keyword arguments
    files: RunFiles,
    workload: Workload,
    result: ResultDefinition = BENCH_RESULT,
    *,
    exit_codes: Collection[int] | None = EXIT_CODES,
    rule: VoidRule = NO_RULE,
    step_ns: int = 1,
) -> VerifiedRun:
    """The run, if its ending, transcript, window and every worker's answer are right.

    `result`: the settings of the system's YAML. `exit_codes` None: the exit status is not checked, because
    the guest is killed after its result. `step_ns`: of the processor's clock.
    """
    run = files.run
    check_ending(files, exit_codes)
    transcript = files.transcript
    check_echo(run.cell, workload, transcript, result)
    check_cpus(run, transcript)
    if run.lane is not Lane.INSN:
        check_took_time(transcript, workload)
    check_window(transcript)
    check_books(transcript)
    transcript, seen = check_answers(workload, run.cell.params, run.cell.cpus, transcript)
    unit, work, total, lead = _window(files, transcript)
    void = _void(files, rule, transcript, result)
    used, unseen = ({}, void) if void else cpu_use.of_wire(files, transcript, workload, work, total)
    void = void or unseen
    check_span(files, unit, work, total, transcript.hz, void=void)
    hz = SECOND_NS if unit == INSN_UNIT else transcript.hz
    own = measured(files, workload, transcript, step_ns)
    figures = reported(transcript, seen, {Window.WORK: work, Window.TOTAL: total}, hz, own)
    return VerifiedRun(
        run=run,
        unit=unit,
        work=work,
        total=total,
        foreign=transcript.foreign,
        workers=transcript.reports,
        key=_VERIFY_ONLY,
        resolution=_resolution(files),
        void=void,
        metrics=computed(workload.metrics, figures),
        absent=without_value(workload.metrics, figures),
        unverified=workload.tool is not None and not workload.tool.verifies,
        histograms={**seen.histograms, **own},
        measured=frozenset(own),
        hz=transcript.hz,
        result=transcript.result,
        lead=lead if 0 <= lead <= total - work else None,
        cpu_work=CpuWork(
            used,
            sleeps=may_sleep(workload),
            takes_turns=bool(workload.services) or len(transcript.reports) not in (0, run.cell.cpus),
            programs=cpu_use.of_programs(files),
        ),
    )


def verify_printed(
    files: RunFiles,
    workload: Workload,
    system: System,
    *,
    exit_codes: Collection[int] | None = EXIT_CODES,
    rule: VoidRule = NO_RULE,
) -> VerifiedRun:
    """Verifies a system that prints figures and answers in its own form, by the patterns of its YAML."""
    check_ending(files, exit_codes)
    output = output_of(files, system)
    _check_online(files, output, system)
    seen = printed.read(files, output, system)
    figures = seen.figures
    total = figures.work if figures.total is None else figures.total
    if total < figures.work:
        raise VerifyError(f"the total window ({total}) is shorter than the work window ({figures.work})")
    void = _void(files, rule)
    check_span(files, figures.unit, figures.work, total, void=void)
    if workload.has_oracle:
        asked = OracleRun(files.run.cell.cpus, figures.unit, None, figures.work, total, {})
        ORACLES.check(workload.oracle, dict(files.run.cell.params), (), seen.values, asked)
    if figures.unused:  # a wrong answer says more
        raise UnusedCpuError(figures.unused)
    return VerifiedRun(
        run=files.run,
        unit=figures.unit,
        work=figures.work,
        total=total,
        foreign=None,
        workers=(),
        key=_VERIFY_ONLY,
        resolution=_resolution(files, figures),
        void=void,
        metrics={**figures.metrics, **printed.metrics(workload, seen, total)},
        skipped=figures.skipped,
        cpu_work=seen.cpu_work,
    )


def _check_online(files: RunFiles, output: GuestOutput, system: System) -> None:
    """Checks that as many CPUs came up as the row counts. The clock's window shows it by itself: each vCPU
    must have worked in it."""
    console, lane = system.console, files.run.lane
    if console.counts_cpus:
        require_cpus(files.run.cell.cpus, patterns.online_cpus(output, system))
    elif not console.by_clock:
        raise VerifyError("the system's YAML has no `console.online`, so nothing shows how many CPUs came up")
    elif lane is not Lane.INSN:
        raise VerifyError(
            "`console.online: clock` shows on the instruction clock only how many CPUs came up, and this run "
            f"is on lane {lane}: use --clock insn, or give a pattern"
        )


def _void(
    files: RunFiles,
    rule: VoidRule,
    transcript: Transcript | None = None,
    result: ResultDefinition = BENCH_RESULT,
) -> str:
    """How the host disturbed the run more than the rule allows. The figures play no part."""
    run = files.run
    seen = NOT_KNOWN if run.lane is Lane.INSN else disturbance(files)
    disturbed = excess(seen, rule)
    foreign = check_foreign(run, transcript, result, seen, disturbed) if transcript else ""
    return disturbed or foreign if is_judged(run) else ""


def check_ending(files: RunFiles, exit_codes: Collection[int] | None) -> None:
    """A run that did not end with success is refused, even if its transcript is complete."""
    run, failure = files.run, wire.failure_line(files.console)
    why = f"; the guest printed `{failure}`" if failure and failure not in run.detail else ""
    if run.ending is not Ending.DONE:
        detail = f": {run.detail}" if run.detail else ""
        raise VerifyError(f"the run ended with {run.ending}{detail}{why}")
    good = (0,) if run.lane is Lane.NATIVE else exit_codes
    if good is not None and run.exit_status not in good:
        raise VerifyError(f"exit status {run.exit_status} does not mean success{why}")
    if failure:
        raise VerifyError(f"the run ended with success, but the guest printed `{failure}`")


def check_failures(console: bytes, failures: Collection[str]) -> None:
    """The live watcher can miss a failure on a line that another pattern consumed, or after the result."""
    text = b"\n" + plain(console)
    for pattern in failures:
        if re.search(by_lines(pattern), text):
            raise VerifyError(
                f"the run ended with success, but its console matches the failure pattern `{pattern}`"
            )


def _window(files: RunFiles, transcript: Transcript) -> tuple[str, int, int, int]:
    """The unit, the work window, the total window, and how long before the first the second began. On the
    instruction clock they come from the marks, and must agree with the guest's report."""
    total = transcript.total_end - transcript.total_start
    if files.run.lane is not Lane.INSN:
        start = transcript.work_start
        return transcript.unit, transcript.work_end - start, total, start - transcript.total_start
    marked = files.marked
    agree(marked, transcript.reports, hz=transcript.hz, total=total)
    return INSN_UNIT, marked.work, marked.total, marked.work_begin - marked.total_begin


def _resolution(files: RunFiles, printed: PrintedFigures | None = None) -> Resolution | None:
    """What neither the clock nor the figure that the guest printed resolves of the window."""
    known = files.clock.resolution if files.run.lane is Lane.INSN else None
    if printed is None:
        return known
    if known and printed.late:
        known = replace(known, handovers=printed.late.handovers, late=printed.late.late)
    if known and printed.total_late:
        known = replace(known, late_in_total=printed.total_late.late)
    return replace(known or Resolution(0, 0, 0), printed=printed.step) if printed.step else known


def check_span(  # noqa: PLR0913 - keyword arguments
    files: RunFiles, unit: str, work: int, total: int, hz: int | None = None, *, void: str
) -> None:
    """The window must fit into the time that the host measured, because a guest's clock is untrusted. A run
    that is void counts in no case; a host that starves a guest can make it measure its own clock wrongly."""
    run = files.run
    if run.lane is Lane.INSN:
        end = files.clock.end
        if end is not None and total > end:
            raise VerifyError(
                f"the window is {total} {unit} long, but the instruction clock ended at {end} ns"
            )
        return
    if work < SHORTEST_WINDOW:
        raise VerifyError(
            f"a work window of {work} {unit} is too short for a wall clock; at least {SHORTEST_WINDOW} is "
            "needed: give the workload more to do, or use --clock insn"
        )
    if run.host_span_ns is None:
        raise VerifyError("the host did not measure how long the guest ran, so its window cannot be checked")
    most = SPAN_RATIO * run.host_span_ns + SPAN_SLACK_NS
    if total > most * (1 if unit == "ns" else (hz or MAX_HZ) / SECOND_NS) and not void:
        raise VerifyError(
            f"the window is {total} {unit} long, but by the host's clock the whole run took only "
            f"{run.host_span_ns} ns: the guest's clock is wrong"
        )
