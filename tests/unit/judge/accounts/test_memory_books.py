"""The books of a session's runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchgate.base.cells import Lane
from benchgate.judge.accounts.memory_books import run_books
from benchgate.judge.judged_run import JudgedRun
from tests.unit.factories import cell, raw_run, verified
from tests.unit.insn.test_log_reader import COMPLETE
from tests.unit.memory_logs import LOG


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
