"""Starts whole sessions as a user does: pytest as a program, in a folder of its own, with real guests.

A session may have to wait for the host's lock, so no test may depend on how long it takes.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgate import cli
from tests import forked
from tests.ternkit import LIGHT

REPO = Path(__file__).parents[2]
PATIENCE_S = 900
"""Only ends a broken test; no result depends on it."""

CELLS = """\
import pytest

pytestmark = pytest.mark.smp


@pytest.mark.workload({workload})
def test_every_run_is_right(cell):
    cell.require_verified()
"""
LOCK_HOLDER = """

@pytest.mark.system({systems})
@pytest.mark.workload({workload})
def test_lock_holder(cell):
    import os
    from benchgate.host import lock

    cell.require_verified()
    holder = lock.holder()
    assert (holder is not None and holder.pid == os.getpid()) is {holds}
"""
TERN = """\
import pytest

pytestmark = pytest.mark.threads


@pytest.mark.system("{system}")
@pytest.mark.workload("tasks", steps=4000)
@pytest.mark.speedup(cpus=2, at_least=1.6)
def test_scales(verdict):
    verdict.require_pass()
"""


@dataclass(frozen=True)
class Session:
    """A session that has ended: its exit status, its output and its folder."""

    code: int
    output: str
    folder: Path

    @property
    def rows(self) -> list[dict[str, str]]:
        with (self.folder / "results.csv").open() as stream:
            return list(csv.DictReader(stream))

    @property
    def verdicts(self) -> list[dict[str, Any]]:
        result: list[dict[str, Any]] = json.loads((self.folder / "verdicts.json").read_text())
        return result

    def work(self, cpus: int, system: str) -> list[int]:
        """The work windows of an arm's verified runs, without warm-ups."""
        mine = [row for row in self.rows if row["cpus"] == str(cpus) and row["system"] == system]
        return [int(row["work"]) for row in mine if row["outcome"] == "ok"]

    def outcomes(self, cpus: int, system: str = "linux") -> list[str]:
        """The outcomes of an arm's runs, without warm-ups."""
        mine = [row for row in self.rows if row["cpus"] == str(cpus) and row["system"] == system]
        return [row["outcome"] for row in mine if row["outcome"] != "warmup"]


def run_pytest(where: Path, *words: str | Path, python: str | Path = "") -> Session:
    """Runs pytest in that folder, with the reports below it. With a Python it is a process from its start;
    otherwise a fork of one that has imported all, which saves a second of CPU time."""
    own = [
        "-W",
        "error",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",  # it imports all of Hypothesis at the end
        "-p",
        "no:benchmark",  # it starts git six times; tests/plugin/test_benchmark_partner.py has both
        f"--reports={where}/reports",
    ]
    if python:
        code, output = run([python, "-m", "pytest", *own, *words], where)
    else:
        code, output = forked.pytest_in(where, [*own, *map(str, words)], PATIENCE_S)
    return Session(code, output, where / "reports" / "latest")


def run_on_wall_time(where: Path, *words: str | Path) -> Session:
    """A session under TCG on wall time."""
    return run_pytest(where, "--accel=tcg", "--clock=wall", *words)


def run_benchgate(where: Path, *words: str | Path, python: str | Path = "") -> tuple[int, str]:
    """The command's exit status, and what it printed. With a Python it is a process of its own; otherwise it
    runs here, which saves its start, a second of CPU time. What its own processes print is lost."""
    if python:
        return run([python, "-m", "benchgate.cli", *words], where)
    said = io.StringIO()
    with contextlib.chdir(where), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            status = cli.main(list(map(str, words)))
        except SystemExit as ended:
            status = int(ended.code or 0)
    return status, said.getvalue()


def run(words: Sequence[str | Path], where: Path) -> tuple[int, str]:
    done = subprocess.run(
        list(map(str, words)),
        cwd=where,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    return done.returncode, done.stdout


def gated_tern(where: Path, system: str, *words: str, more: str = "") -> Session:
    """A gated row of a few milliseconds, on the instruction clock, so that a busy host does not matter."""
    (where / "test_row.py").write_text(TERN.format(system=system) + more)
    return run_pytest(where, "test_row.py", "-v", "--clock=insn", "--smp=1,2", *words)


def dropped_ipis(where: Path) -> Session:
    """A quick session of five boots, of a tern whose defect would fail the gate, on one host CPU."""
    system = f"{light_tern(where).name}:fault=drop-ipi"
    more = LOCK_HOLDER.format(systems=f'"{system}"', workload='"tasks", steps=4000', holds=False)
    return gated_tern(where, system, "--quick", f"--cpus={max(os.sched_getaffinity(0))}", more=more)


def light_tern(where: Path, root: Path = REPO) -> Path:
    """tern under its own name, on q35 without the devices for which the firmware looks in every boot. `root`:
    the checkout, or the data of an installed benchgate."""
    text = (root / "fixtures" / "systems" / "kernel.yaml").read_text()
    for old, new in (("machine: q35\n", f"machine: {LIGHT}\n"), ("../../", f"{root}/")):
        assert old in text
        text = text.replace(old, new)
    path = where / "kernel.yaml"
    path.write_text(text)
    return path


def write_test(where: Path, text: str, workload: str) -> Path:
    path = where / "test_line.py"
    path.write_text(text.format(workload=workload))
    return path


def linux_with(where: Path, name: str, words: str) -> Path:
    """Our Linux guest under another name, with additional words on its command line."""
    text = (REPO / "fixtures" / "systems" / "linux.yaml").read_text()
    assert "name: linux\n" in text
    appends = {line for line in text.splitlines() if line.strip().startswith("append: console=")}
    assert len(appends) == 3  # one of each architecture
    path = where / f"{name}.yaml"
    text = text.replace("name: linux\n", f"name: {name}\nresult: {{system: linux}}\n")
    assert "boot_s: 60\n  run_s: 120\n" in text
    text = text.replace("boot_s: 60\n  run_s: 120\n", f"boot_s: {PATIENCE_S}\n  run_s: {PATIENCE_S}\n")
    for line in appends:
        text = text.replace(f"{line}\n", f"{line} {words}\n")
    path.write_text(text)
    return path
