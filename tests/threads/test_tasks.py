"""Scheduling: short steps that give way after each, so that the run queue is what a window is made of.

One binary of tern, three schedulers. Gated are the per-CPU queues, and, as a control, that one queue for all
shows its cost: a compute-only row would hide it. The limits are for the instruction clock, where 4 CPUs cost
no host CPUs; on wall time with fewer pins the gates skip and say so.

Measured on it on 2026-11-22 (this row, 5 seeds, QEMU 10.0.2, tern `balanced`), work over smp1:

    sched    smp2                smp4
    wfq      1.98 [1.98, 1.98]   4.22 [3.96, 4.29]
    rr       2.00 [2.00, 2.00]   3.99 [3.99, 3.99]
    global   -                   3.54 [3.54, 3.55]

So 3.8 at 4 CPUs tells the worst queue of one's own from the one for all, with room on both sides. Steps of
100 multiplications, twice as long, leave the one queue free so often that it still gives 3.87. A little above
4 is no triumph: the tasks do not spread evenly, and a task that is alone on its CPU gives way to nobody,
which saves the switch.
"""

import pytest

from benchgate import VerdictResult

pytestmark = [pytest.mark.threads, pytest.mark.tern]

PER_CPU = ("kernel", "kernel:sched=rr")
ROW = pytest.mark.workload("tasks", steps=100_000, grain=20)


@pytest.mark.system(*PER_CPU)
@ROW
@pytest.mark.speedup(cpus=2, at_least=1.6, insn=1.95)
@pytest.mark.speedup(cpus=4, at_least=3.0, insn=3.8)
def test_queues_of_their_own_scale(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel:sched=global")
@ROW
@pytest.mark.speedup(cpus=4, at_most=3.8)
def test_one_queue_for_all_costs(verdict: VerdictResult) -> None:
    verdict.require_pass()
