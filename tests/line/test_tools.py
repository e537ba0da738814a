"""Existing programs, fetched and run for real: one row in a guest, and failures (tests/tools has more rows).

The package source is read unless the reviewed set is in the cache.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchgate.base.paths import data_root
from tests.line.sessions import CELLS, Session, run_benchgate, run_on_wall_time, run_pytest, write_test

SSDD = """\
name: ssdd
program:
  package: rt-tests
  run: [ssdd, "--forks={cpus}", "--iters={steps}"]
  result:
    steps: {regex: "^#steps: (\\\\d+)$"}
  worked:
    output: ["^All tests PASSED\\\\.$"]
  verified: by-tool
params:
  steps: {default: 20, maximum: 1000}
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    where = tmp_path_factory.mktemp("tools")
    write_test(where, CELLS, '"hackbench", loops=20')
    words = ("--system=linux", "--system=kernel", "--clock=insn", "--smp=2", "--runs=1")
    return run_pytest(where, *words)


def test_a_program_runs_in_the_guest_and_informs(session: Session) -> None:
    assert session.code == 0, session.output
    of = {one["system"]: one for one in session.verdicts}
    assert (of["linux"]["outcome"], of["kernel"]["outcome"]) == ("PASS", "SKIP")
    assert "all worked (unverified by the tool: for information only)" in of["linux"]["reason"]
    assert "hackbench needs programs, which kernel does not have" in of["kernel"]["reason"]
    assert "hackbench: unverified by the tool" in session.output


def test_its_seed_repeats_with_what_it_printed(session: Session) -> None:
    """The warm-up has the seed of the first run."""
    with (session.folder / "metrics.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    seconds = [float(row["value"]) for row in rows if row["metric"] == "seconds"]
    assert len(seconds) == 2
    assert seconds[0] == seconds[1] > 0
    assert len({row["value"] for row in rows if row["metric"] == "work"}) == 1


def test_its_session_is_judged_again(session: Session) -> None:
    code, output = run_benchgate(session.folder.parent, "verify", session.folder)
    assert code == 0, output


def native(where: Path, old: str = "", new: str = "") -> Session:
    assert old in SSDD
    (where / "ssdd.yaml").write_text(SSDD.replace(old, new, 1))
    write_test(where, CELLS, '"ssdd.yaml"')
    return run_on_wall_time(where, "--system=native", "--smp=1", "--runs=1")


@pytest.mark.alone
def test_a_program_runs_natively_with_its_own_libraries(tmp_path: Path) -> None:
    session = native(tmp_path)
    assert session.code == 0, session.output


SUM = """\
name: summed
program:
  package: dash
  run: [dash, "{files}/sum.sh", "{files}/data/numbers.txt"]
  result:
    sum: {regex: "^sum ([0-9]+)$"}
  worked:
    output: ["^sum 42$"]
  verified: by-tool
files: [sum.sh, data/numbers.txt]
"""
SCRIPT = 'sum=0\nwhile read -r n; do sum=$((sum + n)); done < "$1"\necho "sum $sum"\n'


@pytest.fixture
def summed(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "numbers.txt").write_text("40\n2\n")
    (tmp_path / "sum.sh").write_text(SCRIPT)
    (tmp_path / "summed.yaml").write_text(SUM)
    write_test(tmp_path, CELLS, '"summed.yaml"')
    return tmp_path


def test_a_script_and_its_data_are_in_the_guest(summed: Path) -> None:
    words = ("--system=linux", "--system=kernel", "--clock=insn", "--smp=1", "--runs=1")
    session = run_pytest(summed, *words)
    assert session.code == 0, session.output
    of = {one["system"]: one for one in session.verdicts}
    assert of["linux"]["outcome"] == "PASS", session.output
    assert "summed needs programs, which kernel does not have" in of["kernel"]["reason"]


@pytest.mark.alone
def test_a_script_and_its_data_are_on_the_host(summed: Path) -> None:
    session = run_on_wall_time(summed, "--system=native", "--smp=1", "--runs=1")
    assert session.code == 0, session.output
    assert [one["outcome"] for one in session.verdicts] == ["PASS"]


@pytest.mark.alone
def test_other_data_are_noticed(summed: Path) -> None:
    (summed / "data" / "numbers.txt").write_text("40\n3\n")
    session = run_on_wall_time(summed, "--system=native", "--smp=1", "--runs=1")
    (verdict,) = session.verdicts
    assert "dash printed nothing that matches `^sum 42$`" in verdict["reason"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"--iters={steps}"', "--iterations=5", "ssdd ended with status"),
        ("PASSED", "FAILED", r"ssdd printed nothing that matches `^All tests FAILED\.$`"),
        ("steps: (", "step: (", "ssdd printed 0 values of steps"),
    ],
)
@pytest.mark.alone
def test_a_program_that_did_not_do_its_work_is_invalid(tmp_path: Path, old: str, new: str, said: str) -> None:
    session = native(tmp_path, old, new)
    (verdict,) = session.verdicts
    assert verdict["outcome"] == "INVALID", session.output
    assert said in verdict["reason"]


def test_a_gate_on_a_program_that_does_not_verify_its_work_is_a_collection_error(tmp_path: Path) -> None:
    gate = CELLS.replace(
        "@pytest.mark.workload", "@pytest.mark.speedup(cpus=2, at_least=1.6)\n@pytest.mark.workload"
    )
    write_test(tmp_path, gate.replace("(cell)", "(verdict)"), '"hackbench"')
    session = run_pytest(tmp_path, "--plan")
    assert session.code != 0
    assert "workload hackbench is unverified by the tool" in session.output


def test_the_reviewed_versions_cover_our_programs() -> None:
    lock = (data_root() / "fixtures" / "tools.lock").read_text()
    for package in ("linux-perf", "rt-tests", "stress-ng", "sysbench"):
        assert f'name = "{package}"' in lock
