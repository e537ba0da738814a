"""A system under test: the contents of its YAML file as types. plan/systemfile/ reads the file.

Takes the values of the file, gives a frozen `System`. Built-in systems and a user's own have the same form.
Nothing fails: `System.refuses` gives the reason why a system cannot run a cell as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from benchgate.base.arch import X86_64, Architecture
from benchgate.base.cells import Mode, Params
from benchgate.base.disks import Disk
from benchgate.base.metrics import Better, Metric, MetricKind
from benchgate.base.network import CARD, Port
from benchgate.base.qemu import GOOD_EXIT
from benchgate.base.runs import Deadlines
from benchgate.base.script import Script
from benchgate.base.text import suggestion
from benchgate.base.workloads import Workload

DEFAULT_FIRMWARE = "default"
"""The firmware that QEMU has for its machine: SeaBIOS, OpenSBI, or none."""
NO_FIRMWARE = "none"
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
REPEAT_BYTES = 64 << 10
"""A console that repeats one byte or a few lines for this long is stopped; 0: never. A progress bar of 64 Ki
dots, or 1,600 equal lines of 40 bytes, is still taken for progress."""
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
    network: str = CARD
    """The network card of a system with `ports`."""
    binary: str = ""
    """The path of the QEMU for this system alone; empty: the session's for its architecture."""


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
    """Matches the line that the guest prints when the figure's time begins; or TYPED."""
    regex: str
    unit: str
    """One of UNITS; the time of a tick is known."""
    shift: int = 0
    hz: float = 0.0
    """How many ticks or cycles are one second; 0: not known, or the unit says it."""
    step: float = 0.0
    """By how much two figures can differ at least, in `unit`; at least one in the last printed digit."""


@dataclass(frozen=True, slots=True)
class LineWindow:
    """A window from one line of the console to another. Only the instruction clock times lines."""

    begins: str
    """A pattern, or TYPED."""
    ends: str


@dataclass(frozen=True, slots=True)
class MarkWindow:
    """A window between the marks that the guest's programs execute (guest/bench.h)."""


TYPED = "typed"
"""In place of a pattern: a window begins when the guest has echoed the end of the line typed last."""
WindowSource = ResultPattern | LineWindow | MarkWindow
UNITS = ("ns", "us", "ms", "s", "ticks", "cycles")


@dataclass(frozen=True, slots=True)
class Result:
    format: ResultFormat = ResultFormat.BENCH
    system: str = ""
    """The system's name on the begin line; empty: the name in its YAML file."""
    counts_foreign: bool = True
    """Whether it measures foreign CPU time in its window. If so, it must not report `na`."""
    work: WindowSource | None = None
    total: WindowSource | None = None
    expect: Mapping[str, str] | None = None
    """The value that each named group must have: the oracle of a self-test."""
    answers: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    """What a program of micro-benchmarks must measure or skip; each is a metric, in ns."""

    @property
    def figures(self) -> Mapping[str, ResultPattern]:
        """The windows whose lengths the guest prints."""
        windows = {"work": self.work, "total": self.total}
        return {name: one for name, one in windows.items() if isinstance(one, ResultPattern)}

    @property
    def needs_clock(self) -> bool:
        """Whether only the instruction clock can time a window."""
        return any(isinstance(one, LineWindow | MarkWindow) for one in (self.work, self.total))


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
    arch: Architecture = X86_64
    qemu: QemuWords = QemuWords()
    kernel: str = ""
    initrd: str = ""
    append: str = ""
    symbols: str = ""
    """The ELF file that resolves sampled addresses; {workload} is replaced by the workload's name."""
    disks: tuple[Disk, ...] = ()
    firmware: str = DEFAULT_FIRMWARE
    ports: Mapping[str, Port] = field(default_factory=dict)
    """What the host can reach of a guest, by name."""
    """DEFAULT_FIRMWARE, NO_FIRMWARE or the path of a file, which may contain {out}."""
    build: Build | None = None
    ask: Ask = Ask.CMDLINE
    script: Script | None = None
    """What is typed; None unless it is asked at a prompt."""
    modes: tuple[Mode, ...] = (Mode.PROCESS, Mode.THREAD)
    ready: str = ""
    failures: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    """Patterns of lines that look like a panic and are none."""
    repeat_bytes: int = REPEAT_BYTES
    online: str = ""
    """A pattern whose group (?P<n>...) is the number of online CPUs; empty: the begin line has it."""
    online_lines: str = ""
    """A pattern that matches one line for each CPU that came up; another way to say the same."""
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
    def own_qemu(self) -> Path | None:
        """The QEMU that its YAML names."""
        return self.file.parent / self.qemu.binary if self.qemu.binary else None

    @property
    def emulator(self) -> str:
        """Which of a session's QEMUs boots it: one for each architecture, and those that systems name."""
        own = self.own_qemu
        return self.arch.kind("qemu") if own is None else f"{self.arch.kind('qemu')} {own}"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Those of its self-test."""
        return {
            name: Metric(name, MetricKind.TIME, Better.LESS, "ns", of=name) for name in self.result.operations
        }

    @property
    def counts_cpus(self) -> bool:
        """Whether a pattern says how many CPUs came up; the wire format says it without one."""
        return bool(self.online or self.online_lines)

    @property
    def runs_selftest(self) -> bool:
        """Its YAML has the right answers, so it needs no workload's oracle, and runs no workload."""
        answered = self.result.expect is not None or self.result.format is ResultFormat.BENCH_LINES
        return self.ask is Ask.SELFTEST or answered

    def refuses(self, workload: Workload, cpus: int, params: Params = ()) -> str:
        """Why this system cannot run that cell; empty if it can."""
        if self.runs_selftest != (workload.name == SELFTEST):
            return f"{self.name} runs {'only its own self-test' if self.runs_selftest else 'no self-test'}"
        if workload.name != SELFTEST and (wrong := self._cannot_ask(workload, params)):
            return wrong
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

    def _cannot_ask(self, workload: Workload, params: Params) -> str:
        """Why a workload without a program of its own cannot be typed here, or one with a program not run."""
        if workload.name == SELFTEST:
            return ""
        if workload.tool and not self.arch.is_host:
            return f"{workload.name} is a program of a package, which is fetched for this host's CPU only"
        own_form = self.result.format is ResultFormat.PATTERNS
        if workload.has_program and own_form:
            return (
                f"{self.name} prints no answers of {workload.name}'s workers: use a workload with "
                "`source: none` and an oracle for the names in `answers` and `capture`"
            )
        if not workload.has_program and (not own_form or self.script is None):
            return f"{workload.name} has no program (`source: none`), so it needs a system with `ask: prompt`"
        if self.script is None:
            return ""
        names = [name for name, _ in params]
        wrong = self.script.mismatch(names, needs_all=not workload.has_program)
        return wrong and f"{workload.name} cannot be typed at the prompt of {self.name}: {wrong}"
