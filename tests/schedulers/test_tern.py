"""Idle CPUs beside waiting threads on tern: none with its schedulers, and what arithmetic says with a defect.

docs/measured/schedulers.md has the measured figures.
"""

import pytest

from benchgate import VerdictResult

pytestmark = pytest.mark.schedulers

PRIMES = pytest.mark.workload("primes", hi=1_000_000)
PONG = pytest.mark.workload("wake", pattern="pong", rounds=400)


# All N workers share CPU 0, so the window is the sum S of their work: 420 ms. N - 1 CPUs idle beside a thread
# that waits until one worker is left, with at most a slice of 10 ms and 2% of its share S/N. So `wasted` is
# (N - 1)/N * (1 - rest/S): 48.3% to 50% with 2 CPUs, 72.8% to 75% with 4.
@pytest.mark.system("kernel:fault=crowd")
@PRIMES
@pytest.mark.limit(cpus=2, metric="wasted", at_least=0.48)
@pytest.mark.limit(cpus=4, metric="wasted", at_least=0.72)
def test_a_crowd_on_one_cpu_wastes_the_others(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel:fault=crowd")
@PRIMES
@pytest.mark.limit(cpus=2, metric="wasted", at_most=0.50)
@pytest.mark.limit(cpus=4, metric="wasted", at_most=0.75)
def test_a_crowd_wastes_no_more_than_the_others(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel:sched=wfq", "kernel:sched=rr", "kernel:sched=global")
@PRIMES
@pytest.mark.work_conserving(at_most="0.1%", cpus=2)
@pytest.mark.work_conserving(at_most="0.1%", cpus=4)
def test_a_worker_for_each_cpu_wastes_nothing(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel:sched=wfq", "kernel:sched=rr", "kernel:sched=global")
@PONG
@pytest.mark.work_conserving(at_most="0.1%", cpus=2)
@pytest.mark.work_conserving(at_most="0.1%", cpus=4)
def test_pairs_waste_nothing(verdict: VerdictResult) -> None:
    verdict.require_pass()
