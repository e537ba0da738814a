"""Searches for a run that fails with few stalls: all of them before executions of one instruction.

Which instruction a stall must precede is the same in every run; at which of its executions is not, because
each stall moves all that follows. So runs are stalled nowhere else, and at few of the executions, by chance.
Takes the trials of a find and the stalls of its best case; what it finds is the best case from there on.
Fails as the trials do.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchgate.base.exploring import ADDRESS, MOST_NS
from benchgate.insn.explore_log import Delay
from benchgate.session.exploring.trials import Case, Trials

LAST = 12
"""So many of the last stalls before the failure are tried, the last one first. What follows the stall that
matters may be needed, too: a thread that sleeps for ever must not be woken by something else."""
ROUNDS = ((4, (1, 2)), (4, (3, 4)), (16, (5, 6, 7, 8)))
"""How many stalls a run has on average, and the seeds of each instruction's runs."""
LONGER = 8
"""Every other run has stalls that are longer than all of the find's: the other CPU need not be there at once.
They are up to so many times as long."""
NEVER = 10**12


def few(trials: Trials, stalls: Sequence[Delay]) -> bool:
    """`stalls`: of the best case, up to the last one that is needed."""
    last: dict[int, int] = {}
    for one in reversed(stalls[-LAST:]):
        last.setdefault(one.pc & ADDRESS, one.ns)
    executed: dict[int, int] = {}
    for expected, seeds in ROUNDS:
        for pc, ns in last.items():
            if pc not in executed:
                executed[pc] = trials.made(_case(trials, pc, 1, NEVER, ns)).steps or 0
            one_in = max(executed[pc] // expected, 1)
            tried = [_case(trials, pc, seed, one_in, ns) for seed in seeds if executed[pc]]
            if trials.becomes(tried, most=max(len(stalls) - 1, 1)):
                return True
    return False


def _case(trials: Trials, pc: int, seed: int, one_in: int, ns: int) -> Case:
    best = trials.best
    longest = max(best.exploration.longest_ns, ns)
    if seed % 2 == 0:
        ns, longest = longest, min(LONGER * longest, MOST_NS)
    return best.explored(best.exploration.at_places([pc], seed, one_in, ns, longest))
