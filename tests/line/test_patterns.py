"""One row of the parallel patterns, booted on Linux and on tern: its answers and its metrics."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.line.sessions import CELLS, light_tern, run_pytest, write_test

SERVICE = '"service", requests=400, route="spread"'


def test_clients_and_servers_on_linux_and_tern(tmp_path: Path) -> None:
    test = write_test(tmp_path, CELLS, SERVICE)
    session = run_pytest(
        tmp_path,
        test,
        "--clock=insn",
        "--smp=2",
        "--runs=1",
        "--system=linux:start=warm",
        f"--system={light_tern(tmp_path)}",
    )
    assert session.code == 0, session.output
    assert {row["verified"] for row in session.rows} == {"true"}
    with (session.folder / "metrics.csv").open() as stream:
        figures = {(row["system"], row["metric"]): float(row["value"]) for row in csv.DictReader(stream)}
    for system in ("linux.start-warm", "kernel"):
        work_ns = session.work(2, system)[0]
        assert figures[system, "rps"] == pytest.approx(400e9 / work_ns)
        assert 0 < figures[system, "latency_p50"] <= figures[system, "latency_p99"] < work_ns
