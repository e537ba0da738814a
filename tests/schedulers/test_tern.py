"""Idle CPUs beside waiting threads on tern: none with its schedulers, and what arithmetic says with a defect.

docs/measured/schedulers.md has the measured figures.
"""

import pytest

from benchgate import VerdictResult

pytestmark = pytest.mark.schedulers

PRIMES = pytest.mark.workload("primes", hi=1_000_000)
PONG = pytest.mark.workload("wake", pattern="pong", rounds=400)


@pytest.mark.system("kernel:fault=crowd")
@PRIMES
@pytest.mark.limit(cpus=2, metric="wasted", at_least=0.47)
@pytest.mark.limit(cpus=4, metric="wasted", at_least=0.70)
def test_a_crowd_on_one_cpu_wastes_the_others(verdict: VerdictResult) -> None:
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
