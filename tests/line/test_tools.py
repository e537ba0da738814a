"""Existing programs, fetched and run for real: one row in a guest, and failures (tests/tools has more rows).

The package source is read unless the reviewed set is in the cache.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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

CELL = """

@pytest.mark.workload({workload})
def test_{name}(cell):
    cell.require_verified()
"""
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


def write_summed(folder: Path, numbers: str = "40\n2\n") -> str:
    """A script and its data; gives the workload's file."""
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "numbers.txt").write_text(numbers)
    (folder / "sum.sh").write_text(SCRIPT)
    (folder / "summed.yaml").write_text(SUM)
    return f"{folder.name}/summed.yaml"


def write_cells(where: Path, workloads: Mapping[str, str]) -> None:
    """One test for each workload."""
    tests = [CELL.format(name=name, workload=workload) for name, workload in workloads.items()]
    (where / "test_line.py").write_text("import pytest\n" + "".join(tests))


def of_row(session: Session, row: str) -> dict[str, Any]:
    (result,) = (verdict for verdict in session.verdicts if verdict["id"] == f"{row}-verified")
    return result


# ---- in the guest

WARM, LINUX = "linux:start=warm", "linux.start-warm"
"""A boot costs a quarter of a cold one, and programs come to it in the same way. tests/tools boots cold."""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """One session of four boots: two programs, one of them a script with data."""
    where = tmp_path_factory.mktemp("tools")
    write_cells(
        where, {"hackbench": '"hackbench", loops=20', "summed": f'"{write_summed(where / "summed")}"'}
    )
    words = (f"--system={WARM}", "--system=kernel", "--clock=insn", "--smp=2", "--runs=1")
    return run_pytest(where, *words)


def test_a_program_runs_in_the_guest_and_informs(session: Session) -> None:
    assert session.code == 0, session.output
    linux, kernel = (of_row(session, f"hackbench.loops-20-{system}-smp2") for system in (LINUX, "kernel"))
    assert (linux["outcome"], kernel["outcome"]) == ("PASS", "SKIP")
    assert "all worked (unverified by the tool: for information only)" in linux["reason"]
    assert "hackbench needs programs, which kernel does not have" in kernel["reason"]
    assert "hackbench: unverified by the tool" in session.output


def test_a_script_and_its_data_are_in_the_guest(session: Session) -> None:
    assert of_row(session, f"summed-{LINUX}-smp2")["outcome"] == "PASS", session.output
    kernel = of_row(session, "summed-kernel-smp2")
    assert "summed needs programs, which kernel does not have" in kernel["reason"]


def test_its_seed_repeats_with_what_it_printed(session: Session) -> None:
    """The warm-up has the seed of the first run."""
    with (session.folder / "metrics.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["workload"] == "hackbench"]
    seconds = [float(row["value"]) for row in rows if row["metric"] == "seconds"]
    assert len(seconds) == 2
    assert seconds[0] == seconds[1] > 0
    assert len({row["value"] for row in rows if row["metric"] == "work"}) == 1


def test_its_session_is_judged_again(session: Session) -> None:
    where = session.folder.parents[1]
    words = ("verify", session.folder, "--workload", "summed/summed.yaml")
    code, output = run_benchgate(where, *words)
    assert code == 0, output


# ---- natively


WRONG = {
    "status": ('"--iters={steps}"', "--iterations=5", "ssdd ended with status"),
    "output": ("PASSED", "FAILED", r"ssdd printed nothing that matches `^All tests FAILED\.$`"),
    "values": ("steps: (", "step: (", "ssdd printed 0 values of steps"),
}


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """One session of programs that do their work, and of some that do not."""
    where = tmp_path_factory.mktemp("native")
    (where / "ssdd.yaml").write_text(SSDD)
    rows = {"ssdd": '"ssdd.yaml"', "summed": f'"{write_summed(where / "summed")}"'}
    for name, (old, new, _) in WRONG.items():
        assert old in SSDD
        text = SSDD.replace("name: ssdd", f"name: ssdd_{name}", 1).replace(old, new, 1)
        (where / f"ssdd_{name}.yaml").write_text(text)
        rows[name] = f'"ssdd_{name}.yaml"'
    other = where / "other" / write_summed(where / "other" / "summed", "40\n3\n")
    other.write_text(SUM.replace("name: summed", "name: other"))
    write_cells(where, {**rows, "other": '"other/summed/summed.yaml"'})
    session = run_on_wall_time(where, "--system=native", "--smp=1", "--runs=1")
    assert session.code == 1, session.output
    return session


@pytest.mark.parametrize("program", ["ssdd", "summed"])
@pytest.mark.alone
def test_a_program_runs_natively_with_its_own_libraries(native: Session, program: str) -> None:
    """`summed` is a script, with its data."""
    assert of_row(native, f"{program}-native-smp1")["outcome"] == "PASS", native.output


@pytest.mark.alone
def test_other_data_are_noticed(native: Session) -> None:
    verdict = of_row(native, "other-native-smp1")
    assert verdict["outcome"] == "INVALID", native.output
    assert "dash printed nothing that matches `^sum 42$`" in verdict["reason"]


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.alone
def test_a_program_that_did_not_do_its_work_is_invalid(native: Session, wrong: str) -> None:
    verdict = of_row(native, f"ssdd_{wrong}-native-smp1")
    assert verdict["outcome"] == "INVALID", native.output
    assert WRONG[wrong][2] in verdict["reason"]


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
