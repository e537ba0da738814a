"""The services of a workload: small workloads in C, compiled and run on this host."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.base.cells import Mode
from tests.unit.smallguest import BOTH_MODES, NO_PREPARATION, SHARED, WORK, Small

pytestmark = pytest.mark.usefixtures("own_cache")


# ---- park, sleep


@BOTH_MODES
def test_a_parked_worker_is_woken(tmp_path: Path, mode: Mode) -> None:
    """A ball is passed 500 times; each side sleeps while the other has it."""
    code = """
    uint32_t *ball = job->data;
    for (unsigned round = 0; round < 500; round++) {
        uint32_t now;
        while ((now = __atomic_load_n(ball, __ATOMIC_ACQUIRE)) % 2 != worker)
            port_wait(ball, now, 0);
        slot->value[0] += now;
        __atomic_store_n(ball, now + 1, __ATOMIC_RELEASE);
        port_wake(ball, 1);
    }
}"""
    result = Small(tmp_path, SHARED + WORK + code, mode=mode).values(2)
    assert result == [(sum(range(0, 1000, 2)), 0, 0, 0), (sum(range(1, 1000, 2)), 0, 0, 0)]


def test_a_wait_ends_by_its_timeout_or_at_once_if_the_word_differs(tmp_path: Path) -> None:
    code = """
    uint64_t before = port_now();
    slot->value[0] = (uint64_t)-port_wait(job->data, 0, 20000000);
    slot->value[1] = port_now() - before >= bench_ticks(20000000);
    slot->value[2] = (uint64_t)port_wait(job->data, 1, 0);
    slot->value[3] = (uint64_t)port_wake(job->data, 1);
}"""
    assert Small(tmp_path, SHARED + WORK + code).values(1) == [(1, 1, 0, 0)]


def test_wake_wakes_as_many_as_it_is_told(tmp_path: Path) -> None:
    """Four workers sleep; the first call wakes 1 of them, the second the other 3."""
    code = """
    uint32_t *word = job->data;
    if (worker != 0) {
        __atomic_add_fetch(word + 1, 1, __ATOMIC_RELAXED);
        slot->value[0] = (uint64_t)port_wait(word, 0, 0);
        return;
    }
    for (unsigned calls = 0, woken = 0; woken < 4; calls++) {
        int now = port_wake(word, calls == 0 || woken == 0 ? 1 : UINT32_MAX);
        slot->value[now == 1 && woken == 0 ? 1 : 2] += (uint64_t)now;
        woken += (unsigned)now;
        port_yield();
    }
}"""
    assert Small(tmp_path, SHARED + WORK + code).values(5)[0] == (0, 1, 3, 0)


def test_sleep_ends_at_its_time_and_not_before(tmp_path: Path) -> None:
    code = """
    (void)job;
    uint64_t until = port_now() + bench_ticks(20000000);
    port_sleep_until(until);
    slot->value[0] = port_now() >= until;
    port_sleep_until(until - bench_ticks(10000000));
    slot->value[1] = 1;
}"""
    assert Small(tmp_path, NO_PREPARATION + WORK + code).values(1) == [(1, 1, 0, 0)]


# ---- channel

CHANNEL = """
static int channel;
struct message {
    uint64_t worker, number, filling[510];
};

static const char *prepare(struct bench_job *job) {
    (void)job;
    channel = port_channel();
    return channel < 0 ? "no channel" : NULL;
}
"""


@BOTH_MODES
def test_messages_of_several_senders_arrive_whole_and_in_order(tmp_path: Path, mode: Mode) -> None:
    """Four workers send 200 messages of 4096 bytes each; the first worker counts what is wrong."""
    code = """
    struct message message;
    uint64_t next[5] = {0};
    (void)job;
    for (uint64_t i = 0; i < (worker == 0 ? 800 : 200); i++) {
        message.worker = worker;
        message.number = i;
        for (unsigned k = 0; k < 510; k++)
            message.filling[k] = i * 8 + worker;
        if (worker != 0) {
            if (port_send(channel, &message, sizeof message) != 0)
                port_fail("port_send");
            continue;
        }
        if (port_receive(channel, &message, sizeof message) != 0)
            port_fail("port_receive");
        slot->value[0]++;
        slot->value[1] += message.number != next[message.worker % 5]++;
        for (unsigned k = 0; k < 510; k++)
            slot->value[2] += message.filling[k] != message.number * 8 + message.worker;
    }
}"""
    assert Small(tmp_path, CHANNEL + WORK + code, mode=mode).values(5)[0] == (800, 0, 0, 0)


def test_a_message_may_be_larger_than_the_channel(tmp_path: Path) -> None:
    code = """
    static unsigned char bytes[300000];
    (void)job;
    for (unsigned i = 0; worker == 0 && i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i % 251);
    slot->value[0] = (uint64_t)(worker == 0 ? port_send(channel, bytes, sizeof bytes)
                                            : port_receive(channel, bytes, sizeof bytes));
    for (unsigned i = 0; i < sizeof bytes; i++)
        slot->value[1] += bytes[i] != i % 251;
}"""
    assert Small(tmp_path, CHANNEL + WORK + code).values() == [(0, 0, 0, 0)] * 2


# ---- threads, processes, map


def test_a_worker_may_start_any_number_of_tasks_one_after_another(tmp_path: Path) -> None:
    code = """
