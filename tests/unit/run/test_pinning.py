"""Pinning: the plan, and pinning threads of this process."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from benchgate.run.pinning import PinError, apply, plan, read_back, threads
from benchgate.run.thread_use import sample
from tests.machines import PATIENCE_S


def test_each_vcpu_gets_one_pin_and_other_threads_the_free_cpus() -> None:
    assert plan([10, 11], [1, 2], [3, 0], [0, 1, 2, 3]) == {10: (3,), 11: (0,), 1: (1, 2), 2: (1, 2)}


def test_without_a_free_cpu_the_others_share_all_pins() -> None:
    assert plan([10, 11], [1], [1, 0], [0, 1]) == {10: (1,), 11: (0,), 1: (0, 1)}


def test_fewer_pins_than_vcpus_are_shared_by_all() -> None:
    assert plan([10, 11, 12], [1], [0, 1], [0, 1, 2]) == {10: (0, 1), 11: (0, 1), 12: (0, 1), 1: (2,)}


def test_without_pins_no_thread_is_pinned() -> None:
    assert plan([10], [1], [], [0, 1]) == {}


def test_too_many_pins_and_shared_vcpu_threads_are_refused() -> None:
    with pytest.raises(ValueError, match="3 pins for 2 vCPUs"):
        plan([10, 11], [], [0, 1, 2], [0, 1, 2])
    with pytest.raises(PinError, match="several vCPUs on one thread"):
        plan([10, 10], [], [0, 1], [0, 1])


@pytest.fixture
def waiter() -> Iterator[int]:
    """A thread of this process that only waits."""
    leave, native = threading.Event(), []
    ready = threading.Event()

    def body() -> None:
        native.append(threading.get_native_id())
        ready.set()
        leave.wait(PATIENCE_S)

    thread = threading.Thread(target=body)
    thread.start()
    assert ready.wait(PATIENCE_S)
    yield native[0]
    leave.set()
    thread.join()


@pytest.fixture
def own_affinity() -> Iterator[set[int]]:
    before = os.sched_getaffinity(0)
    yield before
    os.sched_setaffinity(0, before)


def test_a_thread_is_pinned_and_read_back(waiter: int, own_affinity: set[int]) -> None:
    cpu = max(own_affinity)
    placed = {item.thread: item for item in apply(os.getpid(), [waiter], [cpu])}
    assert placed[waiter].vcpu == 0
    assert placed[waiter].found == (cpu,) == tuple(os.sched_getaffinity(waiter))
    rest = tuple(sorted(own_affinity - {cpu})) or (cpu,)
    assert placed[os.getpid()].found == rest


def test_a_thread_of_another_process_is_never_touched() -> None:
    with pytest.raises(PinError, match="not threads of process"):
        apply(os.getpid(), [1], [0])


def test_a_missing_cpu_is_named(waiter: int) -> None:
    with pytest.raises(PinError, match="cannot be pinned to CPU 4095"):
        apply(os.getpid(), [waiter], [4095])


def test_a_pin_that_was_changed_is_found(waiter: int) -> None:
    with pytest.raises(PinError, match="reads back as"):
        read_back(os.getpid(), [waiter], {waiter: (4095,)})


def test_a_vcpu_thread_that_ended_is_found() -> None:
    with pytest.raises(PinError, match=r"\[999999999\] ended"):
        read_back(os.getpid(), [999999999], {})


def test_a_process_that_is_gone_has_no_threads() -> None:
    assert threads(2**22 + 1) == {}
    assert sample(2**22 + 1, "end", (), None).threads == ()


def test_accounting_counts_what_a_thread_did(waiter: int) -> None:
    def own(moment: str) -> tuple[int, int]:
        uses = {use.counters.thread: use for use in sample(os.getpid(), moment, [waiter], ()).threads}
        assert uses[waiter].vcpu == 0
        assert uses[os.getpid()].vcpu is None
        mine = uses[os.getpid()].counters
        assert mine.run_ns is not None
        assert mine.delay_ns is not None
        assert mine.voluntary is not None
        return mine.run_ns, mine.delay_ns

    before = own("start")
    used = os.times()
    while os.times().user - used.user < 0.05:
        sum(range(10_000))
    after = own("end")
    assert after[0] - before[0] >= 30_000_000
    assert after[1] >= before[1] >= 0
