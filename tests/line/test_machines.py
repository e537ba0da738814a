"""A session on a machine, from its options to its evidence: made, checked, and changed by a forger."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from benchgate.evidence.chain import manifest_text
from benchgate.evidence.files import MANIFEST, digest_of, files_below
from benchgate.insn.machine_shape import FILE
from benchgate.plan import machinefile
from tests.line.sessions import Session, light_tern, run_benchgate, run_pytest
from tests.unit.machines import BOTH, DUO, UNEVEN

TEST = """\
import pytest


@pytest.mark.system("kernel.yaml")
@pytest.mark.workload("tasks", steps=4000)
def test_right(cell):
    cell.require_verified()


@pytest.mark.system("kernel.yaml")
@pytest.mark.machine("./uneven.yaml")
@pytest.mark.workload("primes", hi=20000)
@pytest.mark.limit(cpus=4, metric="work", at_most=1_000_000_000)
def test_uneven(verdict):
    verdict.require_pass()


@pytest.mark.system("kernel.yaml")
@pytest.mark.machine("./both.yaml")
@pytest.mark.workload("tasks", steps=4000)
def test_right_on_both(cell):
    cell.require_verified()


@pytest.mark.system("kernel.yaml")
@pytest.mark.machine("ideal")
@pytest.mark.workload("tasks", steps=4000)
def test_right_on_ideal(cell):
    cell.require_verified()
"""


INSTRUCTIONS = re.compile(r"^saw work ([0-9]+) instructions ([0-9]+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Rows of one kernel on the machine and on the ideal one. Each repeats one seed."""
    folder = tmp_path_factory.mktemp("machine")
    light_tern(folder)
    (folder / "duo.yaml").write_text(DUO)
    (folder / "uneven.yaml").write_text(UNEVEN)
    (folder / "both.yaml").write_text(BOTH)
    (folder / "test_rows.py").write_text(TEST)
    words = ("-rs", "--machine=./duo.yaml", "--clock=insn", "--smp=1,4,8", "--runs=1")
    done = run_pytest(folder, "test_rows.py", *words)
    assert done.code in (0, 5), done.output
    return done


def test_rows_of_both_machines_are_told_apart(session: Session) -> None:
    verified = {(row["system"], row["cpus"]) for row in session.rows if row["verified"] == "true"}
    assert verified == {
        *(("kernel-duo", cpus) for cpus in ("1", "4")),
        *(("kernel", cpus) for cpus in ("1", "4", "8")),
        *(("kernel-both", cpus) for cpus in ("1", "4")),
        ("kernel-uneven", "4"),
    }, session.output
    assert "machine duo: it has 4 CPUs, fewer than 8" in session.output
    assert re.search(r"machine duo \([0-9a-f]{12}\): invented", session.output)


def test_a_machine_costs_time(session: Session) -> None:
    (ideal,), (duo,) = session.work(1, "kernel"), session.work(1, "kernel-duo")
    assert duo > ideal


def test_work_in_equal_parts_ends_when_the_slowest_cpu_is_done(session: Session) -> None:
    """CPU 3 works from the start to the end, and each of its instructions takes 1024 / 300 ns. Both runs of
    the row are of one seed, so they took the same time."""
    (took,) = {*session.work(4, "kernel-uneven")}
    log = next(session.folder.resolve().glob("runs/*kernel-uneven-smp4/clock.log")).read_text()
    counted = {int(vcpu): int(count) for vcpu, count in INSTRUCTIONS.findall(log)}
    assert max(counted[cpu] for cpu in range(3)) < 1.2 * counted[3]
    assert took == pytest.approx(counted[3] * 1024 / 300, rel=0.01)


def test_the_session_is_intact_and_keeps_the_machine(session: Session) -> None:
    code, output = run_benchgate(session.folder, "verify", session.folder)
    assert code == 0, output
    facts = json.loads((session.folder / "session.json").read_text())
    kept = {"duo": DUO, "uneven": UNEVEN, "both": BOTH}
    assert {name: facts["machines"][name]["text"] for name in kept} == kept
    shapes = [path.parent.name for path in session.folder.glob(f"runs/*/{FILE}")]
    assert shapes
    assert all("kernel-duo" in name or "kernel-both" in name for name in shapes)


def forged(session: Session, where: Path, *, everywhere: bool) -> Path:
    """The session with another latency in its machine, and if `everywhere` in the shapes of its runs."""
    recorded(session, where, "duo", DUO.replace("local_ns: 50", "local_ns: 40"))
    for shape in where.glob(f"runs/*/{FILE}") if everywhere else ():
        shape.write_text(shape.read_text().replace("local_ns 50", "local_ns 40"))
    return sealed(where)


def recorded(session: Session, where: Path, name: str, text: str) -> Path:
    """A copy of the session that records this text of a machine."""
    shutil.copytree(session.folder.resolve(), where)
    path = where / "session.json"
    facts = json.loads(path.read_text())
    machine = machinefile.read(text, path)
    assert machine is not None
    facts["machines"][name] = {"text": text, "digest": machine.digest}
    path.write_text(json.dumps(facts, indent=2) + "\n")
    return where


def sealed(where: Path) -> Path:
    digests = {name: digest_of(where, name) for name in files_below(where) if name != MANIFEST}
    (where / MANIFEST).write_text(manifest_text(digests))
    return where


@pytest.mark.parametrize(("name", "text"), [("uneven", UNEVEN), ("both", BOTH)])
def test_a_bundle_with_other_speeds_of_its_cpus_is_refused(
    session: Session, tmp_path: Path, name: str, text: str
) -> None:
    other = text.replace("capacity: 300", "capacity: 301")
    made = recorded(session, tmp_path / session.folder.resolve().name, name, other)
    result, output = run_benchgate(tmp_path, "verify", sealed(made))
    assert result == 12, output
    assert "results.csv does not follow from the runs" in output


@pytest.mark.parametrize(("everywhere", "code"), [(False, 12), (True, 10)])
def test_a_bundle_of_another_machine_file_is_refused(
    session: Session, tmp_path: Path, everywhere: bool, code: int
) -> None:
    """A changed run breaks the chain of attempts, too."""
    made = forged(session, tmp_path / session.folder.resolve().name, everywhere=everywhere)
    result, output = run_benchgate(tmp_path, "verify", made)
    assert result == code, output


def test_the_rows_of_both_machines_are_not_compared(session: Session) -> None:
    sides = (f"{session.folder}:kernel-duo", f"{session.folder}:kernel")
    code, output = run_benchgate(session.folder, "compare", *sides)
    assert code not in (0, 1), output
    assert "is on duo" in output
    assert "figures of two machines are never compared" in output


def test_a_run_on_a_machine_is_replayed_equal(session: Session, tmp_path: Path) -> None:
    run = sorted(session.folder.resolve().glob("runs/*kernel-duo-smp4"))[-1]
    own = ("--system", session.folder.parents[1] / "kernel.yaml")
    code, output = run_benchgate(tmp_path, "replay", run, *own, "--out", tmp_path / "again")
    assert code == 0, output
    assert "the same run" in output
