"""A system under test: the contents of its YAML file as types. plan/systemfile/ reads the file.

Takes the values of the file, gives a frozen `System`. Built-in systems and a user's own have the same form.
Nothing fails: `System.refuses` gives the reason why a system cannot run a cell as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from benchgate.base.cells import Mode, Params
from benchgate.base.metrics import Better, Metric, MetricKind
from benchgate.base.qemu import GOOD_EXIT
from benchgate.base.runs import Deadlines
from benchgate.base.text import suggestion
from benchgate.base.workloads import Workload

FETCHED_LINUX = "fetch:linux"
WORKLOAD_INITRD = "workload"
SOURCE = "{source}"
"""In a build's commands: the path of the workload's C file; `{workload}` is its name."""
SELFTEST = "selftest"
"""The name of the workload that a system with a fixed self-test runs."""
SERVICES = (
    "clock",
    "park",
    "sleep",
    "channel",
    "cpu",
    "threads",
    "processes",
    "map",
    "files",
    "signals",
    "programs",
)
"""What a workload may use of a system inside its window (guest/services.h)."""
MAX_CPUS = 64
DEADLINES = Deadlines(boot_s=60.0, run_s=120.0)


def not_a_service(name: str) -> str:
    """Why this is no service, for an error message; empty if it is one."""
    if name in SERVICES:
        return ""
    known = f"a service is one of {', '.join(SERVICES)}"
    return f"`{name}` is not a service; {suggestion(name, SERVICES, known)}"


def plain_name(name: str) -> str:
    """A system's name without its settings, which follow the first dot."""
    return name.partition(".")[0]


class Kind(StrEnum):
    QEMU = "qemu"
    NATIVE = "native"


class Ask(StrEnum):
    """How the guest is told which workload to run."""

    CMDLINE = "cmdline"
    SELFTEST = "selftest"
    PROMPT = "prompt"


class ResultFormat(StrEnum):
    BENCH = "bench"  # docs/wire.md
    PATTERNS = "patterns"
    BENCH_LINES = "bench-lines"  # judge/bench_lines.py


class EndBy(StrEnum):
    EXIT = "exit"  # the guest ends QEMU; `exit_codes` lists the statuses that mean success
    KILL = "kill"  # QEMU is killed after the guest has printed its last result


@dataclass(frozen=True, slots=True)
class QemuWords:
    machine: str = "q35"
    cpu: str = ""
    memory: str = "256M"
    smp: str = "{n}"
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Build:
    """Commands that build the kernel. They never run inside a measurement."""

    commands: tuple[tuple[str, ...], ...]
    folder: Path
    sources: tuple[Path, ...]
    """Everything that the result depends on; its digest is part of the cache key."""

    @property
    def per_workload(self) -> bool:
        """Whether the build uses the workload's C source, so that each workload needs its own build."""
        return any(SOURCE in word for command in self.commands for word in command)


@dataclass(frozen=True, slots=True)
class ResultPattern:
    """How to find one figure on a console that does not use the wire format."""

    begins: str
    """Matches the line that the guest prints when the figure's time begins."""
    regex: str
    unit: str
    shift: int


@dataclass(frozen=True, slots=True)
class Result:
    format: ResultFormat = ResultFormat.BENCH
    system: str = ""
    """The system's name on the begin line; empty: the name in its YAML file."""
    counts_foreign: bool = True
    """Whether it measures foreign CPU time in its window. If so, it must not report `na`."""
    work: ResultPattern | None = None
    total: ResultPattern | None = None
    expect: Mapping[str, str] | None = None
    """The value that each named group must have: the oracle of a self-test."""
    answers: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    """What a program of micro-benchmarks must measure or skip; each is a metric, in ns."""


@dataclass(frozen=True, slots=True)
class Smoke:
    """A boot without a workload. It must pass once per CPU count before any figure of that count is valid."""

    append: str
    passes: str
    """The regular expression that its console must match."""


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
    """The ELF file that resolves sampled addresses; {workload} is replaced by the workload's name."""
    build: Build | None = None
    ask: Ask = Ask.CMDLINE
    modes: tuple[Mode, ...] = (Mode.PROCESS, Mode.THREAD)
    ready: str = ""
    failures: tuple[str, ...] = ()
    online: str = ""
    """A pattern whose group (?P<n>...) is the number of online CPUs; empty: the begin line has it."""
    result: Result = Result()
    smoke: Smoke | None = None
    end_by: EndBy = EndBy.EXIT
    exit_codes: tuple[int, ...] = (GOOD_EXIT,)
    may_reset: bool = False
    """Whether the guest may end by a reset. A triple fault is a reset too."""
    deadlines: Deadlines = DEADLINES
    settings: Mapping[str, str] = field(default_factory=dict)
    """The values that replace `{name}` in the command line and the build commands."""
    cpus: tuple[int, int] = (1, MAX_CPUS)
    """The smallest and the largest supported CPU count."""
    services: Mapping[str, str] = field(default_factory=dict)
    """Those of SERVICES that it has, and what each is made of there."""

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Those of its self-test."""
        return {
            name: Metric(name, MetricKind.TIME, Better.LESS, "ns", of=name) for name in self.result.operations
        }

    def refuses(self, workload: Workload, cpus: int, params: Params = ()) -> str:
        """Why this system cannot run that cell; empty if it can."""
        if (self.ask is Ask.SELFTEST) != (workload.name == SELFTEST):
            return (
                f"{self.name} runs {'only its own self-test' if self.ask is Ask.SELFTEST else 'no self-test'}"
            )
        if workload.mode not in self.modes and workload.name != SELFTEST:
            return f"{self.name} has no {workload.mode} workloads"
        for who, needs in workload.needs_with(params):
            if missing := [service for service in needs if service not in self.services]:
                lacks = f"which {self.name} does not have (`services` in its YAML)"
                return f"{who} needs {', '.join(missing)}, {lacks}"
        low, high = self.cpus
        if not low <= cpus <= high:
            return f"{self.name} runs on {low} to {high} CPUs"
        return ""
