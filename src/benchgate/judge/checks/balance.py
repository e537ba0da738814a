"""Checks that the clock's books balance: where the time of each vCPU went, and who served its accesses.

Takes a clock's log; gives nothing. Fails with VerifyError, in one sentence, if a vCPU's time or its accesses
do not add up to the last ns and the last access, or if a machine left no books.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchgate.base.errors import VerifyError
from benchgate.base.system.machines import FULL_CAPACITY
from benchgate.insn.log import ClockLog, VcpuTotals
from benchgate.insn.memory_log import DELAYED, KINDS, PARTS, PHASES, PLACES, CpuBooks

_WORD = 2**64 - 1
SHARED_NS = 2
"""A phase begins and ends within a ns that another phase has, too."""
_START = 1
"""lockstep.c hashes this into the seed for starts, so that other decisions draw other values."""


def check_balance(log: ClockLog) -> None:
    """Without a memory system there are no books of it, so only the time is checked."""
    for vcpu, totals in enumerate(log.totals if log.machine or log.capacities or log.explored else ()):
        _check_time(log, vcpu, totals)
    has_no_books = log.memory is None if log.machine else bool(log.capacities) and not log.totals
    if has_no_books:
        of = f"names machine {log.machine}" if log.machine else "has the capacities of CPUs"
        raise VerifyError(
            f"the clock's log {of} but ends before its books: QEMU was killed before it wrote where the time "
            "went; measure again, and give the guest time to end"
        )
    if log.memory is None:
        return
    for vcpu, totals in enumerate(log.totals):
        phases = {phase: log.memory.phases[phase][vcpu] for phase in PHASES}
        for phase, books in phases.items():
            where = f"vCPU {vcpu} in phase {phase}"
            _check_stalls(where, books, log.capacities[vcpu] if log.capacities else FULL_CAPACITY)
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


def _check_stalls(where: str, books: CpuBooks, capacity: int) -> None:
    """On a small CPU the phases share the ns in which one ends and the other begins; machine_agreement.py
    checks the whole to the ns."""
    waited, spent = books.waited, books.spent
    slowed = beyond_1_ns(spent.executed + spent.paused, capacity)
    if abs(spent.stalled - waited - slowed) > (SHARED_NS if slowed else 0):
        slow = f", and its instructions took {slowed} ns beyond 1 ns each" if slowed else ""
        raise _unbalanced(where, f"classes of waiting are {waited} ns{slow}", f"stalled {spent.stalled} ns")


def _check_accesses(where: str, books: CpuBooks) -> None:
    made, served = (sum(books.counts[name] for name in names) for names in (KINDS, PLACES))
    if made != served:
        raise _unbalanced(where, f"{made} accesses were made", f"{served} were served")


def _check_phases(log: ClockLog, vcpu: int, totals: VcpuTotals, phases: Mapping[str, CpuBooks]) -> None:
    for part in _parts(log):
        parts, whole = sum(getattr(phase.spent, part) for phase in phases.values()), getattr(totals, part)
        if parts != whole:
            raise _unbalanced(f"vCPU {vcpu}", f"{part} is {parts} ns in both phases", f"{whole} ns in all")


def beyond_1_ns(count: int, capacity: int) -> int:
    """What so many instructions take beyond 1 ns each on a CPU of this capacity."""
    return count * FULL_CAPACITY // capacity - count


def slowed_ns(log: ClockLog, vcpu: int) -> int:
    """What a vCPU was stalled, but for its waits for memory."""
    phases = log.memory.phases.values() if log.memory else ()
    return log.totals[vcpu].stalled - sum(books[vcpu].waited for books in phases)


def _unbalanced(where: str, ours: str, theirs: str) -> VerifyError:
    return VerifyError(f"the machine's books do not balance: {where}: {ours}, but {theirs}")


def start_of(seed: int, quantum: int, vcpu: int) -> int:
    """When a vCPU begins (lockstep_appear in insn/c/clock/lockstep.c)."""
    if not seed:
        return 0
    return _mixed(_mixed(_mixed(seed ^ _START)) ^ vcpu) % quantum


def _mixed(value: int) -> int:
    """The finaliser of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators). numpy
    would compute it as well, but `verify` does without it."""
    value = (value + 0x9E3779B97F4A7C15) & _WORD
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _WORD
    return value ^ (value >> 31)
