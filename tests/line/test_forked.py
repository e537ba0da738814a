"""Sessions that fork (tests/forked.py) are as those of a process that was started."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path

import pytest

from tests import forked
from tests.line.sessions import PATIENCE_S, run

TEST = """\
import os
import signal
import sys

from benchgate.base import text


def test_fails():
    assert not hasattr(text, "changed")
    text.changed = os.environ.pop("ASKED")
    print(text.changed, os.getcwd(), sys.path, sys.argv, sys.stdin.read())
    sys.path.clear()
    os.chdir("/")
    assert text.changed == ""


def test_dies():
    os.kill(os.getpid(), signal.SIGKILL)
"""


def without_time(output: str) -> str:
    return re.sub(r"in [0-9.]+s", "", output)


def test_a_fork_is_as_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    words = ["-s", "-p", "no:cacheprovider", "test_it.py::test_fails"]
    said = []
    for asked in ("once", "twice", "twice"):
        monkeypatch.setenv("ASKED", asked)
        status, output = forked.pytest_in(tmp_path, words, PATIENCE_S)
        assert (status, f"{asked} {tmp_path} " in output) == (1, True), output
        said.append(without_time(output))
    status, output = run([sys.executable, "-m", "pytest", *words], tmp_path)
    assert status == 1
    assert without_time(output).splitlines() == said[1].splitlines()
    assert said[1] == said[2]


def test_a_fork_that_dies_says_by_which_signal(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    words = ["-p", "no:cacheprovider", "test_it.py::test_dies"]
    assert forked.pytest_in(tmp_path, words, PATIENCE_S)[0] == -signal.SIGKILL
