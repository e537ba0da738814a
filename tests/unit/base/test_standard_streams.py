"""A command comes to its verdict, and to its status, whatever happens to what it prints."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchgate import cli, commands
from benchgate.hooks import Command
from tests import forgerykit
from tests.machines import PATIENCE_S
from tests.unit.evidence.test_figures_file import micro, session
from tests.unit.sessions import finished_session

FULL = "No space left on device"
NOBODY, FULL_DISK = "| true", ">/dev/full"
LONG = "a line that is longer than what Python keeps back before it writes\n" * 1000


def shell(line: str, *, cwd: Path, unbuffered: bool = False) -> subprocess.CompletedProcess[str]:
    """`PIPESTATUS` is that of the command itself, and not that of its reader."""
    variables = {**os.environ, "BENCHGATE_CACHE": str(cwd / "cache"), "PYTHONUNBUFFERED": "1" * unbuffered}
    return subprocess.run(
        ["bash", "-c", f"{line}\nexit ${{PIPESTATUS[0]}}"],
        cwd=cwd,
        env=variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def tampered(folder: Path) -> Sequence[str]:
    session = finished_session(folder / "reports").folder
    (session / "summary.md").write_text("# a better PASS\n")
    return "verify", str(session)


def failed(folder: Path) -> Sequence[str]:
    """A session whose gate asks for more than it measured."""
    session = forgerykit.made(folder / "reports")

    def harder(facts: dict[str, Any]) -> None:
        for gate in facts["plan"][0]["gates"]:
            gate["at_least"] = 3.0

    forgerykit.edit_json(session / "session.json", harder)
    return "rejudge", str(session)


def slower(folder: Path) -> Sequence[str]:
    costs = {"one": [100.0, 101.0, 102.0, 103.0, 104.0], "two": [150.0, 151.0, 152.0, 153.0, 154.0]}
    sides = [str(session(folder / name, *micro("linux", cost))) for name, cost in costs.items()]
    return "compare", *sides, "--fail-on", "1.02"


def unsigned(folder: Path) -> Sequence[str]:
    return "sign", tampered(folder)[1], "--key", "nothing"


def intact(_: Path) -> Sequence[str]:
    return ("cache",)


def helped(_: Path) -> Sequence[str]:
    return ("--help",)


CASES: dict[str, tuple[Callable[[Path], Sequence[str]], int]] = {
    "verify": (tampered, 10),
    "rejudge": (failed, 1),
    "compare": (slower, 1),
    "sign": (unsigned, 10),
    "cache": (intact, 0),
    "--help": (helped, 0),
}


@pytest.mark.parametrize("case", CASES)
def test_a_status_is_the_same_whatever_becomes_of_the_output(tmp_path: Path, case: str) -> None:
    make, status = CASES[case]
    line = shlex.join([sys.executable, "-m", "benchgate", *make(tmp_path)])
    done = shell(f"{line} {NOBODY}", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (status, "")
    full = shell(f"{line} {FULL_DISK}", cwd=tmp_path)
    assert full.returncode == (status or 4)
    assert full.stderr == f"benchgate: cannot write standard output: {FULL}; its text is lost\n"


@pytest.mark.parametrize(
    ("output", "unbuffered"),
    [
        ("| cat", False),
        (NOBODY, True),
        (f"2>&1 {NOBODY}", False),
        (f"2>&1 {NOBODY}", True),
        (">&-", False),
        ("2>&-", False),
        ("<&- >&- 2>&-", True),
        (f"{FULL_DISK} 2>/dev/full", False),
        (f"{FULL_DISK} 2>/dev/full", True),
    ],
)
def test_a_tampered_session_is_one_on_any_output(tmp_path: Path, output: str, unbuffered: bool) -> None:
    line = shlex.join([sys.executable, "-m", "benchgate", *tampered(tmp_path)])
    done = shell(f"{line} {output}", cwd=tmp_path, unbuffered=unbuffered)
    assert (done.returncode, done.stderr) == (10, "")


def test_a_file_does_not_get_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    """Else what is printed later, also by a child, is written into it."""
    program = (
        "import os, subprocess, sys\n"
        "from benchgate.base import standard_streams\n"
        "with standard_streams.lasting(), open('file', 'w') as file:\n"
        "    print('text'); print('text', file=sys.stderr)\n"
        "    subprocess.run(['sh', '-c', 'echo text; echo text >&2'], check=True)\n"
    )
    done = shell(f"{shlex.join([sys.executable, '-c', program])} <&- >&- 2>&-", cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "file").read_text() == ""


@pytest.mark.parametrize("command", commands.TABLE, ids=lambda command: command.name)
def test_every_command_comes_to_its_end_when_its_reader_is_gone(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = []

    def run(_: argparse.Namespace) -> int:
        print(LONG)
        print("more")
        ended.append(command.name)
        return 7

    def declare(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("words", nargs="*")

    ending = f"_{command.second}" if command.second else ""
    module = SimpleNamespace(__name__="own", **{f"declare{ending}": declare, f"run{ending}": run})
    monkeypatch.setattr(Command, "module", lambda _: module)
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert cli.main([command.name]) == 7
        assert sys.stdout is stream
    assert ended == [command.name]
