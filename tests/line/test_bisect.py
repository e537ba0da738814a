"""A real slowdown in the history of a small kernel is found by real boots on the instruction clock."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchgate import cli
from tests.gitkit import Repo
from tests.kernelkit import BARE, DATA
from tests.line.sessions import PATIENCE_S

YAML = """\
version: 1
name: mine
kind: qemu
settings: {{rev: {{revision: worktree}}}}
build:
  folder: src/kernel
  sources: [src/kernel]
  commands: [[cc, {flags}, "-Wl,-T,stress.ld", start.S, main.c, -o, "{{out}}/mine.elf"]]
boot: {{kernel: "{{out}}/mine.elf", append: case=honest}}
ask: selftest
console: {{online: "^(?P<n>[0-9]+) CPUs up$"}}
result:
  format: patterns
  work: {{begins: "^work begins$", pattern: "^work: (?P<value>[0-9]+) ns$", unit: ns}}
  answers: ["^sum=(?P<sum>[0-9]+)$"]
  expect: {{sum: 10000000}}
end: {{by: exit, exit_codes: [0, 33]}}
"""
TEST = """\
import pytest

@pytest.mark.workload("selftest")
@pytest.mark.ratio(to="A", cpus=2, at_least=0.95)
def test_it_is_as_fast(verdict):
    verdict.require_pass()
"""
SHARE = "    work(share());\n    while"
SLOW = "    work(share() + STEPS / 8);\n    while"
"""One of two CPUs does a quarter more: 1.25 times the time."""


@dataclass(frozen=True)
class History:
    """Seven commits: the third makes the work slower, the fourth does not compile."""

    repo: Repo
    commits: tuple[str, ...]

    @classmethod
    def new(cls, folder: Path) -> History:
        repo = Repo.new(folder / "src")
        fast = (DATA / "selftest/selftest.c").read_text().replace("../stress/stress.h", "stress.h")
        slow = fast.replace(SHARE, SLOW)
        assert slow != fast
        beside = {
            f"kernel/{name}": (DATA / "stress" / name).read_text()
            for name in ("start.S", "stress.h", "stress.ld")
        }
        sources = [fast, f"{fast}// 1\n", slow, f"{slow}broken\n", f"{slow}// 2\n", f"{slow}// 3\n"]
        commits = [
            repo.commit(f"change {n}", {"kernel/main.c": text, **beside}) for n, text in enumerate(sources)
        ]
        (folder / "mine.yaml").write_text(YAML.format(flags=", ".join(map(json.dumps, BARE))))
        (folder / "test_mine.py").write_text(TEST)
        return cls(repo, tuple(commits))


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    made = History.new(tmp_path)
    (made.repo.folder / "kernel/main.c").write_text("the user's own work, which does not compile\n")
    monkeypatch.chdir(tmp_path)
    return made


def words(history: History) -> list[str]:
    good, bad = history.commits[0], history.commits[-1]
    tests = ["test_mine.py", "--system", "mine.yaml", "--clock", "insn", "--quiet", "-p", "no:cacheprovider"]
    return [sys.executable, "-m", "benchgate.cli", "bisect", "--out", "out", good, bad, "--", *tests]


@pytest.mark.long
def test_the_commit_that_is_slower_is_found_also_after_an_interruption(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    before = history.repo.state
    said = []
    with subprocess.Popen(
        words(history), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as first:
        assert first.stderr is not None
        for line in first.stderr:
            said.append(line)
            if f"testing BAD {history.commits[-1][:10]}" in line:
                first.send_signal(signal.SIGINT)
    assert first.returncode == 130, said
    interrupted = json.loads(Path("out/state.json").read_text())
    assert [one["commit"] for one in interrupted["steps"]] == [history.commits[0]]

    done = subprocess.run(words(history), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 step done before" in done.stderr
    assert f"the first bad commit is {history.commits[2][:10]}: change 2" in done.stdout
    assert re.search(
        r"FAIL: selftest smp2 mine\.rev-\w+/mine\.rev-\w+ = 0\.80 \[0\.80, 0\.80\] < 0\.95", done.stdout
    )
    assert re.search(r"^selftest smp2 work +10\.00 ms +12\.50 ms +0\.80 ", done.stdout, re.MULTILINE)

    found = json.loads(Path("out/state.json").read_text())
    assert found["steps"][0] == interrupted["steps"][0]
    terms = {one["commit"]: one["term"] for one in found["steps"]}
    right = dict(zip(history.commits, ("good", "good", "bad", "skip", "bad", "bad"), strict=True))
    assert terms.items() <= right.items()
    assert history.repo.state == before
    assert (history.repo.folder / "kernel/main.c").read_text().startswith("the user's own work")

    (at,) = [one["session"] for one in found["steps"] if one["commit"] == history.commits[2]]
    assert cli.main(["verify", f"out/{at}"]) == 0
    assert cli.main(["rejudge", f"out/{at}"]) == 1
    assert "A is mine.rev-" in capsys.readouterr().out + Path(f"out/{at}/summary.md").read_text()
