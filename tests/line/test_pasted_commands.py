"""Every command that the page and the terminal show can be pasted into a shell, as it is, and works.

Three kinds of session: a shipped workload, a workload and a system of the user's own, and an exploration. The
commands that need files of the user find them, because this machine remembers where they are.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest

from tests.kernelkit import talker
from tests.line.sessions import PATIENCE_S, run_benchgate, run_pytest
from tests.line.test_prompt import ORACLE, SYSTEM, WINDOWS, WORKLOAD

SHIPPED = """\
import pytest

@pytest.mark.threads
@pytest.mark.system("kernel")
@pytest.mark.workload("tasks", steps=4000)
@pytest.mark.speedup(cpus=2, at_least=1.6, insn=1.9999)
def test_scales(verdict):
    verdict.require_pass()
"""
OWN = """\
import pytest

@pytest.mark.smp
@pytest.mark.system("lined.yaml")
@pytest.mark.workload("typed.yaml", hi=2001)
@pytest.mark.speedup(cpus=2, at_least=1.6, insn=1.9999)
def test_scales(verdict):
    verdict.require_pass()
"""
IN_SENTENCES = re.compile(
    r"benchgate (?:replay|verify|rejudge|timeline|baseline|explore) .*?(?= shows\b|[;`,]|$)"
)
"""A command in a line of the terminal, with which a sentence goes on or ends."""


@dataclass(frozen=True)
class Pasted:
    folder: Path
    page: str
    terminal: str
    code: int

    @property
    def commands(self) -> list[str]:
        """Each once, in the order of the page, then those of the terminal only."""
        on_page = re.findall(r"<code>(.*?)</code>", self.page.partition("</style>")[2], re.DOTALL)
        sentences = unescape(
            re.sub("<[^>]*>", "\n", self.page.partition("</style>")[2].partition("<script>")[0])
        )
        told = [
            one
            for text in (sentences, self.terminal)
            for line in text.splitlines()
            for one in IN_SENTENCES.findall(line)
        ]
        return list(dict.fromkeys([*map(unescape, on_page), *map(str.strip, told)]))


def environment(state: Path) -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {"COLUMNS": "900", "XDG_STATE_HOME": str(state), "PATH": path}


@pytest.fixture(autouse=True)
def _shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(tmp_path / "state").items():
        monkeypatch.setenv(name, value)


def paste(given: Pasted, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command],
        cwd=given.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def one_of_each(given: Pasted) -> list[str]:
    """Of the commands that differ only in which run they name, one. The others' runs are there."""
    kinds: dict[str, str] = {}
    for command in given.commands:
        named = [word for word in shlex.split(command) if "/runs/" in word]
        assert [word for word in named if not (given.folder / word).exists()] == []
        kinds.setdefault(re.sub(r"/runs/[^/' ]+", "/runs", command), command)
    return list(kinds.values())


def check(given: Pasted, kinds: set[str], *, again: bool = True) -> None:
    """Unless `again`, the session that is to be made again is only planned."""
    seen = set()
    for command in one_of_each(given):
        makes = command.startswith("python -m pytest ")
        planned = makes and not again
        done = paste(given, f"PYTEST_ADDOPTS=--plan {command}" if planned else command)
        judges = (makes or " rejudge " in command) and not planned
        assert done.returncode == (given.code if judges else 0), f"{command}\n{done.stdout}"
        assert not planned or "sweep tasks.steps-4000-kernel" in done.stdout, done.stdout
        seen.add(re.sub(r"^(benchgate )?(\w+( replay| small)?).*", r"\2", command))
    assert seen == kinds


def measured(where: Path, text: str, reports: str = "reports") -> Pasted:
    (where / "test_row.py").write_text(text)
    session = run_pytest(where, "test_row.py", "--clock=insn", "--smp=1,2", f"--reports={where}/{reports}")
    page = (where / reports / "latest/report.html").read_text()
    return Pasted(where, page, session.output, session.code)


def test_of_a_shipped_workload(tmp_path: Path) -> None:
    pasted = measured(tmp_path, SHIPPED)
    assert pasted.code in (1, 75), pasted.terminal
    assert any(command.endswith("--profile") for command in pasted.commands)
    # the next test makes its session again
    check(pasted, {"replay", "timeline", "verify", "rejudge", "python"}, again=False)


def test_of_a_workload_and_a_system_of_ones_own(tmp_path: Path) -> None:
    kernel = talker(tmp_path).name
    (tmp_path / "lined.yaml").write_text(SYSTEM.format(name="lined", work=WINDOWS["lined"], kernel=kernel))
    (tmp_path / "typed.yaml").write_text(WORKLOAD)
    (tmp_path / "oracle.py").write_text(ORACLE)
    pasted = measured(tmp_path, OWN, "my evidence")
    assert "the folder that holds my evidence/" in pasted.page
    assert pasted.code in (1, 75), pasted.terminal
    check(pasted, {"replay", "timeline", "verify", "rejudge", "python"})


def test_of_an_exploration(tmp_path: Path) -> None:
    words = ["--smoke", "--system", "kernel:fault=panic", "--smp=2", "--strategy=sync", "--seeds=1"]
    code, output = run_benchgate(tmp_path, "explore", *words, "--out=out")
    assert code == 1, output
    pasted = Pasted(tmp_path, (tmp_path / "out/explored.html").read_text(), output, code)
    check(pasted, {"explore replay"})
