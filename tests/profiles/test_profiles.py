"""The cost of safety: tern's build profiles on the row that enters the kernel most often, and on single
operations.

The report compares each profile with `balanced`, which is the plain system (docs/measured/figures.md). No
gate compares profiles, because no limit on the cost of safety is right for everyone. Each profile must scale.
"""

import pytest

from benchgate import CellResult, VerdictResult

pytestmark = pytest.mark.profiles

SYSTEMS = ("kernel", "kernel:profile=debug", "kernel:profile=hardened", "kernel:profile=fast")


@pytest.mark.system(*SYSTEMS)
@pytest.mark.workload("tasks", steps=100_000)
def test_every_answer_is_right(cell: CellResult) -> None:
    cell.require_verified()


@pytest.mark.system(*SYSTEMS)
@pytest.mark.workload("tasks", steps=100_000)
@pytest.mark.speedup(cpus=2, at_least=1.4, insn=1.8)
def test_every_profile_scales(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system(*SYSTEMS)
class Operation:
    """What one operation costs in each profile. Each class below says which one."""

    def test_every_answer_is_right(self, cell: CellResult) -> None:
        cell.require_verified()


@pytest.mark.workload("micro", op="getpid")
class TestGetpid(Operation):
    pass


@pytest.mark.workload("micro", op="pipe")
class TestPipe(Operation):
    pass


@pytest.mark.workload("micro", op="fork_exit", iters=100)
class TestForkExit(Operation):
    pass


@pytest.mark.workload("micro", op="mmap_fault")
class TestMmapFault(Operation):
    pass


@pytest.mark.workload("micro", op="sched_yield")
class TestSchedYield(Operation):
    pass


@pytest.mark.workload("micro", op="futex_wake")
class TestFutexWake(Operation):
    pass


@pytest.mark.workload("micro", op="thread_create", iters=200)
class TestThreadCreate(Operation):
    pass


@pytest.mark.workload("micro", op="context_switch")
class TestContextSwitch(Operation):
    pass
