"""Single operations of a kernel: what each costs, that it did its work, and how it scales.

Measured on the instruction clock on 2026-11-23 (QEMU 10.0.2, Debian's Linux 6.12, tern `balanced`): the
cost of an operation at smp1 in instructions (the median of 5 seeds), and rates over smp1 (of fork_exit,
mmap_fault, sched_yield, context_switch and tern's thread_create medians of 5 seeds, else one seed):

    operation        linux    tern    linux/tern   linux 2, 4 CPUs   tern 2, 4 CPUs
    getpid             322      70           4.6   2.00  4.01        2.00  4.00
    read_null          588       -             -   2.00  4.01        -
    write_null         601       -             -   2.00  4.01        -
    pipe              2248     244           9.2   2.00  4.00        2.00  4.00
    pipe, shared      2248     244           9.2   1.46  2.31        1.81  2.96
    fork_exit       167071   17125           9.8   1.94  3.89        1.99  3.99
    open_close        5462       -             -   2.00  4.00        -
    mmap_fault        5480     296          18.5   1.98  3.87        1.97  3.92
    stat              3441       -             -   2.00  4.00        -
    sched_yield        906     226           4.0   2.05  4.15        2.00  4.00
    futex_wake        6865     858           8.0   1.92  3.31        1.88  3.50
    signal_delivery   3889       -             -   2.00  4.00        -
    thread_create    35171    2521          14.0   2.23  4.18        2.00  4.00
    context_switch    4968    1723           2.9   2.00  4.00        2.00  4.00

The factor over Linux is at least 2.9, so 2.5 leaves a margin for another release of Linux. What scales by at
least 1.97 and 3.82 is gated at 1.9 and 3.6, the limits of the other suites. Not gated on Linux are: a shared
channel, which is one lock; thread_create, where more CPUs save Linux the switch to the new thread (2.23; at
4 CPUs 3.65 to 4.18). A shared channel is not gated on tern either: by its steps the clock can have changed
that rate by 65%. thread_create is, 10% below what is measured, also at 32 CPUs (31.8, Linux 16.6), since the
threads of a process have a lock of their own. futex_wake is not gated: a woken thread may run on another CPU
than its waker's. The instruction clock counts no cache line that moves between CPUs, so a shared file scales
as well as one's own; on wall time it need not, and is not gated.

At smp1 every seed of tern gives the same number. Linux's calls without a switch agree to 0.001%; those that
take pages or names from its caches to 0.6%; those that start or wake threads differ by where Linux puts them
and by the work that it does later, up to 14%.
"""

from __future__ import annotations

import pytest

from benchgate import CellResult, Lane, VerdictResult

pytestmark = pytest.mark.micro


class Operation:
    """One operation. Each class below says which one, and how often it is done in a sample."""

    SPREAD = 0.005
    """By which part the costs of Linux's seeds may differ on the instruction clock. tern's may not."""

    def test_each_did_its_work_and_seeds_agree(self, cell: CellResult) -> None:
        cell.require_verified()
        costs = sorted(cell.metric("cost"))
        if {(one.run.lane, one.run.cell.cpus) for one in cell.runs} == {(Lane.INSN, 1)}:
            spread = 0 if cell.runs[0].run.cell.system == "kernel" else self.SPREAD
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
    """Where Linux puts the mapping depends on the seed. One that crosses a table of pages needs one more of
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
