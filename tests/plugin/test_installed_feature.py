"""Somebody else's feature (tests/data/installed): what it adds works, and no judge of a session needs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchgate.base.files import tree_digest
from tests.plugin.conftest import Rig

INSTALLED = Path(__file__).parents[1] / "data" / "installed"
TEST = """
import pytest

@pytest.mark.delivered({file!r})
def test_it_is_there(delivered):
    assert {{one["outcome"] for one in delivered}} == {{"PASS"}}
"""
JUDGES = """
import sys
from benchgate.cli import main
status = main(sys.argv[1:])
print([name for name in sys.modules if name.startswith("courier")])
sys.exit(status)
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed distributions, which processes have on their path."""
    folder = tmp_path / "site"
    shutil.copytree(INSTALLED, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *sys.path]))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return folder


def said(*words: str, status: int = 0) -> str:
    """What Python prints, called with these words."""
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def judged(rig: Rig, command: str) -> str:
    return said("-c", JUDGES, command, str(rig.latest))


def session(rig: Rig, *words: str) -> dict[str, Any]:
    """The session.json of a session in a process of its own."""
    result = rig.pytester.runpytest_subprocess(*rig.arguments(*words))
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    facts: dict[str, Any] = json.loads((rig.latest / "session.json").read_text())
    return facts | {"said": result.stdout.str() + result.stderr.str()}


def test_all_that_it_adds_works_and_verify_needs_nothing_of_it(rig: Rig, site: Path) -> None:
    folder = rig.folder / "copies"
    folder.mkdir()
    facts = session(rig, f"--courier={folder}")
    name = rig.latest.resolve().name
    assert f"courier: verdicts copied to {folder}" in facts["said"]
    assert facts["options"]["courier"] == str(folder)
    digest = tree_digest(site / "courier")
    assert facts["features"] == [
        {
            "name": "courier",
            "distribution": "benchgate-courier",
            "version": "1.2",
            "sha256": digest,
            "makes_runs": False,
        }
    ]
    assert said("-m", "benchgate", "courier", str(folder)) == f"{name}\n"
    (rig.folder / "test_copy.py").write_text(TEST.format(file=str(folder / f"{name}.json")))
    words = ["-q", "--strict-markers", "-p", "no:cacheprovider", str(rig.folder / "test_copy.py")]
    assert "1 passed" in said("-m", "pytest", *words)
    told = judged(rig, "verify")
    assert "intact (hashes, chain and every verdict agree)" in told
    assert f"feature courier of benchgate-courier 1.2 (SHA-256 {digest}) was asked for by an option" in told
    assert "it made no run" in told
    assert told.endswith("[]\n")
    shutil.rmtree(site)
    assert judged(rig, "verify") == told
    assert judged(rig, "rejudge").endswith("[]\n")


def test_a_session_says_who_made_its_runs(rig: Rig, site: Path) -> None:
    (feature,) = session(rig, "--courier-runs")["features"]
    assert feature["makes_runs"] is True
    assert "it made the session's runs" in judged(rig, "verify")


def test_a_session_without_its_options_has_no_word_of_it(rig: Rig, site: Path) -> None:
    assert "features" not in session(rig)
    assert "courier" not in judged(rig, "verify").removesuffix("[]\n")


def test_its_option_is_read_by_its_own_code(rig: Rig, site: Path) -> None:
    result = rig.pytester.runpytest_subprocess(*rig.arguments("--courier=nowhere"))
    assert result.ret == 4
    assert "--courier nowhere: there is no such folder" in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("fixture.py", "import of_no_name\n", "courier.fixture, of feature courier of benchgate-courier"),
        ("option.py", "def read(given): return {'measure': True}\n", "measure is no option of it"),
        ("option.py", "def read(given): return {'courier': object()}\n", "which a session cannot record"),
        (
            "option.py",
            "def read(given): return 1 / 0\n",
            "ZeroDivisionError: division by zero; next: install",
        ),
    ],
)
def test_what_is_broken_behind_its_table_is_named(
    rig: Rig, site: Path, file: str, text: str, problem: str
) -> None:
    (site / "courier" / file).write_text(text)
    result = rig.pytester.runpytest_subprocess(*rig.arguments(f"--courier={rig.folder}"))
    told = result.stdout.str() + result.stderr.str()
    assert result.ret == 4, told
    assert problem in told
    assert "Traceback" not in told
    assert not (rig.folder / "reports").exists()


def test_an_end_that_fails_is_a_sentence(rig: Rig, site: Path) -> None:
    file = site / "courier" / "option.py"
    file.write_text(file.read_text().replace("shutil.copy(", "shutil.no_such("))
    told = session(rig, f"--courier={rig.folder}")["said"]
    assert (
        "courier.option:at_end, of feature courier of benchgate-courier 1.2, failed: AttributeError" in told
    )
    assert "intact" in judged(rig, "verify")
