"""Installed from the wheel in an empty environment, in an empty folder: a guest boots and is measured.

No network: the environment's dependencies are lent by a .pth line, benchgate itself comes from the wheel.
"""

from __future__ import annotations

import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.line.sessions import REPO, Session, run, run_benchgate, run_pytest

FILES = (
    "guest/bench.h",
    "guest/init/init.c",
    "guest/workloads/primes.c",
    "kernel/Makefile",
    "fixtures/systems/linux.yaml",
    "fixtures/workloads/primes.yaml",
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


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)


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


def test_a_stranger_starts_from_init_and_boots_a_guest(stranger: Stranger) -> None:
    code, said = run([stranger.environment / "bin" / "benchgate", "init"], stranger.folder)
    assert code == 0, said
    assert [path.name for path in stranger.folder.iterdir()] == ["test_scaling.py"]
    session: Session = run_pytest(
        stranger.folder, "--quick", "--accel=tcg", "--clock=wall", "--strict-markers", python=stranger.python
    )
    assert session.code == 5, session.said
    assert [session.outcomes(cpus) for cpus in (1, 2)] == [["ok"], ["ok"]]
    assert {row["verified"] for row in session.rows} == {"true"}
    assert run_benchgate(stranger.folder, "verify", session.folder, python=stranger.python)[0] == 0
    code, said = run([stranger.environment / "bin" / "benchgate", "init"], stranger.folder)
    assert code == 4
    assert "is there already" in said
