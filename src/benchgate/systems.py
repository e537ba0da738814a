"""A system under test, in the words of its YAML file; systemfile.py reads them.

Takes what was read, gives a frozen `System`; our own systems use the same words as anybody's. Which cells it
refuses, and why, it says in words: nothing here fails.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from benchgate.model import Deadlines, Mode

FETCHED_LINUX = "fetch:linux"
WORKLOAD_INITRD = "workload"
SOURCE = "{source}"
"""In a build's commands: the path of the workload's C file; `{workload}` is its name."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,31}\Z")
SELFTEST = "selftest"
"""The name of the workload that a system with a fixed self-test runs."""


DEADLINES = Deadlines(boot_s=60.0, run_s=120.0)


def plain_name(name: str) -> str:
    """A system's name without its settings, which stand behind the first dot."""
    return name.partition(".")[0]


class Kind(StrEnum):
    QEMU = "qemu"
    NATIVE = "native"


class Ask(StrEnum):
    """How the workload is asked for."""

    CMDLINE = "cmdline"
    SELFTEST = "selftest"
    PROMPT = "prompt"


class ResultFormat(StrEnum):
    BENCH = "bench"  # docs/wire.md
    PATTERNS = "patterns"


class EndBy(StrEnum):
    EXIT = "exit"  # the guest ends QEMU; `exit_codes` are the good ones
    KILL = "kill"  # it is ended once its last result was seen


@dataclass(frozen=True, slots=True)
class QemuWords:
    machine: str = "q35"
    cpu: str = ""
    memory: str = "256M"
    smp: str = "{n}"
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Build:
    """Commands that make the kernel, run outside every timed part."""

    commands: tuple[tuple[str, ...], ...]
    folder: Path
    sources: tuple[Path, ...]
    """What the result depends on: its digest is the key under which it is kept."""

    @property
    def per_workload(self) -> bool:
        """Whether the workload's C source goes into it: then each workload has a build of its own."""
        return any(SOURCE in word for command in self.commands for word in command)


@dataclass(frozen=True, slots=True)
class ResultPattern:
    """One figure of a console that does not speak the wire format."""

    regex: str
    unit: str
    shift: int


@dataclass(frozen=True, slots=True)
class Result:
    format: ResultFormat = ResultFormat.BENCH
    system: str = ""
    """What the wire's begin line calls it; empty: its own name."""
    counts_foreign: bool = True
    """Whether it counts the CPU time of others in its window; only one that cannot may answer `na`."""
    work: ResultPattern | None = None
    total: ResultPattern | None = None
    expect: Mapping[str, str] | None = None
    """Named capture -> the value it must have; the `selftest` oracle."""
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Smoke:
    """A boot without a workload that must pass at a CPU count before a figure of that count is accepted."""

    append: str
    passes: str
    """What its console must say, as a regular expression."""


@dataclass(frozen=True, slots=True)
class System:
    name: str
    kind: Kind
    about: str
    file: Path
    qemu: QemuWords = QemuWords()
    kernel: str = ""
    initrd: str = ""
    append: str = ""
    symbols: str = ""
    """The ELF file of the program that runs, for sampled addresses; {workload} stands for its name."""
    build: Build | None = None
    ask: Ask = Ask.CMDLINE
    modes: tuple[Mode, ...] = (Mode.PROCESS, Mode.THREAD)
    ready: str = ""
    failures: tuple[str, ...] = ()
    online: str = ""
    """Pattern with (?P<n>...) that proves how many CPUs came up; empty: the begin line does."""
    result: Result = Result()
    smoke: Smoke | None = None
    end_by: EndBy = EndBy.EXIT
    exit_codes: tuple[int, ...] = (33,)
    deadlines: Deadlines = DEADLINES
    settings: Mapping[str, str] = field(default_factory=dict)
    """What `{name}` stands for in its command line and build commands."""
    cpus: tuple[int, int] = (1, 64)
    """The smallest and the largest CPU count that it runs on."""

    def refuses(self, mode: Mode, workload: str, cpus: int) -> str:
        """Why this system cannot run that cell; empty where it can."""
        if (self.ask is Ask.SELFTEST) != (workload == SELFTEST):
            return (
                f"{self.name} runs {'only its own self-test' if self.ask is Ask.SELFTEST else 'no self-test'}"
            )
        if mode not in self.modes and workload != SELFTEST:
            return f"{self.name} has no {mode} workloads"
        low, high = self.cpus
        if not low <= cpus <= high:
            return f"{self.name} runs on {low} to {high} CPUs"
        return ""
