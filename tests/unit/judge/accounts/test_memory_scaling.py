"""What grows when a row gets more CPUs, by cause, in figures that were added by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.insn.log_reader import read_log
from benchgate.judge.accounts.memory_books import RunBooks
from benchgate.judge.accounts.memory_scaling import growths, parts_of, spendings
from tests.unit.memory_logs import LOG, ONE_CPU


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


def test_what_grew_is_named_the_largest_first(one: RunBooks, two: RunBooks) -> None:
    (found,) = growths(spendings([two, one]))
    # One CPU spent 12,000 on instructions, 500 on its caches and 300 on memory.
    assert found.causes == (
        ("shared lines", 4400),
        ("halted", 2000),
        ("queueing", 500),
        ("remote memory", 440),
        ("atomics", 120),
        ("interrupts", 100),
        ("pauses", 100),
    )
    assert found.efficiency == pytest.approx(12_800 / 20_000)


def test_only_median_runs_of_one_row_are_compared(tmp_path: Path, one: RunBooks, two: RunBooks) -> None:
    other = books(tmp_path, LOG, 2, 10_000, row="locks-linux")
    assert growths(spendings([one, other])) == ()
    hidden = books(tmp_path, LOG, 2, 10_000, is_median=False)
    assert growths(spendings([one, hidden])) == ()
    assert spendings([hidden]) == ()
    assert [seen.of.cpus for seen in spendings([two, one])] == [1, 2]
