"""The nox sessions `gate` and `tests` exit with pytest's own exit status."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from tests.line.sessions import REPO, run

ENDS = """\
import pytest


@pytest.mark.smp
def test_ends():
    pytest.exit("the test chose this status", returncode={status})
"""
FAILS = """\
import pytest


@pytest.mark.smp
def test_fails():
    assert 1 == 2
"""
ALONE_MARK = "pytest.mark.alone"
ALONE = f"""\
import pytest


@{ALONE_MARK}
def test_alone():
    pass
"""


@cache
def noxfile() -> ModuleType:
    """Loaded once, because nox refuses to register a session twice."""
    spec = importlib.util.spec_from_file_location("noxfile", REPO / "noxfile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """This repository's noxfile, with a suite of one file."""
    shutil.copy(REPO / "noxfile.py", tmp_path)
    for name in ("smp", "threads"):
        (tmp_path / "tests" / name).mkdir(parents=True)
    for name in ("smp/test_primes.py", "optional.py"):
        shutil.copy(REPO / "tests" / name, tmp_path / "tests" / name)
    return tmp_path


def gate(checkout: Path, *words: str) -> tuple[int, str]:
    return run([sys.executable, "-m", "nox", "--session", "gate", "--", *words], checkout)


def test_gate_passes_plan_to_pytest(checkout: Path) -> None:
    code, output = gate(checkout, "--plan", "--smp=1,2")
    assert code == 0, output
    assert "sweep primes-linux" in output
    assert "nothing was booted" in output
    assert not (checkout / "reports").exists()


def test_the_baseline_measures_guests_on_both_clocks_beside_native_linux(checkout: Path) -> None:
    words = [sys.executable, "-m", "nox", "--session", "linux-baseline", "--", "--plan", "--smp=1,2"]
    code, output = run(words, checkout)
    assert code == 0, output
    rows = ("primes-linux-wall", "primes-linux-insn", "primes-native-wall")
    assert [row for row in rows if f"sweep {row}\n" not in output] == []


def test_a_usage_error_exits_with_4(checkout: Path) -> None:
    code, output = gate(checkout, "--plan", "--cpus=4000")
    assert code == 4, output
    assert "4000" in output


@pytest.mark.parametrize("status", [5, 75])
def test_nox_exits_with_the_status_of_the_gate(checkout: Path, status: int) -> None:
    (checkout / "tests" / "smp" / "test_primes.py").write_text(ENDS.format(status=status))
    code, output = gate(checkout)
    assert code == status, output


def test_a_failed_test_fails_the_gate(checkout: Path) -> None:
    (checkout / "tests" / "smp" / "test_primes.py").write_text(FAILS)
    code, output = gate(checkout)
    assert code == 1, output


def test_the_second_half_of_the_tests_runs_although_the_first_failed(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(
        "PYTEST_ADDOPTS"
    )  # the session chooses a profile of Hypothesis, so it needs its plugin
    alongside, alone = noxfile().ALONGSIDE, noxfile().ALONE
    for number, folder in enumerate(alongside):
        (checkout / folder).mkdir(parents=True)
        (checkout / folder / f"test_{number}.py").write_text(f"def test_it():\n    assert {number} > 0\n")
    for number, folder in enumerate(alone):
        (checkout / folder).mkdir(parents=True, exist_ok=True)
        (checkout / folder / f"test_alone_{number}.py").write_text(ALONE)
    code, output = run([sys.executable, "-m", "nox", "--session", "tests"], checkout)
    assert code == 1, output
    halves = [f"1 failed, {len(alongside) - 1} passed", f"{len(alone)} passed"]
    assert re.findall(r"(?:1 failed, )?\d+ passed", output) == halves


def test_no_test_that_runs_alone_is_left_out() -> None:
    """Tests in a folder `rows` run only where a session names them."""
    files = {file for folder in noxfile().ALONGSIDE for file in (REPO / folder).rglob("*.py")}
    alone = {file for folder in noxfile().ALONE for file in (REPO / folder).rglob("*.py")}
    left_out = (file for file in files - alone if file.parent.name != "rows")
    assert [file for file in left_out if ALONE_MARK in file.read_text()] == []


@pytest.mark.parametrize(
    ("codes", "code"),
    [((0, 0), 0), ((1, 0), 1), ((0, 1), 1), ((5, 0), 0), ((0, 5), 0), ((5, 5), 5), ((5, 2), 2), ((4, 5), 4)],
)
def test_the_status_of_two_halves_is_the_first_failure(codes: tuple[int, int], code: int) -> None:
    assert noxfile()._together(codes) == code
