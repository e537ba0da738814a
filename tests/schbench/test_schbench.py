"""schbench: message threads wake workers, which compute under their CPU's lock (docs/how-to/schbench.md).

The thresholds are for the instruction clock, where a latency repeats exactly; on wall time they only demand
that work was done. docs/how-to/schbench.md#the-limits has the measured figures.
"""

import pytest

from benchgate import CellResult, VerdictResult

pytestmark = pytest.mark.schbench

ONE_EACH = pytest.mark.workload("schbench")
TWO_EACH = pytest.mark.workload("schbench", threads=4)
SLICE = "linux:base_slice_ns"


@ONE_EACH
def test_every_run_is_right(cell: CellResult) -> None:
    cell.require_verified()


@ONE_EACH
@pytest.mark.limit(cpus=2, metric="rps", at_least=1, insn=1600)
@pytest.mark.limit(cpus=2, metric="wakeup_p99", at_most=1e10, insn=50_000)
@pytest.mark.speedup(cpus=2, metric="rps", at_least=1.2, insn=1.8)
def test_a_worker_on_each_cpu(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.tern
@pytest.mark.system("kernel")
@ONE_EACH
@pytest.mark.ratio(to="linux", cpus=2, metric="rps", at_least=0.5, insn=1.05)
@pytest.mark.ratio(to="linux", cpus=2, metric="request_p99", at_least=0.01, insn=1.05)
def test_tern_does_more_requests_than_linux_and_each_sooner(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.tern
@pytest.mark.system("kernel")
@TWO_EACH
@pytest.mark.limit(cpus=2, metric="rps", at_least=1, insn=1700)
@pytest.mark.ratio(to="kernel:sched=global", cpus=2, metric="wakeup_p99", at_least=0.01, insn=20)
def test_a_woken_worker_does_not_wait_for_a_queue_of_all_cpus(verdict: VerdictResult) -> None:
    verdict.require_pass()


# A request computes 6.5 ms. With a slice of 0.1 ms a woken worker waits for the next tick, 4 ms at most; with
# 20 ms it waits until the running one sleeps. There are no locks, because they would hide the difference.
# 0.88 s have 260 wake-ups: the 99th percentile of the 62 of 0.22 s is the longest, which in one seed of
# five was 7.5 ms, two ticks, and made the ratio 1.63 [0.87, 1.83]. Measured with 0.88 s: 1.62 [1.62, 2.27].
@pytest.mark.system(f"{SLICE}=100000")
@pytest.mark.workload("schbench", footprint_kb=64, threads=4, locking="none", time_ns=880_000_000)
@pytest.mark.limit(cpus=2, metric="rps", at_least=1, insn=270)
@pytest.mark.ratio(to=f"{SLICE}=20000000", cpus=2, metric="wakeup_p99", at_least=0.01, insn=1.3)
def test_a_short_slice_of_linux_wakes_sooner(verdict: VerdictResult) -> None:
    verdict.require_pass()


# The median hides a neighbour: it computes for a fifth of the time, and only then do requests wait for it.
@pytest.mark.workload("schbench", hogs=1, hog_ms=60)
@pytest.mark.limit(cpus=2, metric="rps", at_least=1, insn=1300)
@pytest.mark.limit(cpus=2, metric="request_p50", at_most=1e10, insn=1_300_000)
@pytest.mark.limit(cpus=2, metric="request_p99", at_least=1, insn=1_500_000)
def test_the_99th_percentile_shows_a_neighbour(verdict: VerdictResult) -> None:
    verdict.require_pass()
