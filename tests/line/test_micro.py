"""Operations in one whole session: tern against Linux, what is skipped, and the files to compare."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.line.sessions import Session, light_tern, run_benchgate, run_pytest

ROWS = """\
import pytest


@pytest.mark.system("kernel.yaml", "linux:start=warm")
@pytest.mark.workload("micro", op="getpid")
def test_getpid_is_right(cell):
    cell.require_verified()


@pytest.mark.system("kernel.yaml", "linux:start=warm")
@pytest.mark.workload("micro", op="stat", iters=500, share="one")
def test_every_run_is_right(cell):
    cell.require_verified()
"""
LINUX = "linux.start-warm"
"""It costs a quarter of a cold start (docs/how-to/warm.md), and what an operation costs is the same."""
KEVLAR = {"label": "kevlar", "benchmarks": {"getpid": {"per_iter_ns": 2233600}}}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    folder = tmp_path_factory.mktemp("micro")
    light_tern(folder)
    (folder / "test_rows.py").write_text(ROWS)
    return run_pytest(folder, "test_rows.py", "--clock=insn", "--smp=1", "--runs=1")


def costs(session: Session, system: str, op: str) -> list[float]:
    """The costs of all runs: the first seed, twice."""
    with (session.folder / "metrics.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if (row["system"], row["metric"]) == (system, "cost")]
    return [float(row["value"]) for row in rows if f"op={op};" in row["params"]]


def test_a_seed_repeats_and_tern_needs_less(session: Session) -> None:
    assert session.code == 0, session.output
    tern, linux = costs(session, "kernel", "getpid"), costs(session, LINUX, "getpid")
    assert (len(tern), len(set(tern))) == (2, 1)
    assert (len(linux), len(set(linux))) == (2, 1)
    assert linux[0] > 2.5 * tern[0]


def test_a_system_without_files_skips_by_name(session: Session) -> None:
    assert "micro with op=stat needs files, which kernel does not have" in " ".join(session.output.split())
    lines = (session.folder / "bench-lines.txt").read_text()
    assert "BENCH getpid 1000 " in lines
    assert "BENCH_SKIP stat_shared (" in lines
    assert lines.count("BENCH_START") == lines.count("BENCH_END") == 2


def test_the_session_is_compared_with_kevlar_and_warm_with_cold_never(
    session: Session, tmp_path: Path
) -> None:
    (tmp_path / "kevlar.json").write_text(json.dumps(KEVLAR))
    words = (f"{session.folder}:{LINUX}", f"{session.folder}:kernel", "--metric=cost")
    code, text = run_benchgate(tmp_path, "compare", *words)
    assert (code, "starts warm and kernel cold: their figures are never compared" in text) == (4, True), text
    code, text = run_benchgate(tmp_path, "compare", f"{session.folder}:{LINUX}", "kevlar.json")
    assert code == 0, text
    assert "getpid" in text
