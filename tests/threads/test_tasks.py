"""Scheduling: tasks that yield after each short step, so that the window mostly measures the run queue.

One binary of tern has three schedulers. The gates require that per-CPU queues scale and, as a control, that
one shared queue does not; a row that only computes would hide the difference. The limits are for the
instruction clock, where 4 CPUs need one host CPU. On wall time with fewer pins the gates are SKIP.

On the instruction clock, 2026-11-22 (this row, 5 seeds, QEMU 10.0.2, tern `balanced`), work over smp1:

    sched    smp2                smp4
    wfq      1.98 [1.98, 1.98]   4.22 [3.96, 4.29]
    rr       2.00 [2.00, 2.00]   3.99 [3.99, 3.99]
    global   -                   3.54 [3.54, 3.55]

So 3.8 at 4 CPUs separates the slowest per-CPU queue from the shared one, with a margin on both sides. Steps
of 100 multiplications, twice as long, contend for the shared queue so seldom that it still gives 3.87. A
ratio above 4 comes from tasks that are spread unevenly: a task that is alone on its CPU saves the switch.
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
def test_per_cpu_queues_scale(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel:sched=global")
@ROW
@pytest.mark.speedup(cpus=4, at_most=3.8)
def test_one_shared_queue_scales_worse(verdict: VerdictResult) -> None:
    verdict.require_pass()
