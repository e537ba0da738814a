"""Operations in one whole session: tern against Linux, what is skipped, and the files to compare."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.line.sessions import Session, run_benchgate, run_pytest

ROWS = """\
import pytest


@pytest.mark.system("kernel")
@pytest.mark.workload("micro", op="getpid")
@pytest.mark.ratio(to="linux", cpus=1, metric="cost", at_least=2.5)
def test_tern_needs_less(verdict):
    verdict.require_pass()


@pytest.mark.system("kernel", "linux")
@pytest.mark.workload("micro", op="stat", iters=500, share="one")
def test_every_run_is_right(cell):
    cell.require_verified()
"""
KEVLAR = {"label": "kevlar", "benchmarks": {"getpid": {"per_iter_ns": 2233600}}}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    folder = tmp_path_factory.mktemp("micro")
    (folder / "test_rows.py").write_text(ROWS)
    return run_pytest(folder, "test_rows.py", "--clock=insn", "--smp=1")


def costs(session: Session, system: str, op: str) -> list[float]:
    """Of the counted runs, in the order of their seeds."""
    with (session.folder / "metrics.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if (row["system"], row["metric"]) == (system, "cost")]
    return [float(row["value"]) for row in rows if f"op={op};" in row["params"]]


def test_seeds_agree_to_the_instruction_or_nearly(session: Session) -> None:
    assert session.code == 0, session.output
    tern, linux = costs(session, "kernel", "getpid"), costs(session, "linux", "getpid")
    assert len(tern) == 6  # the first seed twice
    assert len(set(tern)) == 1
    assert linux[0] == linux[1]
    assert max(linux) < 1.001 * min(linux)


def test_a_system_without_files_skips_by_name(session: Session) -> None:
    assert "micro with op=stat needs files, which kernel does not have" in " ".join(session.output.split())
    lines = (session.folder / "bench-lines.txt").read_text()
    assert "BENCH getpid 1000 " in lines
    assert "BENCH_SKIP stat_shared (" in lines
    assert lines.count("BENCH_START") == lines.count("BENCH_END") == 2


def test_the_session_is_compared_with_itself_and_with_kevlar(session: Session, tmp_path: Path) -> None:
    (tmp_path / "kevlar.json").write_text(json.dumps(KEVLAR))
    words = (f"{session.folder}:linux", f"{session.folder}:kernel", "--metric=cost")
    code, text = run_benchgate(tmp_path, "compare", *words)
    assert (code, " ".join(text.split()).count("] B")) == (0, 1), text
    code, text = run_benchgate(tmp_path, "compare", f"{session.folder}:linux", "kevlar.json")
    assert code == 0, text
    assert "getpid" in text
