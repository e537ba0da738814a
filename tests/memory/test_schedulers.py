"""tern's run queues, where a line that all CPUs write costs time.

With memory a global queue makes 4 CPUs slower than one: its lock, its length and its ends are one line, which
each pick moves. At 16 CPUs of the ideal machine hand-overs can have changed the figure by 58%.
"""

import pytest

from benchgate import VerdictResult

pytestmark = pytest.mark.memory

SERVER = pytest.mark.machine("server2x16")
ROW = pytest.mark.workload("tasks", steps=20_000, grain=20)


@SERVER
@pytest.mark.system("kernel")
@ROW
@pytest.mark.speedup(cpus=4, at_least=2.0, insn=3.6)
@pytest.mark.speedup(cpus=16, at_least=2.0, insn=11.0)
def test_a_queue_per_cpu_scales(verdict: VerdictResult) -> None:
    verdict.require_pass()


@SERVER
@pytest.mark.system("kernel:sched=global")
@ROW
@pytest.mark.speedup(cpus=4, at_most=1.0)
@pytest.mark.speedup(cpus=16, at_most=1.0)
def test_a_global_queue_does_not(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.machine("ideal")
@pytest.mark.system("kernel:sched=global")
@ROW
@pytest.mark.speedup(cpus=4, at_least=2.0, insn=2.8)
@pytest.mark.speedup(cpus=16, at_least=2.0, insn=2.5)
def test_a_global_queue_still_gains_where_memory_costs_nothing(verdict: VerdictResult) -> None:
    verdict.require_pass()
