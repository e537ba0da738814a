"""Tasks yield after each short step, so the window consists mostly of run queue operations.

One binary of tern, three schedulers: two have a queue per CPU and must scale; the third has one queue for all
CPUs and, as a control, must not. The limits are for the instruction clock, where 4 CPUs need no host CPUs of
their own. `rr` reaches 3.99 at 4 CPUs and `global`
3.54, so 3.8 separates them.
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
def test_a_queue_per_cpu_scales(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel:sched=global")
@ROW
@pytest.mark.speedup(cpus=4, at_most=3.8)
def test_a_global_queue_scales_worse(verdict: VerdictResult) -> None:
    verdict.require_pass()
