"""The services and histograms of a workload: small workloads in C, compiled and run on this host."""

from __future__ import annotations

import os
import re
import subprocess
from bisect import bisect_right
from collections import Counter
from pathlib import Path

import pytest

from benchgate.base.cells import Mode
from benchgate.base.paths import data_root
from benchgate.base.runs import WorkerReport
from benchgate.base.workloads import Workload
from benchgate.build import programs, toolchain
from benchgate.judge import wire
from tests.machines import PATIENCE_S

NONCE = "0123456789abcdef"
REST = """
static unsigned result(struct bench_job *job, struct bench_field *fields) {
    (void)job;
    fields[0] = (struct bench_field){"done", 1, 0};
    return 1;
}

static const char *const params[] = {PARAMS};
static const char *const none[] = {NULL};
static const char *const values[] = {"a", "b", "c", "d", NULL};
static const char *const hists[] = {HISTS};
const struct bench_workload bench_workload = {
    .name = "small",
    .mode = MODE,
    .param_names = params,
    .task_names = none,
    .value_names = values,
    .hist_names = sizeof hists == sizeof *hists ? NULL : hists,
    .prepare = prepare,
    .work = work,
    .result = result,
};
"""
NO_PREPARATION = """
static const char *prepare(struct bench_job *job) {
    (void)job;
    return NULL;
}
"""
SHARED = """
static const char *prepare(struct bench_job *job) {
    job->data = port_shared(1 << 20);
    return job->data == NULL ? "no memory" : NULL;
}
"""
"""Zeroed memory for all workers at job->data."""
WORK = (
    "static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {\n    (void)worker;\n"
)
BOTH_MODES = pytest.mark.parametrize("mode", [Mode.PROCESS, Mode.THREAD])


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    """Programs are compiled once for this file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHGATE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


class Small:
    """A workload of a few lines: `code` defines prepare() and work(), which leaves four values."""

    def __init__(
        self, folder: Path, code: str, mode: Mode, params: dict[str, object], hists: tuple[str, ...]
    ) -> None:
        source = folder / "small.c"
        defines = f"""#include "services.h"
