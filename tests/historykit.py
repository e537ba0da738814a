"""A git history of a small kernel that becomes slower, and the command that looks for the commit.

The kernel is built by a system's YAML, or as a Linux is: `Source.LINUX` is a tree that the command
`benchgate build-linux` takes, whose Makefile notes what it compiles."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.gitkit import Repo
from tests.kernelkit import BARE, DATA

CONSOLE = """\
ask: selftest
console: {online: "^(?P<n>[0-9]+) CPUs up$"}
result:
  format: patterns
  work: {begins: "^work begins$", pattern: "^work: (?P<value>[0-9]+) ns$", unit: ns}
  answers: ["^sum=(?P<sum>[0-9]+)$"]
  expect: {sum: 10000000}
end: {by: exit, exit_codes: [0, 33]}
"""
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
"""
LINUX_YAML = """\
version: 1
name: mine
kind: qemu
settings: {kernel: {file: "fetch:linux"}, source: {source: ""}}
boot: {kernel: "{kernel}", source: "{source}", config: base, append: case=honest}
"""
COMPILED = "compiled.log"
MAKEFILE = f"""\
allnoconfig:
\tcp $(KCONFIG_ALLCONFIG) $(KCONFIG_CONFIG)
olddefconfig:
\ttrue
bzImage: vmlinux
\tmkdir -p arch/x86/boot include/config
\tcp vmlinux arch/x86/boot/bzImage
\tnm vmlinux >System.map
\t@echo 6.99.0 >include/config/kernel.release
vmlinux: kernel/sched/start.o kernel/sched/core.o
\t@$(CC) {" ".join(BARE)} -Wl,-T,kernel/sched/stress.ld $^ -o $@
%.o: %.c
\t@echo $@ >>{COMPILED}
\t@$(CC) {" ".join(BARE)} -c $< -o $@
%.o: %.S
\t@echo $@ >>{COMPILED}
\t@$(CC) {" ".join(BARE)} -c $< -o $@
"""
TEST = """\
import pytest

@pytest.mark.workload("selftest")
@pytest.mark.ratio(to="A", cpus=2, at_least=0.95)
def test_it_is_as_fast(verdict):
    verdict.require_pass()
"""
BESIDE = ("start.S", "stress.h", "stress.ld")
SHARE = "    work(share());\n    while"
SLOW = "    work(share() + STEPS / 8);\n    while"
"""One of two CPUs does a quarter more: 1.25 times the time."""


class Source(StrEnum):
    """The folder of the small kernel in its repository."""

    OWN = "kernel"
    LINUX = "kernel/sched"

    @property
    def main(self) -> str:
        return f"{self}/{'main.c' if self is Source.OWN else 'core.c'}"

    @property
    def others(self) -> dict[str, str]:
        found = {f"{self}/{name}": (DATA / "stress" / name).read_text() for name in BESIDE}
        return found if self is Source.OWN else {**found, "Makefile": MAKEFILE, "Kconfig": ""}

    @property
    def yaml(self) -> str:
        own = YAML.format(flags=", ".join(map(json.dumps, BARE)))
        return (own if self is Source.OWN else LINUX_YAML) + CONSOLE


@dataclass(frozen=True)
class History:
    """Six commits: the third does not compile, the fifth makes the work slower."""

    repo: Repo
    commits: tuple[str, ...]
    system: str

    @classmethod
    def new(cls, folder: Path, source: Source = Source.OWN) -> History:
        repo = Repo.new(folder / "src")
        fast = (DATA / "selftest/selftest.c").read_text().replace("../stress/stress.h", "stress.h")
        slow = fast.replace(SHARE, SLOW)
        assert slow != fast
        sources = [fast, f"{fast}// 1\n", f"{fast}broken\n", f"{fast}// 3\n", slow, f"{slow}// 5\n"]
        commits = [
            repo.commit(f"change {n}", {source.main: text, **source.others}) for n, text in enumerate(sources)
        ]
        (folder / "mine.yaml").write_text(source.yaml)
        (folder / "test_mine.py").write_text(TEST)
        return cls(repo, tuple(commits), "mine.yaml" if source is Source.OWN else "mine.yaml:source=src")


def words(history: History, *more: str, out: str = "out") -> list[str]:
    """Behind the name of Python, in the folder of the history."""
    good, bad = history.commits[0], history.commits[-1]
    tests = ["test_mine.py", "--system", history.system, "--clock", "insn"]
    tests += ["--quiet", "-p", "no:cacheprovider"]
    return ["-m", "benchgate.cli", "bisect", "--out", out, good, bad, "--", *tests, *more]
