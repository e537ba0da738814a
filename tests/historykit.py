"""A git history of a small kernel that becomes slower, and the command that looks for the commit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tests.gitkit import Repo
from tests.kernelkit import BARE, DATA

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


def words(history: History, *more: str, out: str = "out") -> list[str]:
    """Behind the name of Python, in the folder of the history."""
    good, bad = history.commits[0], history.commits[-1]
    tests = ["test_mine.py", "--system", "mine.yaml", "--clock", "insn", "--quiet", "-p", "no:cacheprovider"]
    return ["-m", "benchgate.cli", "bisect", "--out", out, good, bad, "--", *tests, *more]
