"""Idle CPUs beside waiting threads on tern: what arithmetic says, with each scheduler and with defects.

Where each limit comes from:

- **`primes`, a worker for each CPU**: nobody has to wait, so `wasted` is 0, whatever the policy. The limit of
  0.1% is for the start, when the workers are woken one after the other.
- **`contend`, `spawn`, `schbench`**: a thread that is woken while a CPU finds that it has nothing to do is
  seen by that CPU when it looks once more before it halts: 600 instructions later. Else an interrupt wakes an
  idle CPU, and the way to the switch takes less than 2,000. But a turn of the clock may end in between, after
  40 us at most on each of the two CPUs. So no stretch is longer than 100 us. With at most ten wake-ups in
  1 ms on each CPU these are at most 0.6% of its time.
- **`fault=crowd`, N workers on one of N CPUs**: the window is the sum S of their work, 420 ms. N - 1 CPUs
  idle beside a thread that waits until one worker is left, with at most a slice of 10 ms and 2% of its share
  S/N. So `wasted` is (N - 1)/N * (1 - rest/S): 48.3% to 50% with 2 CPUs, 72.8% to 75% with 4.
- **k threads of 4 ms for each CPU** (`spawn` with live=3): a thread waits for the others of its queue.
  `global` has one queue, so these are k - 1 = 2 slices of 2 ms. With `rr` a queue may have one thread more
  than another, so 3. With `wfq` too, and each of the three may be two slices behind it, so 6. 10% are for
  what else runs.
- **A neighbour that never sleeps on each CPU** (`schbench` with hogs): who is woken waits for the rest of the
  neighbour's slice of 2 ms, and perhaps for a slice of one more worker.
- **Each other defect** is found if the gate of the row without it says FAIL, so its limit is the same one.
  Its kind of wait is longer by far: in `contend` the 240 us for which a worker computes after it has handed
  over the lock; in `schbench` a request of half a millisecond; the time until the neighbours leave.
"""

import pytest

from benchgate import VerdictResult

pytestmark = pytest.mark.schedulers

PRIMES = pytest.mark.workload("primes", hi=1_000_000)
PONG = pytest.mark.workload("wake", pattern="pong", rounds=400)
HANDED = pytest.mark.workload("contend", takes=800, hold=7500, delay=60_000)
CREATED = pytest.mark.workload("spawn", errands=96, live=3, grain=1_000_000)
MORE = pytest.mark.workload("schbench", threads=12, time_ns=60_000_000)
NEIGHBOURS = pytest.mark.workload("schbench", hogs=8, hog_ms=60, time_ns=60_000_000)
EACH = pytest.mark.system("kernel:sched=wfq", "kernel:sched=rr", "kernel:sched=global")


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


@EACH
@PRIMES
@pytest.mark.work_conserving(at_most="0.1%", cpus=2)
@pytest.mark.work_conserving(at_most="0.1%", cpus=4)
def test_a_worker_for_each_cpu_wastes_nothing(verdict: VerdictResult) -> None:
    verdict.require_pass()


@EACH
@PONG
@pytest.mark.work_conserving(at_most="0.1%", cpus=2)
@pytest.mark.work_conserving(at_most="0.1%", cpus=4)
def test_pairs_waste_nothing(verdict: VerdictResult) -> None:
    verdict.require_pass()


@EACH
@HANDED
@pytest.mark.work_conserving(at_most="0.6%", longest="100us", cpus=8)
def test_who_gets_the_lock_gets_an_idle_cpu(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel:fault=deaf-wake")
@HANDED
@pytest.mark.limit(cpus=8, metric="wasted_longest", at_least=100_000)
def test_a_wake_up_that_asks_for_no_idle_cpu_is_found(verdict: VerdictResult) -> None:
    verdict.require_pass()


@EACH
@CREATED
@pytest.mark.work_conserving(at_most="0.6%", longest="100us", cpus=8)
def test_three_threads_for_each_cpu_leave_none_idle(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel:sched=wfq", "kernel:sched=rr")
@MORE
@pytest.mark.work_conserving(at_most="0.6%", longest="100us", cpus=8)
def test_twelve_workers_leave_none_of_8_cpus_idle(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel:fault=half")
@MORE
@pytest.mark.limit(cpus=8, metric="wasted", at_least=0.006)
def test_a_balancer_that_sees_half_of_the_cpus_is_found(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel:sched=global")
@CREATED
@pytest.mark.limit(cpus=8, metric="sched_wait_max", at_most=4_400_000)
def test_of_three_in_one_queue_each_waits_two_slices(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel:sched=rr")
@CREATED
@pytest.mark.limit(cpus=8, metric="sched_wait_max", at_most=6_600_000)
def test_of_four_in_a_queue_each_waits_three_slices(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel:sched=wfq")
@CREATED
@pytest.mark.limit(cpus=8, metric="sched_wait_max", at_most=13_200_000)
def test_who_has_run_less_goes_first(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel:sched=wfq")
@NEIGHBOURS
@pytest.mark.work_conserving(at_most="0.6%", longest="100us", cpus=8)
@pytest.mark.limit(cpus=8, metric="sched_wait_max", at_most=4_400_000)
def test_who_wakes_waits_for_a_slice_of_its_neighbour(verdict: VerdictResult) -> None:
    verdict.require_pass()


@pytest.mark.system("kernel:fault=behind")
@NEIGHBOURS
@pytest.mark.limit(cpus=8, metric="sched_wait_max", at_least=4_400_000)
def test_a_thread_that_is_queued_behind_is_found(verdict: VerdictResult) -> None:
    verdict.require_pass()
