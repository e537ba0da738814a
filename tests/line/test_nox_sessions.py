"""`./run gate` ends with nox, and nox with pytest's own exit status, whatever that is."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

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
