"""The books of a session's runs, and what of them grew from one CPU count to another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.cells import Lane
from benchgate.insn.log_reader import read_log
from benchgate.judge.accounts.memory_books import (
    RunBooks,
    growths,
    parts_of,
    run_books,
    spendings,
)
from benchgate.judge.judged_run import JudgedRun
from tests.unit.factories import cell, raw_run, verified
from tests.unit.insn.test_log_reader import COMPLETE
from tests.unit.memory_logs import LOG, ONE_CPU, SLOW_CPU


def run(number: int, work: int, log: Path | None, *, warmup: bool = False) -> JudgedRun:
    raw = replace(raw_run(cell(2), attempt=number, lane=Lane.INSN, warmup=warmup), clock_log=log)
    return JudgedRun(raw, verified(raw, work))


def test_the_books_of_counted_runs_and_of_the_median_one(tmp_path: Path) -> None:
    path = tmp_path / "clock.log"
    path.write_text(LOG, encoding="ascii")
    ideal = tmp_path / "ideal.log"
    ideal.write_text(COMPLETE, encoding="ascii")
    runs = [
        run(1, 50, path, warmup=True),
        run(2, 900, path),
        run(3, 700, path),
        run(4, 800, path),
        run(5, 600, ideal),
        JudgedRun(raw_run(cell(2)), None, "wrong"),
    ]
    seen = run_books(runs)
    # Of 600, 700, 800, 900 the lower middle one is 700.
    assert [(one.run, one.is_median) for one in seen] == [(2, False), (3, True), (4, False)]
    assert (seen[0].cell, seen[0].cpus, seen[0].books.machine) == ("primes-linux-smp2", 2, "toy2")


def books(folder: Path, text: str, cpus: int, total: int, **more: object) -> RunBooks:
    path = folder / f"{cpus}.log"
    path.write_text(text, encoding="ascii")
    log = read_log(path)
    assert log.memory is not None
    given = {"run": cpus, "cell": f"counters-linux-smp{cpus}", "row": "counters-linux", "is_median": True}
    facts = {**given, "cpus": cpus, "seed": 7, "books": log.memory, "orders": log.orders, "total": total}
    return RunBooks(**{**facts, **more})  # type: ignore[arg-type]


@pytest.fixture
def two(tmp_path: Path) -> RunBooks:
    return books(tmp_path, LOG, 2, 10_000)


@pytest.fixture
def one(tmp_path: Path) -> RunBooks:
    return books(tmp_path, ONE_CPU, 1, 12_800)


def test_the_parts_of_the_window_are_those_of_all_cpus(two: RunBooks) -> None:
    assert dict(parts_of(two)) == {
        "instructions": 12_000,
        "shared lines": 1400 + 3000,
        "own caches": 80 + 60,
        "memory": 200,
        "remote memory": 440,
        "queueing": 500,
        "atomics": 120,
        "page walks": 0,
        "interrupts": 100,
        "pauses": 100,
        "halted": 2000,
    }
    assert sum(parts_of(two).values()) == 20_000  # two CPUs, 10,000 ns each


def test_instructions_of_a_small_cpu_take_longer(tmp_path: Path) -> None:
    """Those of vCPU 1 in the window 2 ns each, less the ns in which the boot ended."""
    parts = parts_of(books(tmp_path, SLOW_CPU, 2, 10_000))
    assert parts["instructions"] == 6_000 + 2 * 6_000 - 1
    assert parts["shared lines"] == 1400 + 3000


def test_what_grew_is_named_the_largest_first(one: RunBooks, two: RunBooks) -> None:
    (growth,) = growths(spendings([two, one]))
    # One CPU spent 12,000 on instructions, 500 on its caches and 300 on memory.
    assert growth.causes == (
        ("shared lines", 4400),
        ("halted", 2000),
        ("queueing", 500),
        ("remote memory", 440),
        ("atomics", 120),
        ("interrupts", 100),
        ("pauses", 100),
    )
    assert growth.efficiency == pytest.approx(12_800 / 20_000)


def test_only_median_runs_of_one_row_are_compared(tmp_path: Path, one: RunBooks, two: RunBooks) -> None:
    other = books(tmp_path, LOG, 2, 10_000, row="locks-linux")
    assert growths(spendings([one, other])) == ()
    hidden = books(tmp_path, LOG, 2, 10_000, is_median=False)
    assert growths(spendings([one, hidden])) == ()
    assert spendings([hidden]) == ()
    assert [seen.of.cpus for seen in spendings([two, one])] == [1, 2]
