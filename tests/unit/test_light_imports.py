"""Who does not use benchgate does not pay for it: what other tests and usage messages import is counted."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchgate import commands

MOST = 26
"""Of benchgate, beside the tables of features, in a run of pytest that does not use it or in a usage message.
There are more than 300."""
HEAVY = {"numpy", "scipy", "sqlalchemy", "yaml", "pexpect", "psutil", "qemu", "elftools", "distributed"}
TOLD = re.compile(r"benchgate\.features(\.\w+(\.feature|\.fixture)?)?$")
"""The modules by which features tell what they add."""
COUNTED = """
import json
import sys
from pathlib import Path

def pytest_unconfigure():
    Path("modules.json").write_text(json.dumps([*sys.modules]))
"""
FOREIGN = """
import unittest

import pytest

@pytest.fixture
def image():
    return "an own one"

@pytest.mark.parametrize("n", range(50))
def test_trivial(n):
    pass

@pytest.mark.regression
@pytest.mark.system
def test_words_that_other_suites_use(image):
    assert image == "an own one"

@pytest.mark.parametrize(("cell", "verdict"), [(1, 2)])
def test_arguments_that_other_suites_use(cell, verdict):
    assert cell < verdict

class TestOld(unittest.TestCase):
    def test_it(self):
        pass
"""
USES = {
    "mark": "import pytest\n\n@pytest.mark.limit(cpus=2, at_most=1)\ndef test_it(): pass\n",
    "fixture": "def test_it(verdict): pass\n",
    "unittest": "import pytest, unittest\n\nclass TestIt(unittest.TestCase):\n"
    "    @pytest.mark.limit(cpus=2, at_most=1)\n    def test_it(self): pass\n",
}
NEEDS = "def test_it(request): request.getfixturevalue('benchgate_session')\n"


def modules_of(folder: Path, text: str, *words: str, status: int) -> tuple[list[str], str]:
    """What a run of pytest has imported at its end, and what it printed."""
    (folder / "conftest.py").write_text(COUNTED)
    (folder / "test_it.py").write_text(text)
    without = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    argv = [sys.executable, "-m", "pytest", *without, *words]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads((folder / "modules.json").read_text()), done.stdout + done.stderr


def ours(modules: list[str]) -> list[str]:
    core = [module for module in modules if not TOLD.match(module)]
    return [module for module in core if module.partition(".")[0] == "benchgate"]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ((), "passed"),
        (("--collect-only",), "test_trivial[49]"),
        (("-n", "1"), "passed"),
        (("--fixtures",), "verdict -- "),
        (("--markers",), "@pytest.mark.speedup("),
        (("--help",), "--cpus=LIST"),
    ],
)
def test_a_suite_that_does_not_use_benchgate_does_not_import_it(
    tmp_path: Path, words: tuple[str, ...], shown: str
) -> None:
    result, said = modules_of(tmp_path, FOREIGN, *words, status=0)
    assert shown in said
    assert "benchgate.pytest_plugin" in result
    assert len(ours(result)) <= MOST, ours(result)
    assert HEAVY & set(result) == set()


@pytest.mark.parametrize("use", USES)
def test_a_first_use_imports_it(tmp_path: Path, use: str) -> None:
    result, said = modules_of(tmp_path, USES[use], status=2 if use == "fixture" else 4)
    assert "test_it" in said
    assert len(ours(result)) > 4 * MOST


def test_a_fixture_is_enough(tmp_path: Path) -> None:
    """A session computes no mix, asks no fleet, and imports nothing of what does."""
    result, _ = modules_of(tmp_path, NEEDS, status=0)
    assert len(ours(result)) > 4 * MOST
    assert {"numpy", "scipy"} & set(result) == set()
    assert [name for name in result if name.startswith("benchgate.features") and not TOLD.match(name)] == []


def test_an_option_or_an_ini_key_is_read_at_once(tmp_path: Path) -> None:
    for words in (("--smp=0",), ("-o", "benchgate_smp=0")):
        _, said = modules_of(tmp_path, FOREIGN, *words, status=4)
        assert "a CPU count must be from 1 to 64" in said


COUNTS = """
import contextlib, io, sys
from benchgate.cli import main
with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
    main(sys.argv[1:])
assert said.getvalue().startswith("usage: benchgate"), said.getvalue()
print(*sys.modules)
"""


@pytest.mark.parametrize("word", ["", *(command.name for command in commands.TABLE)])
def test_a_usage_message_imports_no_room(word: str) -> None:
    argv = [sys.executable, "-c", COUNTS, *filter(None, [word]), "--help"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    result = done.stdout.split()
    assert "benchgate.cli" in result
    assert len(ours(result)) <= MOST, ours(result)
    assert HEAVY & set(result) == set()


@pytest.mark.parametrize(
    "module",
    ["evidence.check", "session.remarks", "session.rejudging.rejudge", "session.rejudging.thresholds"],
)
def test_verify_imports_no_feature(module: str) -> None:
    code = f"import sys, benchgate.{module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert {"distributed", "sqlalchemy", "numpy", "scipy"} & set(modules) == set()
    of_features = [name for name in modules if name.startswith("benchgate.features")]
    assert [name for name in of_features if not TOLD.match(name)] == []


CLOSURE = """
import importlib, pkgutil, sys
from pathlib import Path
for name in sys.argv[1:]:
    package = importlib.import_module(f"benchgate.{name.removesuffix('.*')}")
    for info in pkgutil.iter_modules(package.__path__) if name.endswith(".*") else ():
        importlib.import_module(f"{package.__name__}.{info.name}")
ours = [module for name, module in sys.modules.items() if name.startswith("benchgate")]
files = [Path(module.__file__) for module in ours if "features" not in module.__file__]
print(len(files), sum(len(file.read_text().splitlines()) for file in files))
"""
VERIFY = ("evidence.check", "session.remarks", "session.rejudging.rejudge", "session.rejudging.thresholds")
GATES = ("judge.gates.*",)
PAGES = ("render.files.*", "render.page.chapters.*", "render.page.details.*")
"""The packages whose modules a session finds by itself."""


@pytest.mark.parametrize(
    ("names", "modules", "lines"),
    [
        (("session.pytest_hooks.pytest_run", "session.measuring", *GATES, *PAGES), 351, 53_650),
        ((*VERIFY, *GATES, *PAGES), 271, 40_000),
    ],
    ids=["gate", "verify"],
)
def test_what_a_door_imports_has_a_budget(names: tuple[str, ...], modules: int, lines: int) -> None:
    """The aim is 210 modules and 33,000 lines for a gate, and 180 modules for `verify`: a budget goes down
    with each feature that leaves."""
    done = subprocess.run([sys.executable, "-c", CLOSURE, *names], capture_output=True, text=True, check=True)
    found = [int(word) for word in done.stdout.split()]
    assert found[0] <= modules, found
    assert found[1] <= lines, found


JUDGES = """
import json
import sys

from benchgate.base.statistics import stats
from benchgate.session.rejudging import rejudge, thresholds

stats.paired_log_interval([2.0, 3.0], [1.0, 1.0], 0.05)
print(json.dumps([*sys.modules]))
"""


def test_what_judges_a_session_imports_no_scipy_and_no_pytest() -> None:
    """They took half of the time of `benchgate verify`."""
    done = subprocess.run([sys.executable, "-c", JUDGES], stdout=subprocess.PIPE, check=True)
    imported = set(json.loads(done.stdout))
    assert "benchgate.judge.verify" in imported
    assert imported & {"scipy", "numpy", "pytest"} == set()