static void add(void *to) { __atomic_add_fetch((uint64_t *)to, 1, __ATOMIC_RELAXED); }
static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)job, (void)worker;
    for (unsigned i = 0; i < 1500; i++) {
        int task = port_task(add, &slot->value[0]);
        if (task < 0 || port_task_join(task) != 0)
            port_fail("port_task");
    }
}"""
    assert Small(tmp_path, NO_PREPARATION + code, mode=Mode.THREAD).values(2) == [(1500, 0, 0, 0)] * 2


@BOTH_MODES
def test_a_child_has_its_own_memory_and_an_exit_status(tmp_path: Path, mode: Mode) -> None:
    code = """
static uint64_t mine;
static void add(uint64_t argument) {
    mine = 7;
    __atomic_add_fetch((uint64_t *)argument, 1, __ATOMIC_RELAXED);
}
static void crash(uint64_t argument) {
    if (argument == 5)
        __builtin_trap();
}
static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)worker;
    int child[6];
    for (unsigned i = 0; i < 6; i++)
        child[i] = i < 5 ? port_child(add, (uint64_t)job->data) : port_child(crash, 5);
    for (unsigned i = 0; i < 6; i++)
        slot->value[i < 5 ? 0 : 1] += (uint64_t)port_child_wait(child[i]);
    slot->value[2] = mine;
    slot->value[3] = *(uint64_t *)job->data;
}"""
    assert Small(tmp_path, SHARED + code, mode=mode).values(1) == [(0, 128 + 4, 0, 5)]


def test_unmapped_memory_is_gone(tmp_path: Path) -> None:
    code = """
static void touch(uint64_t argument) { *(volatile char *)argument = 1; }
static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)job, (void)worker;
    unsigned char *at = port_private(1 << 20);
    for (unsigned i = 0; at != NULL && i < 1 << 20; i += 4096) {
        slot->value[0] += at[i];
        at[i] = 1;
    }
    slot->value[1] = (uint64_t)port_child_wait(port_child(touch, (uint64_t)at));
    slot->value[2] = (uint64_t)port_unmap(at, 1 << 20);
    slot->value[3] = (uint64_t)port_child_wait(port_child(touch, (uint64_t)at));
}"""
    assert Small(tmp_path, NO_PREPARATION + code).values(1) == [(0, 0, 0, 128 + 11)]


# ---- barrier, lock, counter


@BOTH_MODES
def test_no_worker_passes_a_barrier_before_all_are_there(tmp_path: Path, mode: Mode) -> None:
    """Eight workers, 1000 phases: in each, everybody writes the phase, and then sees it of all others."""
    code = """
struct table {
    struct bench_barrier written, read;
    uint32_t phase[8];
};
static const char *prepare(struct bench_job *job) {
    struct table *table = port_shared(sizeof *table);
    table->written.members = table->read.members = job->workers;
    job->data = table;
    return NULL;
}
static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    struct table *table = job->data;
    for (uint32_t phase = 1; phase <= 1000; phase++) {
        table->phase[worker] = phase;
        bench_barrier(&table->written);
        for (unsigned i = 0; i < 8; i++)
            slot->value[0] += table->phase[i] != phase;
        bench_barrier(&table->read);
        slot->value[1]++;
    }
}"""
    assert Small(tmp_path, code, mode=mode).values(8) == [(0, 1000, 0, 0)] * 8


@BOTH_MODES
def test_a_lock_has_one_holder_and_a_counter_gives_each_number_once(tmp_path: Path, mode: Mode) -> None:
    code = """
struct shared {
    struct bench_lock lock;
    volatile uint64_t sum;
    _Alignas(128) uint64_t next;
};
static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)worker;
    struct shared *shared = job->data;
    for (unsigned i = 0; i < 20000; i++) {
        bench_lock(&shared->lock);
        uint64_t sum = shared->sum;
        for (unsigned k = 0; k < 50; k++)
            bench_relax(); // long enough for a second holder
        shared->sum = sum + 1;
        bench_unlock(&shared->lock);
        slot->value[1] += bench_next(&shared->next);
    }
    slot->value[0] = shared->sum;
}"""
    result = Small(tmp_path, SHARED + code, mode=mode).values(3)
    assert max(a for a, *_ in result) == 60_000
    assert sum(b for _, b, *_ in result) == sum(range(60_000))
