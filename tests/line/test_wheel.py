"""Installed from the wheel into an empty environment, in an empty folder, guests boot and a gate is decided.

No network is used: a .pth line lends the environment our dependencies; benchgate itself comes from the wheel.
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

from tests.line.sessions import REPO, TERN, Session, light_tern, run, run_benchgate, run_pytest

FILES = (
    "guest/bench.h",
    "guest/init/init.c",
    "guest/workloads/primes/primes.c",
    "kernel/Makefile",
    "fixtures/systems/linux.yaml",
    "fixtures/schema/system.json",
    "guest/workloads/primes/oracle.py",
    "guest/workloads/primes/workload.yaml",
    "fixtures/gates/default.yaml",
    "fixtures/qemu.lock",
    "fixtures/linux.lock",
    "reports/schema/session-1.json",
    "docs/reference/wire.md",
)


SYSTEM = "kernel"


@dataclass(frozen=True)
class Installed:
    """An environment with benchgate from the wheel, and an empty folder."""

    python: Path
    environment: Path
    folder: Path

    def prints(self, code: str) -> str:
        status, output = run([self.python, "-c", code], self.folder)
        assert status == 0, output
        return output.strip()


def only(folder: Path, pattern: str) -> Path:
    (path,) = folder.glob(pattern)
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the sdist, as a package index would distribute it."""
    out = tmp_path_factory.mktemp("dist")
    code, output = run([sys.executable, "-m", "build", "--no-isolation", "--outdir", out, REPO], out)
    assert code == 0, output
    assert only(out, "*.tar.gz").is_file()
    return only(out, "*.whl")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    home = tmp_path_factory.mktemp("installed")
    environment, folder = home / "venv", home / "empty"
    folder.mkdir()
    python = environment / "bin" / "python"
    steps: tuple[list[str | Path], ...] = (
        [sys.executable, "-m", "venv", "--without-pip", environment],
        [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel],
    )
    for step in steps:
        code, output = run(step, home)
        assert code == 0, output
    # The .pth files in the lent folder are not read, so the checkout's own benchgate stays out.
    lent = sysconfig.get_paths()["purelib"]
    (only(environment, "lib/python*/site-packages") / "lent.pth").write_text(f"{lent}\n")
    return Installed(python, environment, folder)


@pytest.fixture(scope="module", autouse=True)
def own_path() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPATH", raising=False)
        yield


def test_the_wheel_from_the_sdist_has_the_same_files_as_the_wheel_from_the_checkout(
    wheel: Path, tmp_path: Path
) -> None:
    code, output = run(
        [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path, REPO], tmp_path
    )
    assert code == 0, output
    lists = [sorted(zipfile.ZipFile(path).namelist()) for path in (wheel, only(tmp_path, "*.whl"))]
    assert lists[0] == lists[1]
    assert not [name for name in lists[0] if name.endswith((".o", ".elf", ".pyc")) or "/out/" in name]


def test_benchgate_and_its_data_come_from_the_wheel(installed: Installed) -> None:
    assert installed.prints("import benchgate; print(benchgate.__file__)").startswith(
        str(installed.environment)
    )
    data = root(installed)
    assert data.is_relative_to(installed.environment)
    assert [name for name in FILES if not (data / name).is_file()] == []
    assert (installed.environment / "share/man/man1/benchgate.1").is_file()


def root(installed: Installed) -> Path:
    return Path(installed.prints("from benchgate import data_root; print(data_root())"))


def session(installed: Installed, folder: Path, *words: str) -> Session:
    """A session on the instruction clock, because on wall time a busy host may stall a sample."""
    own = ("--clock=insn", "--smp=1,2", "--strict-markers")
    return run_pytest(folder, *own, *words, python=installed.python)


