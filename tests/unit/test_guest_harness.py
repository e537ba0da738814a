"""The harness: begin line, number of workers, time of a run, histograms, and the length of a tick."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from bisect import bisect_right
from collections import Counter
from pathlib import Path

import pytest

from benchgate.base.cells import Mode
from benchgate.base.paths import data_root
from benchgate.base.system.arch import named
from benchgate.build import toolchain
from benchgate.judge import wire
from tests.machines import PATIENCE_S
from tests.unit.smallguest import BOTH_MODES, IDLE, NO_PREPARATION, NONCE, WORK, Small

pytestmark = pytest.mark.usefixtures("own_cache")


# ---- the begin line, the number of workers, the time of a run


def test_the_begin_line_is_of_version_2_and_has_the_clocks_rate(tmp_path: Path) -> None:
    console = Small(tmp_path, IDLE, params={"size": 7}).console()
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
    reports = Small(tmp_path, code, mode, params={"size": 5}).reports()
    assert [(report.id, report.values["a"], report.values["b"]) for report in reports] == [
        (i, 2, 5) for i in range(5)
    ]


def test_a_number_of_workers_that_the_harness_cannot_start_is_refused(tmp_path: Path) -> None:
    code = OWN + WORK + "}"
    for size in (0, 65):
        console = Small(tmp_path, code, params={"size": size}).console()
        assert console == b"benchfail: the workload must prepare 1 to 64 workers\n"


def test_the_number_of_cpus_is_checked(tmp_path: Path) -> None:
    small = Small(tmp_path, IDLE)
    assert small.console(cpus=0) == b"benchfail: bench.cpus must be 1 to 64\n"


def test_own_workers_run_on_all_cpus_of_the_list(tmp_path: Path) -> None:
    """One CPU is listed twice for two CPUs; five workers share it."""
    cpu = max(os.sched_getaffinity(0))
    small = Small(tmp_path, OWN + WORK + "}", params={"size": 5})
    reports = small.reports(pin=f"{cpu},{cpu}")
    assert [(report.cpu, report.cpu_end) for report in reports] == [(cpu, cpu)] * 5


HOOKS = """
static void before(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)worker;
    slot->value[0] = 1 + __atomic_load_n(&job->gate, __ATOMIC_ACQUIRE); // closed until all have arrived
}
static void after(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)job, (void)worker;
    slot->value[1] = slot->end >= slot->start && slot->value[2] == 3;
}
"""


@BOTH_MODES
def test_before_and_after_are_outside_the_window(tmp_path: Path, mode: Mode) -> None:
    code = NO_PREPARATION + HOOKS + WORK + "slot->value[2] = 3;\n}"
    reports = Small(tmp_path, code, mode, more=".before = before, .after = after,").reports()
    assert [(report.values["a"], report.values["b"]) for report in reports] == [(1, 1), (1, 1)]


def test_time_ns_ends_a_run(tmp_path: Path) -> None:
    """The time begins when the last worker is at the starting line: all are warm, and none has begun. Until
    the end of work(), a slot's start is the time of its warm-up."""
    time = 30_000_000
    code = """
    slot->value[0] = job->deadline;
    slot->value[1] = slot->start;
    while (bench_running(job))
        ;
}"""
    console = Small(tmp_path, NO_PREPARATION + WORK + code, params={"time_ns": time}).console(3)
    run = wire.parse(console, nonce=NONCE)
    (deadline,) = {report.values["a"] for report in run.reports}
    warm = max(report.values["b"] for report in run.reports)
    assert warm <= deadline - time <= run.work_start
    assert min(report.end for report in run.reports) >= deadline


def test_without_time_ns_a_run_ends_by_its_work(tmp_path: Path) -> None:
    code = """
    for (slot->value[0] = 0; slot->value[0] < 1000 && bench_running(job);)
        slot->value[0]++;
    slot->value[1] = job->deadline;
}"""
    assert Small(tmp_path, NO_PREPARATION + WORK + code).values(1) == [(1000, 0, 0, 0)]


# ---- histograms

VALUES = 2000
RECORD = """
static uint64_t value_number(uint64_t i, unsigned worker) {
    uint64_t x = (i + 1000 * worker + 1) * 0x9e3779b97f4a7c15ull;
    return (x >> (8 + i % 56)) + 3;
}
"""
"""Numbers of all sizes below 2^57: 2000 of them sum to less than 2^64. None is 0, as an empty minimum is."""


def value_number(i: int, worker: int) -> int:
    return (((i + 1000 * worker + 1) * 0x9E3779B97F4A7C15) % 2**64 >> (8 + i % 56)) + 3


