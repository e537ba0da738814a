"""A feature is deleted with its folder: what is left works without it, and does not know its name."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchgate import hooks
from benchgate.base.paths import data_root

NAMES = [*hooks.shipped()]
KEPT = (
    *("src", "guest", "kernel", "fixtures", "reports/schema", "docs", "tests", "tools", "contrib", "man"),
    *("templates", ".ci", ".github"),
)
LEFT_OUT = shutil.ignore_patterns("__pycache__", "out", ".benchgate*")


def copy_without(name: str, place: Path) -> Path:
    for folder in KEPT:
        shutil.copytree(data_root() / folder, place / folder, symlinks=True, ignore=LEFT_OUT)
    for file in data_root().iterdir():
        if file.is_file():
            shutil.copy(file, place)
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
    marks = [*(one.name for one in feature.marks), *(one.name for one in feature.gates)]
    for word in (*(f" {one.name} " for one in feature.commands), *(f".{name}(" for name in marks)):
        assert word not in told
    planned = said(place, "pytest", "--plan", "tests/smp", "-m", "smp", "-q", "-p", "no:cacheprovider")
    assert "primes-linux-smp2" in planned


NAMED_IN: Mapping[str, list[str]] = {
    "baseline": ["base/gates.py", "judge/gates/wording.py", "plan/planner.py"],
    "new_system": [],
    "scenarios": [],
}
"""Features, and where the core names one nevertheless: the file that a gate compares with, whatever it is,
has the key `baseline` in session.json and verdicts.json."""
GENERAL = {"regression"}
"""What the core says of `compare`."""


def own_words(name: str) -> set[str]:
    """The words of a feature by which a source would know it."""
    feature = hooks.features()[name]
    told = (feature.commands, feature.gates, feature.marks, feature.kept, feature.options, feature.workloads)
    return {name, *feature.exports, *(one.name for rows in told for one in rows)} - GENERAL


def naming(name: str, core: Path) -> list[str]:
    """The files of the core that have a word of the feature."""
    words = re.compile(rf"\b({'|'.join(map(re.escape, own_words(name)))})s?\b")
    files = (path for path in core.rglob("*.py") if core / "features" not in path.parents)
    return sorted(str(path.relative_to(core)) for path in files if words.search(path.read_text()))


@pytest.mark.parametrize("name", NAMED_IN)
def test_the_source_of_the_core_does_not_name_it(name: str) -> None:
    assert naming(name, Path(hooks.__file__).parent) == NAMED_IN[name]


def test_a_source_that_names_a_feature_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("# compares with baselines\n")
    (tmp_path / "b.py").write_text("# compares with main.json\n")
    assert naming("baseline", tmp_path) == ["a.py"]


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
