"""Installed from the wheel in an empty environment, in an empty folder: guests boot and a gate is decided.

No network: the environment's dependencies are lent by a .pth line, benchgate itself comes from the wheel.
"""

from __future__ import annotations

import statistics
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.line.sessions import REPO, Session, run, run_benchgate, run_pytest

FILES = (
    "guest/bench.h",
    "guest/init/init.c",
    "guest/workloads/primes/primes.c",
    "kernel/Makefile",
    "fixtures/systems/linux.yaml",
    "guest/workloads/primes/oracle.py",
    "guest/workloads/primes/workload.yaml",
    "fixtures/gates/default.yaml",
    "fixtures/qemu.lock",
    "fixtures/linux.lock",
    "reports/schema/session-1.json",
)


@dataclass(frozen=True)
class Stranger:
    """An environment with benchgate from the wheel, and an empty folder."""

    python: Path
    environment: Path
    folder: Path

    def says(self, code: str) -> str:
        status, said = run([self.python, "-c", code], self.folder)
        assert status == 0, said
        return said.strip()


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that the sdist gives, which is what a package index would hand out."""
    out = tmp_path_factory.mktemp("dist")
    code, said = run([sys.executable, "-m", "build", "--no-isolation", "--outdir", out, REPO], out)
    assert code == 0, said
    assert only(out, "*.tar.gz").is_file()
    return only(out, "*.whl")


@pytest.fixture(scope="module")
def stranger(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    home = tmp_path_factory.mktemp("stranger")
    environment, folder = home / "venv", home / "empty"
    folder.mkdir()
    python = environment / "bin" / "python"
    steps: tuple[list[str | Path], ...] = (
        [sys.executable, "-m", "venv", "--without-pip", environment],
        [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel],
    )
    for step in steps:
        code, said = run(step, home)
        assert code == 0, said
    # A .pth file lends the folder, not the .pth files in it: the checkout's own benchgate stays out.
    lent = sysconfig.get_paths()["purelib"]
    (only(environment, "lib/python*/site-packages") / "lent.pth").write_text(f"{lent}\n")
    return Stranger(python, environment, folder)


@pytest.fixture(scope="module", autouse=True)
def own_path() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPATH", raising=False)
        yield


def test_the_wheel_of_the_sdist_is_the_wheel_of_the_checkout(wheel: Path, tmp_path: Path) -> None:
    code, said = run(
        [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path, REPO], tmp_path
    )
    assert code == 0, said
    lists = [sorted(zipfile.ZipFile(one).namelist()) for one in (wheel, only(tmp_path, "*.whl"))]
    assert lists[0] == lists[1]
    assert not [name for name in lists[0] if name.endswith((".o", ".elf", ".pyc")) or "/out/" in name]


def test_benchgate_and_its_data_come_from_the_wheel(stranger: Stranger) -> None:
    assert stranger.says("import benchgate; print(benchgate.__file__)").startswith(str(stranger.environment))
    root = Path(stranger.says("from benchgate.data import data_root; print(data_root())"))
    assert root.is_relative_to(stranger.environment)
    assert [name for name in FILES if not (root / name).is_file()] == []


@pytest.fixture(scope="module")
def gated(stranger: Stranger) -> Session:
    """One session for all that can be seen on it: eleven boots, on the clock that no busy host can disturb;
    on wall time one run of ten may well meet a stall."""
    code, said = run([stranger.environment / "bin" / "benchgate", "init"], stranger.folder)
    assert code == 0, said
    assert [path.name for path in stranger.folder.iterdir()] == ["test_scaling.py"]
    words = ("--clock=insn", "--smp=1,2", "--set=primes.hi=200_000", "--strict-markers")
    return run_pytest(stranger.folder, *words, python=stranger.python)


def test_a_stranger_starts_from_init_and_boots_a_guest(stranger: Stranger, gated: Session) -> None:
    assert [gated.outcomes(cpus) for cpus in (1, 2)] == [["ok"] * 5, ["ok"] * 5], gated.said
    assert {row["verified"] for row in gated.rows} == {"true"}
    assert run_benchgate(stranger.folder, "verify", gated.folder, python=stranger.python)[0] == 0
    code, said = run([stranger.environment / "bin" / "benchgate", "init"], stranger.folder)
    assert code == 4
    assert "already exists" in said


def test_a_gate_follows_from_its_figures(gated: Session) -> None:
    work = {cpus: gated.work(cpus, "linux") for cpus in (1, 2)}
    ratio = statistics.median(work[1]) / statistics.median(work[2])
    (verdict,) = gated.verdicts
    assert verdict["system"] == "linux"
    assert verdict["ratio"] == pytest.approx(ratio)
    assert verdict["low"] <= ratio <= verdict["high"]
    assert min(work[1]) / max(work[2]) <= verdict["low"]
    assert verdict["high"] <= max(work[1]) / min(work[2])
    assert (verdict["outcome"], verdict["low"] > 1.9) == ("PASS", True)
    assert verdict["reason"].startswith(
        f"{verdict['outcome']}: primes.hi-200000-linux smp2/smp1 = {ratio:.2f}"
    )
    assert run_benchgate(gated.folder, "verify", gated.folder)[0] == 0


def test_the_exit_code_follows_from_the_verdicts(gated: Session) -> None:
    words = {verdict["outcome"] for verdict in gated.verdicts}
    assert words <= {"PASS", "FAIL", "INVALID", "INCONCLUSIVE"}
    due = 1 if words & {"FAIL", "INVALID"} else 75 if "INCONCLUSIVE" in words else 0
    assert gated.code == due, gated.said


def test_two_cpus_are_twice_as_fast(gated: Session) -> None:
    (verdict,) = gated.verdicts
    assert 1.9 <= verdict["ratio"] <= 2.02


def test_seeds_are_other_runs_of_the_same_speed(gated: Session) -> None:
    windows = gated.work(2, "linux")
    assert len(set(windows)) == 5
    assert max(windows) / min(windows) < 1.01
