"""Checks that a transcript belongs to the requested run and is consistent. Pure.

Takes a run and its transcript; gives nothing. Fails with VerifyError for another workload or parameter,
missing CPUs, windows that contradict the workers' own times, and counters that do not balance.
"""

from __future__ import annotations

from collections.abc import Collection

from benchgate.base.cells import Cell, Lane
from benchgate.base.errors import VerifyError
from benchgate.base.runs import RawRun, WorkerReport
from benchgate.base.snapshots import SnapshotRecord
from benchgate.base.system.results import ResultDefinition
from benchgate.base.system.systems import plain_name
from benchgate.base.workload.workloads import Workload
from benchgate.insn.log import ClockLog
from benchgate.judge.wire import Transcript

UNITS = ("ns", "cycles")


def check_echo(cell: Cell, workload: Workload, transcript: Transcript, result: ResultDefinition) -> None:
    """The transcript must name this cell, because a wrong binary or manifest would measure something else."""
    known_as = result.system or plain_name(cell.system)
    if transcript.system != known_as:
        raise VerifyError(
            f"requested system {known_as}, but the guest reports system {transcript.system}; if "
            f"{cell.system} prints that name, write `system: {transcript.system}` under `result` in its YAML"
        )
    asked: dict[str, object] = {"workload": cell.program, "mode": str(cell.mode)}
    echoed: dict[str, object] = {"workload": transcript.workload, "mode": transcript.mode}
    if not workload.own_workers:
        asked["workers"], echoed["workers"] = cell.cpus, transcript.workers
    asked.update({f"parameter {name}": str(value) for name, value in cell.params})
    echoed.update({f"parameter {name}": value for name, value in transcript.params.items()})
    for name in sorted(asked.keys() | echoed.keys()):
        if asked.get(name) != echoed.get(name):
            raise VerifyError(f"requested {name} {asked.get(name)}, but the guest reports {echoed.get(name)}")
    if transcript.unit not in UNITS:
        raise VerifyError(f"unknown unit {transcript.unit}; use one of {', '.join(UNITS)}")


def check_cpus(run: RawRun, transcript: Transcript) -> None:
    """The requested number of CPUs came up, and the workers ran on them."""
    native = run.lane is Lane.NATIVE
    requested = min(run.cell.cpus, len(set(run.pins))) if native else run.cell.cpus
    if not native or run.pins:
        require_cpus(requested, transcript.online)
    for report in transcript.reports:
        given = _cpus_of(run, report.id, transcript.workers)
        if not {report.cpu, report.cpu_end} <= given:
            raise VerifyError(
                f"worker {report.id} reports that it ran on CPU {report.cpu}, then {report.cpu_end}; "
                f"its CPUs were {', '.join(map(str, sorted(given)[:64]))}"
            )


def require_cpus(requested: int, online: int) -> None:
    if online != requested:
        raise VerifyError(f"{requested} CPUs were requested, but {online} came up")


def check_started(log: ClockLog, start: SnapshotRecord | None) -> None:
    """A CPU that the guest counts has executed something: in the boot behind a warm start, or in the run,
    where it may have no thread to run."""
    unstarted = range(log.vcpus) if start is None else start.unstarted
    idle = [vcpu for vcpu, totals in enumerate(log.totals) if not totals.executed and vcpu in unstarted]
    if idle:
        raise VerifyError(
            f"the guest says that {log.vcpus} CPUs came up, but vCPU {idle[0]} executed no instruction"
        )


def _cpus_of(run: RawRun, worker: int, workers: int) -> set[int]:
    """A native worker is pinned to one host CPU, if there is one for each CPU; a guest's kernel may run a
    worker on any CPU of the guest."""
    if run.lane is not Lane.NATIVE:
        return set(range(run.cell.cpus))
    if run.pins and workers != run.cell.cpus:
        return set(run.pins)
    return {run.pins[worker % len(run.pins)]} if run.pins else set(range(2**16))


def check_window(transcript: Transcript) -> None:
    """The work window must follow from the workers' own times, and the total window must enclose it."""
    for report in transcript.reports:
        if report.end < report.start:
            raise _not_after(report)
        if report.start < transcript.total_start or report.end > transcript.total_end:
            raise VerifyError(f"worker {report.id} ran outside the total window")
    first = min(report.start for report in transcript.reports)
    last = max(report.end for report in transcript.reports)
    if (transcript.work_start, transcript.work_end) != (first, last):
        raise VerifyError(
            f"the work window {transcript.work_start}..{transcript.work_end} "
            f"differs from the workers' own times, {first}..{last}"
        )


def check_took_time(transcript: Transcript, workload: Workload) -> None:
    """A worker that did something did not start and end in one tick, where no marks tell how long it took."""
    counted = {metric.of for metric in workload.metrics.values()}
    for report in transcript.reports:
        if report.end == report.start and not _is_idle(report, counted):
            raise _not_after(report)


def _not_after(report: WorkerReport) -> VerifyError:
    return VerifyError(f"worker {report.id} ended at {report.end}, not after its start at {report.start}")


def _is_idle(report: WorkerReport, counted: Collection[str]) -> bool:
    """Its share is empty, or all that it counted is 0: of what the metrics count, else of all values. The
    oracle checks that it should have none."""
    values = report.values
    is_empty = "lo" in values and values["lo"] == values.get("hi")
    counts = [values[name] for name in values if name in counted] or list(values.values())
    return is_empty or (bool(counts) and not any(counts))


def check_books(transcript: Transcript) -> None:
    """Each pair of counters that must be equal is equal."""
    for book in transcript.balances:
        if book.left != book.right:
            raise VerifyError(
                f"the guest's books do not balance: {book.name}: {book.left} is not {book.right}"
            )
