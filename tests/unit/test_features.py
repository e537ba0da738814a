"""A feature is deleted with its folder: what is left works without it, and does not know its name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchgate import hooks
from benchgate.base.paths import data_root

NAMES = [*hooks.shipped()]
KEPT = ("src", "guest", "kernel", "fixtures", "reports/schema", "docs", "tests", "tools", "contrib", "man")
FILES = ("pyproject.toml", "conftest.py", "ARCHITECTURE.md")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "out", ".benchgate*")


def copy_without(name: str, place: Path) -> Path:
    for folder in KEPT:
        shutil.copytree(data_root() / folder, place / folder, symlinks=True, ignore=LEFT_OUT)
    for file in FILES:
        shutil.copy(data_root() / file, place)
    shutil.rmtree(place / "src/benchgate/features" / name)
    return place


def said(place: Path, *words: str, status: int = 0) -> str:
    """What a module of Python prints in the copy."""
    env = {**os.environ, "PYTHONPATH": f"{place / 'src'}", "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [sys.executable, "-m", *words]
    done = subprocess.run(argv, cwd=place, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_a_feature_is_deleted_with_its_folder(name: str, tmp_path: Path) -> None:
    place = copy_without(name, tmp_path / "copy")
    feature = hooks.shipped()[name]
    told = said(place, "benchgate", "--help") + said(place, "pytest", "--markers", "-p", "no:cacheprovider")
    assert "speedup(" in told
    assert "rejudge" in told
    for word in (*(f" {one.name} " for one in feature.commands), *(f".{one.name}(" for one in feature.marks)):
        assert word not in told
    planned = said(place, "pytest", "--plan", "tests/smp", "-m", "smp", "-q", "-p", "no:cacheprovider")
    assert "primes-linux-smp2" in planned


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_the_core_and_a_gate_need_no_feature(name: str, tmp_path: Path) -> None:
    """The generated pages, which have the words of all features, are left out."""
    place = copy_without(name, tmp_path / "copy")
    said(
        place, "pytest", "tests/unit", "-q", "-n", "2", "--ignore=tests/unit/tools", "-p", "no:cacheprovider"
    )
    said(place, "pytest", "tests/smp", "-m", "smp", "-q", "-k", "primes", "--clock=insn", "--runs=5")


@pytest.mark.parametrize("name", NAMES)
def test_no_test_of_the_core_imports_a_feature(name: str) -> None:
    files = [path for folder in ("tests", "tools") for path in (data_root() / folder).rglob("*.py")]
    using = [path for path in files if f"benchgate.features.{name}" in path.read_text(encoding="utf-8")]
    assert [path for path in using if path != Path(__file__)] == []
