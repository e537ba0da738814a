"""The books of a run on a machine: do they balance, and which run of each cell shows where its time went?

`check_balance` takes a clock's log; fails with VerifyError, in one sentence, if a vCPU's time or its accesses
do not add up to the last ns and the last access, or if a machine left no books. `run_books` takes judged
runs; gives the books of each that counts, those of each cell's median run marked. It fails with VerifyError
if a log cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from benchgate.base.errors import VerifyError
from benchgate.base.runs import Disorder, Outcome, VerifiedRun
from benchgate.insn.log import ClockLog, VcpuTotals
from benchgate.insn.memory_log import DELAYED, KINDS, PARTS, PHASES, PLACES, CpuBooks, MemoryBooks
from benchgate.judge.judged_run import JudgedRun, median_of
from benchgate.judge.run_files import RunFiles


@dataclass(frozen=True, slots=True)
class RunBooks:
    run: int
    cell: str
    row: str
    cpus: int
    seed: int
    books: MemoryBooks
    orders: Mapping[str, Disorder]
    total: int
    """The run's total window, in ns."""
    is_median: bool
    """True for the median run of its cell (judged_run.median_of)."""


def check_balance(log: ClockLog) -> None:
    """An exploration on the ideal machine has no books of memory, so only its time is checked."""
    for vcpu, totals in enumerate(log.totals if log.machine or log.explored else ()):
        _check_time(log, vcpu, totals)
    if not log.machine:
        return
    if log.memory is None:
        raise VerifyError(
            f"the clock's log names machine {log.machine} but ends before its books: QEMU was killed before "
            "it wrote where the time went; measure again, and give the guest time to end"
        )
    for vcpu, totals in enumerate(log.totals):
        phases = {phase: log.memory.phases[phase][vcpu] for phase in PHASES}
        for phase, books in phases.items():
            where = f"vCPU {vcpu} in phase {phase}"
            _check_stalls(where, books)
            _check_accesses(where, books)
        _check_phases(log, vcpu, totals, phases)


def _parts(log: ClockLog) -> tuple[str, ...]:
    return (*PARTS, DELAYED) if log.explored else PARTS


def _check_time(log: ClockLog, vcpu: int, totals: VcpuTotals) -> None:
    """Every ns counts: a vCPU begins where its seed says, and spends all time since in one of the parts."""
    start = start_of(log.seed, log.quantum, vcpu)
    spent = sum(getattr(totals, part) for part in _parts(log))
    if totals.time != start + spent:
        parts = ", ".join(f"{part} {getattr(totals, part)}" for part in _parts(log))
        raise _unbalanced(
            f"vCPU {vcpu}", f"began at {start} ns, {parts}: that is {start + spent} ns", f"{totals.time} ns"
        )


def _check_stalls(where: str, books: CpuBooks) -> None:
    stalled = sum(books.stalls.values())
    if stalled != books.spent.stalled:
        raise _unbalanced(where, f"classes of waiting are {stalled} ns", f"stalled {books.spent.stalled} ns")


def _check_accesses(where: str, books: CpuBooks) -> None:
    made, served = (sum(books.counts[one] for one in names) for names in (KINDS, PLACES))
    if made != served:
        raise _unbalanced(where, f"{made} accesses were made", f"{served} were served")


def _check_phases(log: ClockLog, vcpu: int, totals: VcpuTotals, phases: Mapping[str, CpuBooks]) -> None:
    for part in _parts(log):
        parts, whole = sum(getattr(one.spent, part) for one in phases.values()), getattr(totals, part)
        if parts != whole:
            raise _unbalanced(f"vCPU {vcpu}", f"{part} is {parts} ns in both phases", f"{whole} ns in all")


def _unbalanced(where: str, ours: str, theirs: str) -> VerifyError:
    return VerifyError(f"the machine's books do not balance: {where}: {ours}, but {theirs}")


def run_books(runs: Iterable[JudgedRun]) -> tuple[RunBooks, ...]:
    """The books have the order of execution."""
    cells: dict[str, list[VerifiedRun]] = {}
    counted = [one.verified for one in runs if one.verified and one.outcome is Outcome.OK]
    for run in counted:
        cells.setdefault(run.run.cell.id, []).append(run)
    medians = {median_of(of).run.attempt for of in cells.values()}
    return tuple(one for run in counted for one in _of_run(run, is_median=run.run.attempt in medians))


def _of_run(run: VerifiedRun, *, is_median: bool) -> Iterator[RunBooks]:
    raw = run.run
    log = RunFiles(raw).clock if raw.clock_log is not None else None
    if log is None or log.memory is None:
        return
    cell = raw.cell
    yield RunBooks(
        run=raw.attempt,
        cell=cell.id,
        row=cell.row,
        cpus=cell.cpus,
        seed=raw.seed,
        books=log.memory,
        orders=log.orders,
        total=run.total,
        is_median=is_median,
    )


# ---- when each vCPU begins (lockstep_appear in insn/c/clock/lockstep.c)


_WORD = 2**64 - 1
_START = 1
"""lockstep.c hashes this into the seed for starts, so that other decisions draw other values."""


def start_of(seed: int, quantum: int, vcpu: int) -> int:
    if not seed:
        return 0
    return _mixed(_mixed(_mixed(seed ^ _START)) ^ vcpu) % quantum


def _mixed(value: int) -> int:
    """The finaliser of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators)."""
    value = (value + 0x9E3779B97F4A7C15) & _WORD
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _WORD
    return value ^ (value >> 31)