def first_of(bucket: int) -> int:
    """The first value of a bucket by the definition in guest/bench.h."""
    return bucket if bucket < 128 else (128 + bucket % 128) << (bucket // 128 - 1)


FIRST = [first_of(bucket) for bucket in range(58 * 128)]


def place(value: int) -> int:
    return bisect_right(FIRST, value) - 1


def fields(line: bytes) -> dict[str, str]:
    return dict(word.split("=") for word in line.decode().split()[2:])


def lines_of(console: bytes, worker: int, name: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """The hist line and the bucket lines of one histogram."""
    result = [line for line in console.splitlines() if re.match(rb"@bench (hist|bucket) ", line)]
    mine = [line for line in result if fields(line)["worker"] == str(worker) and fields(line)["name"] == name]
    assert [line.split()[1] for line in mine] == [b"hist"] + [b"bucket"] * (len(mine) - 1)
    return fields(mine[0]), [fields(line) for line in mine[1:]]


def test_the_buckets_follow_each_other() -> None:
    assert sorted(set(FIRST)) == FIRST
    assert FIRST[:130] == [*range(128), 128, 129]
    assert max(FIRST) < 2**64 <= max(FIRST) + 2**56


@BOTH_MODES
def test_a_histogram_has_every_value_in_its_bucket(tmp_path: Path, mode: Mode) -> None:
    code = f"""
    for (uint64_t i = 0; i < {VALUES}; i++)
        bench_record(bench_hist(job, worker, 1), value_number(i, worker));
}}"""
    console = Small(
        tmp_path, NO_PREPARATION + RECORD + WORK + code, mode, hists=("empty", "wake", "rest")
    ).console()
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
            "squares": sum(figure * figure for figure in places),
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
    const uint64_t ends[] = {0, 127, 128, 255, 256, 0x7fffffffffffffff, 0xffffffffffffffff};
    for (unsigned i = 0; i < 7; i++)
        bench_record(bench_hist(job, worker, 0), ends[i]);
}"""
    console = Small(tmp_path, NO_PREPARATION + WORK + code, hists=("wake",)).console(1)
    head, rows = lines_of(console, 0, "wake")
    values = [0, 127, 128, 255, 256, 2**63 - 1, 2**64 - 1]
    assert (head["min"], head["max"]) == ("0", str(2**64 - 1))
    assert {key for row in rows for key in row if key.startswith("b")} == {f"b{place(v)}" for v in values}


def test_the_longest_line_of_buckets_fits(tmp_path: Path) -> None:
    """64 workers, a name of 64 characters, the largest counts in the buckets with the longest names."""
    code = """
    for (unsigned i = 7300; i < 7340; i++)
        bench_hist(job, worker, 0)->bucket[i] = UINT32_MAX;
}"""
    console = Small(tmp_path, NO_PREPARATION + WORK + code, hists=("n" * 64,)).console(64)
    _, rows = lines_of(console, 63, "n" * 64)
    assert [len(row) for row in rows] == [24, 24]
    assert max(map(len, console.splitlines())) < 512 - (20 - 3)  # seq has 3 digits and may have 20


def test_too_many_histograms_are_refused(tmp_path: Path) -> None:
    console = Small(tmp_path, IDLE, hists=tuple("abcde")).console()
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


# ---- the length of a turn


@pytest.mark.parametrize("name", ["x86_64", "aarch64", "riscv64"])
def test_a_turn_has_as_many_instructions_as_promises_say(tmp_path: Path, name: str) -> None:
    """A loop ends with a jump back to its begin, and is all that is between them."""
    arch, source = named(name), tmp_path / "turns.c"
    source.write_text(
        '#include "work.h"\nuint64_t turns(uint64_t x, uint64_t n);\n'
        "uint64_t turns(uint64_t x, uint64_t n) { return bench_turns(x, n); }\n"
    )
    found = [(word, shutil.which(word)) for word in (f"{arch.triple}-gcc", "clang", "clang-14")]
    compilers = [path for _, path in found if path]
    if not compilers:
        pytest.skip(f"no compiler for {name}: {', '.join(word for word, _ in found)}")
    for compiler in compilers:
        target = [f"--target={arch.triple}"] if "clang" in compiler else []
        words = [
            compiler,
            *target,
            "-std=c11",
            "-O2",
            "-Werror",
            "-ffreestanding",
            f"-I{data_root() / 'guest'}",
        ]
        built = subprocess.run([*words, "-S", "-o", "-", str(source)], check=True, capture_output=True)
        assert _loops(built.stdout.decode()) == [arch.turn], compiler


def _loops(assembly: str) -> list[int]:
    """How many instructions each loop of this function has."""
    labels: dict[str, int] = {}
    count, result = 0, []
    for line in assembly.partition("\nturns:")[2].splitlines():
        word = line.split("#")[0].split("//")[0].strip()
        if word.endswith(":"):
            labels[word[:-1]] = count
        elif word and not word.startswith((".", "#")):
            count += 1
            target = re.split(r"[\s,]+", word)[-1]
            if target in labels:
                result.append(count - labels[target])
    return result