@pytest.fixture(scope="module")
def gated(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """One session of twelve boots, shared by all tests below. Boots of tern cost a fifth of Linux's."""
    folder = tmp_path_factory.mktemp("gated")
    system = light_tern(folder, root(installed))
    (folder / "test_row.py").write_text(TERN.format(system=system))
    return session(installed, folder)


def test_init_in_an_empty_folder_leads_to_verified_runs(installed: Installed) -> None:
    """Runs of Linux, for which `init` writes its test. How they start does not matter, and a warm start costs
    a third."""
    init: list[str | Path] = [installed.environment / "bin" / "benchgate", "init"]
    code, output = run(init, installed.folder)
    assert code == 0, output
    assert {path.name for path in installed.folder.iterdir()} == {"test_scaling.py", ".gitignore"}
    quick = session(installed, installed.folder, "--quick", "--start=warm")
    assert [quick.outcomes(cpus, "linux.start-warm") for cpus in (1, 2)] == [["ok"], ["ok"]], quick.output
    assert {row["verified"] for row in quick.rows} == {"true"}
    assert run_benchgate(installed.folder, "verify", quick.folder, python=installed.python)[0] == 0
    code, output = run(init, installed.folder)
    assert code == 4
    assert "already exists" in output


def test_a_workload_that_init_writes_is_right_at_once(installed: Installed, tmp_path: Path) -> None:
    """Two boots of tern."""
    init: list[str | Path] = [installed.environment / "bin" / "benchgate", "init", "--workload", "mine"]
    code, output = run(init, tmp_path)
    assert code == 0, output
    *_, program, test = output.split()
    assert program == "pytest"
    quick = session(installed, tmp_path, test, "--quick", f"--system={light_tern(tmp_path, root(installed))}")
    assert [quick.outcomes(cpus, SYSTEM) for cpus in (1, 2)] == [["ok"], ["ok"]], quick.output
    assert 1.9 < quick.work(1, SYSTEM)[0] / quick.work(2, SYSTEM)[0] < 2.02
    words = ("verify", quick.folder, "--tests", test)
    code, output = run_benchgate(tmp_path, *words, python=installed.python)
    assert (code, "the thresholds of 1 gate are those of the tests" in output) == (0, True), output


STRICT = """[pytest]
minversion = 2.0
addopts = -rfEX -l -p pytester --strict-markers --strict-config
faulthandler_timeout = 60
filterwarnings =
    error
junit_family = xunit2
xfail_strict = true
pytester_example_dir = testing/example_scripts
cache_dir = .kept
"""
"""The strict parts of the settings of pytest, scipy and trio at once, without the warnings that they ignore,
and a key that only pytest's cache knows."""


@pytest.fixture
def strict(tmp_path: Path) -> Path:
    """A project with one row."""
    (tmp_path / "pytest.ini").write_text(STRICT)
    (tmp_path / "test_row.py").write_text(TERN.format(system=SYSTEM))
    return tmp_path


def test_explore_collects_in_a_strict_project(installed: Installed, strict: Path) -> None:
    code, output = run_benchgate(strict, "explore", "--plan", "test_row.py", python=installed.python)
    assert (code, "tasks.steps-4000-kernel.start-warm-smp2" in output) == (0, True), output
    assert not (strict / ".kept").exists()


def test_verify_collects_in_a_strict_project(installed: Installed, gated: Session, strict: Path) -> None:
    words = ("verify", gated.folder, "--tests", "test_row.py")
    code, output = run_benchgate(strict, *words, python=installed.python)
    assert (code, "the thresholds of 1 gate are those of the tests" in output) == (0, True), output


def test_the_ratio_interval_and_outcome_follow_from_the_runs(gated: Session) -> None:
    assert [gated.outcomes(cpus, SYSTEM) for cpus in (1, 2)] == [["ok"] * 5, ["ok"] * 5], gated.output
    work = {cpus: gated.work(cpus, SYSTEM) for cpus in (1, 2)}
    ratio = statistics.median(work[1]) / statistics.median(work[2])
    (verdict,) = gated.verdicts
    assert verdict["system"] == SYSTEM
    assert verdict["ratio"] == pytest.approx(ratio)
    assert verdict["low"] <= ratio <= verdict["high"]
    assert min(work[1]) / max(work[2]) <= verdict["low"]
    assert verdict["high"] <= max(work[1]) / min(work[2])
    assert (verdict["outcome"], verdict["low"] > 1.9) == ("PASS", True)
    said = f"{verdict['outcome']}: tasks.steps-4000-{SYSTEM} smp2/smp1 = {ratio:.2f}"
    assert verdict["reason"].startswith(said)
    # by the checkout; the test above does it with the wheel
    assert run_benchgate(gated.folder, "verify", gated.folder)[0] == 0


def test_the_exit_status_follows_from_the_verdicts(gated: Session) -> None:
    words = {verdict["outcome"] for verdict in gated.verdicts}
    assert words <= {"PASS", "FAIL", "INVALID", "INCONCLUSIVE"}
    due = 1 if words & {"FAIL", "INVALID"} else 75 if "INCONCLUSIVE" in words else 0
    assert gated.code == due, gated.output


def test_the_speedup_on_two_cpus_is_about_two(gated: Session) -> None:
    (verdict,) = gated.verdicts
    assert 1.9 <= verdict["ratio"] <= 2.02


def test_seeds_give_different_windows_within_one_percent(gated: Session) -> None:
    windows = gated.work(2, SYSTEM)
    assert len(set(windows)) == 5
    assert max(windows) / min(windows) < 1.01
