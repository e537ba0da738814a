"""`./run gate` ends with nox, and nox with pytest's own exit status, whatever that is."""

from __future__ import annotations

import importlib.util
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
    pytest.exit("so it ends", returncode={status})
"""
FAILS = """\
import pytest


@pytest.mark.smp
def test_fails():
    assert 1 == 2
"""


@cache
def noxfile() -> ModuleType:
    """Once: nox refuses a session that is registered again."""
    spec = importlib.util.spec_from_file_location("noxfile", REPO / "noxfile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """This repository's noxfile over a suite of one file."""
    shutil.copy(REPO / "noxfile.py", tmp_path)
    for name in ("smp", "threads"):
        (tmp_path / "tests" / name).mkdir(parents=True)
    shutil.copy(REPO / "tests" / "smp" / "test_primes.py", tmp_path / "tests" / "smp")
    return tmp_path


def gate(checkout: Path, *words: str) -> tuple[int, str]:
    return run([sys.executable, "-m", "nox", "--session", "gate", "--", *words], checkout)


def test_a_plan_is_printed_and_nothing_booted(checkout: Path) -> None:
    code, said = gate(checkout, "--plan", "--smp=1,2")
    assert code == 0, said
    assert "sweep primes-linux" in said
    assert "nothing was booted" in said
    assert not (checkout / "reports").exists()


def test_a_usage_error_is_4(checkout: Path) -> None:
    code, said = gate(checkout, "--plan", "--cpus=4000")
    assert code == 4, said
    assert "4000" in said


@pytest.mark.parametrize("status", [1, 4, 5, 75])
def test_what_the_gate_said_is_what_nox_says(checkout: Path, status: int) -> None:
    (checkout / "tests" / "smp" / "test_primes.py").write_text(ENDS.format(status=status))
    code, said = gate(checkout)
    assert code == status, said


def test_a_test_that_fails_fails_the_gate(checkout: Path) -> None:
    (checkout / "tests" / "smp" / "test_primes.py").write_text(FAILS)
    code, said = gate(checkout)
    assert code == 1, said


def test_both_halves_of_our_own_tests_are_run_though_the_first_fails(checkout: Path) -> None:
    for number, folder in enumerate(noxfile().ALONGSIDE + noxfile().ALONE):
        (checkout / folder).mkdir(parents=True)
        (checkout / folder / f"test_{number}.py").write_text(f"def test_it():\n    assert {number} > 0\n")
    code, said = run([sys.executable, "-m", "nox", "--session", "tests"], checkout)
    assert code == 1, said
    assert "1 failed, 2 passed" in said
    assert "2 passed" in said


@pytest.mark.parametrize(
    ("codes", "code"),
    [((0, 0), 0), ((1, 0), 1), ((0, 1), 1), ((5, 0), 0), ((0, 5), 0), ((5, 5), 5), ((5, 2), 2), ((4, 5), 4)],
)
def test_two_halves_fail_where_one_does_and_find_nothing_only_together(
    codes: tuple[int, int], code: int
) -> None:
    assert noxfile()._together(codes) == code