#define MODE BENCH_{mode.upper()}
#define PARAMS {"".join(f'"{name}", ' for name in params)}NULL
#define HISTS {"".join(f'"{name}", ' for name in hists)}NULL
"""
        source.write_text(defines + code + REST)
        workload = Workload("small", mode, folder / "small.yaml", source, folder / "oracle.py", {})
        self.program = programs.guest_program(workload)
        self.words = {"workload": "small", "mode": str(mode), "nonce": NONCE, **params}

    def run(self, count: int = 2, **more: object) -> bytes:
        words = {"workers": count, "cpus": count, **self.words, **more}
        argv = [str(self.program), *(f"bench.{key}={value}" for key, value in words.items())]
        return subprocess.run(argv, capture_output=True, timeout=PATIENCE_S, check=False).stdout


def console_of(  # noqa: PLR0913 - the parts of a workload
    folder: Path,
    code: str,
    count: int = 2,
    *,
    mode: Mode = Mode.PROCESS,
    hists: tuple[str, ...] = (),
    **params: object,
) -> bytes:
    return Small(folder, code, mode, params, hists).run(count)


def reports_of(
    folder: Path, code: str, count: int = 2, *, mode: Mode = Mode.PROCESS, **params: object
) -> tuple[WorkerReport, ...]:
    console = console_of(folder, code, count, mode=mode, **params)
    return wire.parse(console, nonce=NONCE).reports


def values_of(
    folder: Path, code: str, count: int = 2, *, mode: Mode = Mode.PROCESS
) -> list[tuple[int, int, int, int]]:
    """a, b, c and d of each worker."""
    found = [report.values for report in reports_of(folder, code, count, mode=mode)]
    return [(one["a"], one["b"], one["c"], one["d"]) for one in found]


# ---- the begin line, the number of workers, the time of a run


def test_the_begin_line_is_of_version_2_and_has_the_clocks_rate(tmp_path: Path) -> None:
    console = console_of(tmp_path, NO_PREPARATION + WORK + "(void)job; (void)slot;\n}", size=7)
    assert re.fullmatch(
        rb"@bench begin v=2 nonce=0123456789abcdef system=native workload=small mode=process workers=2 "
        rb"online=[0-9]+ unit=ns hz=1000000000 size=7 seq=0 crc=[0-9a-f]{8}",
        console.splitlines()[0],
    )


OWN = """
static const char *prepare(struct bench_job *job) {
    job->workers = (uint32_t)bench_param_u64("size", 0);
    return NULL;
}
"""


@BOTH_MODES
def test_a_workload_may_set_its_own_number_of_workers(tmp_path: Path, mode: Mode) -> None:
    code = OWN + WORK + "slot->value[0] = job->cpus; slot->value[1] = job->workers;\n}"
    reports = reports_of(tmp_path, code, mode=mode, size=5)
    assert [(one.id, one.values["a"], one.values["b"]) for one in reports] == [(i, 2, 5) for i in range(5)]


def test_a_number_of_workers_that_the_harness_cannot_start_is_refused(tmp_path: Path) -> None:
    code = OWN + WORK + "(void)job; (void)slot;\n}"
    for size in (0, 65):
        console = console_of(tmp_path, code, size=size)
        assert console == b"benchfail: the workload must prepare 1 to 64 workers\n"


def test_the_number_of_cpus_is_checked(tmp_path: Path) -> None:
    small = Small(tmp_path, NO_PREPARATION + WORK + "(void)job; (void)slot;\n}", Mode.PROCESS, {}, ())
    assert small.run(cpus=0) == b"benchfail: bench.cpus must be 1 to 64\n"


def test_own_workers_run_on_all_cpus_of_the_list(tmp_path: Path) -> None:
    """One CPU is listed twice for two CPUs; five workers share it."""
    cpu = max(os.sched_getaffinity(0))
    small = Small(tmp_path, OWN + WORK + "(void)job; (void)slot;\n}", Mode.PROCESS, {"size": 5}, ())
    reports = wire.parse(small.run(pin=f"{cpu},{cpu}"), nonce=NONCE).reports
    assert [(report.cpu, report.cpu_end) for report in reports] == [(cpu, cpu)] * 5


def test_time_ns_ends_a_run(tmp_path: Path) -> None:
    """The time begins when the last worker is at the start gate: no worker has begun before."""
    time = 30_000_000
    code = NO_PREPARATION + WORK + "slot->value[0] = job->deadline;\n    while (bench_running(job));\n}"
    reports = reports_of(tmp_path, code, 3, time_ns=time)
    assert len({report.values["a"] for report in reports}) == 1
    for report in reports:
        deadline = report.values["a"]
        assert deadline - time <= report.start
        assert deadline <= report.end


def test_without_time_ns_a_run_ends_by_its_work(tmp_path: Path) -> None:
    code = """
    for (slot->value[0] = 0; slot->value[0] < 1000 && bench_running(job);)
        slot->value[0]++;
    slot->value[1] = job->deadline;
}"""
    assert values_of(tmp_path, NO_PREPARATION + WORK + code, 1) == [(1000, 0, 0, 0)]


# ---- histograms

VALUES = 2000
RECORD = """
static uint64_t value_number(uint64_t i, unsigned worker) {
    uint64_t x = (i + 1000 * worker + 1) * 0x9e3779b97f4a7c15ull;
    return x >> (8 + i % 56);
}
"""
"""Numbers of all sizes below 2^56: 2000 of them sum to less than 2^64."""


def value_number(i: int, worker: int) -> int:
    return ((i + 1000 * worker + 1) * 0x9E3779B97F4A7C15) % 2**64 >> (8 + i % 56)


def first_of(bucket: int) -> int:
    """As guest/bench.h defines it."""
    return bucket if bucket < 128 else (128 + bucket % 128) << (bucket // 128 - 1)


FIRST = [first_of(bucket) for bucket in range(58 * 128)]


def place(value: int) -> int:
    return bisect_right(FIRST, value) - 1


def fields(line: bytes) -> dict[str, str]:
    return dict(word.split("=") for word in line.decode().split()[2:])


def lines_of(console: bytes, worker: int, name: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """The hist line and the bucket lines of one histogram."""
    found = [line for line in console.splitlines() if re.match(rb"@bench (hist|bucket) ", line)]
    mine = [line for line in found if fields(line)["worker"] == str(worker) and fields(line)["name"] == name]
    assert [line.split()[1] for line in mine] == [b"hist"] + [b"bucket"] * (len(mine) - 1)
    return fields(mine[0]), [fields(line) for line in mine[1:]]


def test_the_buckets_follow_each_other() -> None:
    assert sorted(set(FIRST)) == FIRST
    assert FIRST[:130] == [*range(128), 128, 129]
    assert max(FIRST) < 2**64 <= max(FIRST) + 2**56


@BOTH_MODES
def test_a_histogram_has_every_value_in_its_bucket(tmp_path: Path, mode: Mode) -> None:
    code = f"""
    (void)slot;
    for (uint64_t i = 0; i < {VALUES}; i++)
        bench_record(bench_hist(job, worker, 1), value_number(i, worker));
}}"""
    console = console_of(
        tmp_path, NO_PREPARATION + RECORD + WORK + code, mode=mode, hists=("empty", "wake", "rest")
    )
    wire.parse(console, nonce=NONCE)
    for worker in (0, 1):
        values = [value_number(i, worker) for i in range(VALUES)]
        places = [place(value) for value in values]
        head, rows = lines_of(console, worker, "wake")
        assert {key: int(head[key]) for key in ("count", "sum", "min", "max", "places", "squares")} == {
            "count": VALUES,
            "sum": sum(values),
            "min": min(values),
            "max": max(values),
            "places": sum(places),
            "squares": sum(one * one for one in places),
        }
        expected = sorted(Counter(places).items())
        assert int(head["lines"]) == len(rows) == -(-len(expected) // 20)
        for number, row in enumerate(rows):
            counts = [(key, value) for key, value in row.items() if key.startswith("b")]
            part = expected[20 * number : 20 * number + 20]
            assert counts == [(f"b{bucket}", str(count)) for bucket, count in part]
        for name in ("empty", "rest"):
            head, rows = lines_of(console, worker, name)
            keys = ("count", "sum", "min", "max", "places", "squares", "lines")
            assert [head[key] for key in keys] == ["0"] * 7
            assert rows == []


def test_the_ends_of_the_range_have_buckets(tmp_path: Path) -> None:
    code = """
    (void)slot;
    const uint64_t ends[] = {0, 127, 128, 255, 256, 0x7fffffffffffffff, 0xffffffffffffffff};
    for (unsigned i = 0; i < 7; i++)
        bench_record(bench_hist(job, worker, 0), ends[i]);
}"""
    console = console_of(tmp_path, NO_PREPARATION + WORK + code, 1, hists=("wake",))
    head, rows = lines_of(console, 0, "wake")
    values = [0, 127, 128, 255, 256, 2**63 - 1, 2**64 - 1]
    assert (head["min"], head["max"]) == ("0", str(2**64 - 1))
    assert {key for row in rows for key in row if key.startswith("b")} == {f"b{place(v)}" for v in values}


def test_the_longest_line_of_buckets_fits(tmp_path: Path) -> None:
    """64 workers, a name of 64 characters, the largest counts in the buckets with the longest names."""
    code = """
    (void)slot;
    for (unsigned i = 7300; i < 7340; i++)
        bench_hist(job, worker, 0)->bucket[i] = UINT32_MAX;
}"""
    console = console_of(tmp_path, NO_PREPARATION + WORK + code, 64, hists=("n" * 64,))
    _, rows = lines_of(console, 63, "n" * 64)
    assert [len(row) for row in rows] == [24, 24]
    assert max(map(len, console.splitlines())) < 512 - (20 - 3)  # seq has 3 digits and may have 20


def test_too_many_histograms_are_refused(tmp_path: Path) -> None:
    console = console_of(tmp_path, NO_PREPARATION + WORK + "(void)job; (void)slot;\n}", hists=tuple("abcde"))
    assert console == b"benchfail: the workload names more than 4 histograms\n"


# ---- clock


def test_ticks_are_exact_at_any_rate(tmp_path: Path) -> None:
    """services.c with a port of its own, because the clock of this one counts nanoseconds."""
    guest = data_root() / "guest"
    main = tmp_path / "main.c"
    main.write_text("""
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "services.h"
static uint64_t hz;
uint64_t port_hz(void) { return hz; }
uint64_t port_now(void) { return 0; }
int port_wait(uint32_t *word, uint32_t seen, uint64_t ns) { return word == 0 && seen == ns; }
int port_wake(uint32_t *word, unsigned most) { return word == 0 && most; }
int main(int count, char **text) {
    hz = strtoull(text[1], 0, 10);
    for (int i = 2; i < count; i++)
        printf("%" PRIu64 "\\n", bench_ticks(strtoull(text[i], 0, 10)));
}
""")
    program = tmp_path / "ticks"
    argv = [
        *toolchain.compiler().argv,
        f"-I{guest}",
        str(main),
        str(guest / "services.c"),
        "-o",
        str(program),
    ]
    subprocess.run(argv, check=True, timeout=PATIENCE_S)
    lengths = [0, 1, 999, 10**9 - 1, 10**9, 86_400 * 10**9 + 1, 10**18]
    for hz in (1, 10**6, 2_893_202_000, 10**9, 9_999_999_999):
        words = [str(program), str(hz), *map(str, lengths)]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
        assert [int(line) for line in done.stdout.split()] == [
            length * hz // 10**9 % 2**64 for length in lengths
        ]


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
    found = values_of(tmp_path, SHARED + WORK + code, 2, mode=mode)
    assert found == [(sum(range(0, 1000, 2)), 0, 0, 0), (sum(range(1, 1000, 2)), 0, 0, 0)]


def test_a_wait_ends_by_its_timeout_or_at_once_if_the_word_differs(tmp_path: Path) -> None:
    code = """
    uint64_t before = port_now();
    slot->value[0] = (uint64_t)-port_wait(job->data, 0, 20000000);
    slot->value[1] = port_now() - before >= bench_ticks(20000000);
    slot->value[2] = (uint64_t)port_wait(job->data, 1, 0);
    slot->value[3] = (uint64_t)port_wake(job->data, 1);
}"""
    assert values_of(tmp_path, SHARED + WORK + code, 1) == [(1, 1, 0, 0)]


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
    assert values_of(tmp_path, SHARED + WORK + code, 5)[0] == (0, 1, 3, 0)


def test_sleep_ends_at_its_time_and_not_before(tmp_path: Path) -> None:
    code = """
    (void)job;
    uint64_t until = port_now() + bench_ticks(20000000);
    port_sleep_until(until);
    slot->value[0] = port_now() >= until;
    port_sleep_until(until - bench_ticks(10000000));
    slot->value[1] = 1;
}"""
    assert values_of(tmp_path, NO_PREPARATION + WORK + code, 1) == [(1, 1, 0, 0)]


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
    assert values_of(tmp_path, CHANNEL + WORK + code, 5, mode=mode)[0] == (800, 0, 0, 0)


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
    assert values_of(tmp_path, CHANNEL + WORK + code) == [(0, 0, 0, 0)] * 2


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
    assert values_of(tmp_path, NO_PREPARATION + code, 2, mode=Mode.THREAD) == [(1500, 0, 0, 0)] * 2


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
    assert values_of(tmp_path, SHARED + code, 1, mode=mode) == [(0, 128 + 4, 0, 5)]


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
    assert values_of(tmp_path, NO_PREPARATION + code, 1) == [(0, 0, 0, 128 + 11)]


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
    assert values_of(tmp_path, code, 8, mode=mode) == [(0, 1000, 0, 0)] * 8


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
        shared->sum++;
        bench_unlock(&shared->lock);
        slot->value[1] += bench_next(&shared->next);
    }
    slot->value[0] = shared->sum;
}"""
    found = values_of(tmp_path, SHARED + code, 3, mode=mode)
    assert max(a for a, *_ in found) == 60_000
    assert sum(b for _, b, *_ in found) == sum(range(60_000))
