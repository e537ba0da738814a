"""Single operations of a kernel: what each costs, that it did its work, and how it scales.

docs/how-to/micro.md#figures-and-limits has the measured figures and argues for each limit.
"""

from __future__ import annotations

import pytest

from benchgate import CellResult, Lane, VerdictResult

pytestmark = pytest.mark.micro


class Operation:
    """One operation. Each class below says which one, and how often it is done in a sample."""

    SPREAD = 0.005
    """The costs of Linux's seeds may differ by this part on the instruction clock. tern's may not."""

    def test_each_did_its_work_and_seeds_agree(self, cell: CellResult) -> None:
        cell.require_verified()
        costs = sorted(cell.metric("cost"))
        if {(judged_run.run.lane, judged_run.run.cell.cpus) for judged_run in cell.runs} == {(Lane.INSN, 1)}:
            spread = 0 if cell.runs[0].run.cell.system.startswith("kernel") else self.SPREAD
            assert costs[-1] <= (1 + spread) * costs[0]

    @pytest.mark.tern
    @pytest.mark.system("kernel")
    @pytest.mark.ratio(to="linux", cpus=1, metric="cost", at_least=1, insn=2.5)
    def test_tern_needs_less(self, verdict: VerdictResult) -> None:
        verdict.require_pass()


class Scaling(Operation):
    """An operation that workers of different CPUs do beside each other, on files and memory of their own."""

    @pytest.mark.speedup(cpus=2, metric="rate", at_least=1.6, insn=1.9)
    @pytest.mark.speedup(cpus=4, metric="rate", at_least=3.0, insn=3.6)
    def test_scales(self, verdict: VerdictResult) -> None:
        verdict.require_pass()


@pytest.mark.workload("micro", op="getpid", iters=20_000)
class TestGetpid(Scaling):
    pass


@pytest.mark.workload("micro", op="read_null", iters=10_000)
class TestReadNull(Scaling):
    pass


@pytest.mark.workload("micro", op="write_null", iters=10_000)
class TestWriteNull(Scaling):
    pass


@pytest.mark.workload("micro", op="pipe", iters=2_000)
class TestPipe(Scaling):
    pass


@pytest.mark.workload("micro", op="pipe", iters=2_000, share="one")
class TestPipeOfAll(Operation):
    pass


@pytest.mark.workload("micro", op="fork_exit", iters=50)
class TestForkExit(Operation):
    """Linux's seeds differ by 6% at 2 CPUs, so the interval of five is 1.90 to 2.03. At 4 it was 3.34 to 4.02
    on an earlier guest, where in seed 2 each CPU was halted for 10% of the window while children waited for
    another one, and is 3.79 to 4.01 now."""

    SPREAD = 0.2

    @pytest.mark.speedup(cpus=2, metric="rate", at_least=1.5, insn=1.8)
    @pytest.mark.speedup(cpus=4, metric="rate", at_least=2.5, insn=3.0)
    def test_scales(self, verdict: VerdictResult) -> None:
        verdict.require_pass()


@pytest.mark.workload("micro", op="open_close", iters=1_000)
class TestOpenClose(Scaling):
    pass


@pytest.mark.workload("micro", op="open_close", iters=1_000, share="one")
class TestOpenCloseOfOneFile(Operation):
    pass


@pytest.mark.workload("micro", op="mmap_fault", iters=1_024)
class TestMmapFault(Scaling):
    """The seed decides where Linux puts the mapping. One that crosses a table of pages needs one more of
    them: 0.6% in seed 5."""

    SPREAD = 0.01


@pytest.mark.workload("micro", op="stat", iters=2_000)
class TestStat(Scaling):
    pass


@pytest.mark.workload("micro", op="stat", iters=2_000, share="one")
class TestStatOfOneFile(Operation):
    pass


@pytest.mark.workload("micro", op="sched_yield", iters=5_000)
class TestSchedYield(Scaling):
    pass


@pytest.mark.workload("micro", op="futex_wake", iters=640)
class TestFutexWake(Operation):
    SPREAD = 0.05


@pytest.mark.workload("micro", op="signal_delivery", iters=1_000)
class TestSignalDelivery(Scaling):
    pass


@pytest.mark.workload("micro", op="thread_create", iters=150)
class TestThreadCreate(Operation):
    SPREAD = 0.2

    @pytest.mark.tern
    @pytest.mark.system("kernel")
    @pytest.mark.speedup(cpus=2, metric="rate", at_least=1.5, insn=1.9)
    @pytest.mark.speedup(cpus=4, metric="rate", at_least=2.5, insn=3.6)
    @pytest.mark.speedup(cpus=32, metric="rate", at_least=8.0, insn=28.0)
    def test_processes_of_tern_start_threads_beside_each_other(self, verdict: VerdictResult) -> None:
        verdict.require_pass()


@pytest.mark.workload("micro", op="context_switch", iters=1_000)
class TestContextSwitch(Scaling):
    SPREAD = 0.02
