"""A system under test: the contents of its YAML file as types. plan/systemfile/ reads the file.

Takes the values of the file, gives a frozen `System`. `Settings` are what a user may choose when a system is
named (`linux:kernel=PATH:arch=riscv64`). Built-in systems and a user's own have the same form.
Nothing fails: `System.refuses` gives the reason why a system cannot run a cell as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path, PurePath

from benchgate.base.cells import Mode, Params
from benchgate.base.runs import Deadlines
from benchgate.base.snapshots import StartKind
from benchgate.base.system.arch import RISCV64, X86_64, Architecture
from benchgate.base.system.boots import (
    WORKLOAD_INITRD,
    BootDefinition,
    Build,
    ConsoleWords,
    End,
    QemuWords,
    SettingFile,
    Smoke,
)
from benchgate.base.system.machines import AnyMachine, Machine, off_machine, on_machine
from benchgate.base.system.observe import ObserveDefinition
from benchgate.base.system.qemu import Interface, Port
from benchgate.base.system.results import ResultDefinition, ResultFormat
from benchgate.base.system.script import Script
from benchgate.base.text import one_line, suggestion
from benchgate.base.workload.metrics import Metric, MetricDirection, MetricKind
from benchgate.base.workload.workloads import Workload

WORKTREE = "worktree"
"""This word, in place of a git revision, stands for the files as they are in the folder now."""
_LONGEST = 24
_UNSAFE = re.compile(r"[^A-Za-z0-9_.+-]+")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_PACKAGE = re.compile(r"linux-source-[0-9]+\.[0-9]+\Z")
_QUOTED = re.compile(r"""(["'])(.+?)\1(?=[ ]|\Z)""")
_SIZE = re.compile(r"[1-9][0-9]{0,9}[kKmMgGtT]")
"""A size that QEMU's options for a machine and for a file of memory read in the same way."""
_RISCV_SAVED = (11, 1, 0)
"""QEMU before 10.2 saves no timers of the machine virt (hw/intc/riscv_aclint.c); 11.1 was tried."""
_NOT_SAVED = frozenset(
    f"-{name}"
    for name in (
        *("drive", "blockdev", "hda", "hdb", "hdc", "hdd", "cdrom", "fda", "fdb", "sd", "mtdblock", "pflash"),
        *("netdev", "nic", "net", "fsdev", "virtfs"),
    )
)
"""QEMU's options for what is outside of a guest's memory, CPUs and devices."""
_SHOWN = 10
"""The number of digits of a commit in a name."""
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
    "disk",
    "network",
    "placement",
    "control",
    "hotplug",
    "signals",
    "programs",
)
"""The services of a system that a workload may use inside its window (guest/services.h)."""
MAX_CPUS = 64


class SettingForm(StrEnum):
    """The forms of a setting in which files are named."""

    SOURCE = "source"  # PATH, PATH@REVISION or the name of a package
    CONFIG = "config"  # PATH or NAME, joined by +
    PROGRAM = "program"  # PATH and arguments, with spaces between them

    def parts(self, value: str) -> list[str]:
        return value.split("+") if self is SettingForm.CONFIG else [value]

    def joined(self, parts: Iterable[str]) -> str:
        return "+".join(parts)

    def path(self, part: str) -> str:
        """The path in a part; empty if it has none."""
        return self.divided(part)[0]

    def divided(self, part: str) -> tuple[str, str]:
        """The path in a part, and what follows it. That of a program may be quoted."""
        if self is SettingForm.PROGRAM:
            if quoted := _QUOTED.match(part):
                return quoted[2], part[quoted.end() :]
            path, space, rest = part.partition(" ")
            return path, space + rest
        if self is SettingForm.SOURCE:
            path, at, revision = part.rpartition("@")
            result = (path, at + revision) if at and path else (part, "")
            return ("", part) if _PACKAGE.match(part) else result
        return (part, "") if "/" in part or part.endswith(".config") else ("", part)

    def short(self, part: str) -> str:
        """The part with the last name of its path only. A commit is its first digits, which no long name
        of a folder may cut off."""
        path, rest = self.divided(part)
        name = PurePath(path).name if path else ""
        if self is SettingForm.SOURCE and _COMMIT.match(rest[1:]):
            rest = rest[: 1 + _SHOWN]
            name = name[: _LONGEST - len(rest)]
        return name + rest

    def with_path(self, path: str, rest: str) -> str:
        """The part with this path."""
        if self is SettingForm.PROGRAM and " " in path:
            quote = "'" if '"' in path else '"'
            return f"{quote}{path}{quote}{rest}"
        return path + rest


@dataclass(frozen=True, slots=True)
class Settings:
    values: Mapping[str, str] = field(default_factory=dict)
    """The value of every setting, with defaults filled in."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    """The settings whose value is the path of a file."""
    revision: str = ""
    """The setting whose value is a git revision; empty if there is none."""
    forms: Mapping[str, SettingForm] = field(default_factory=dict)
    """What the value of a setting is that names files in another form than one path."""
    kernel_files: tuple[SettingFile, ...] = ()
    """The files of the kernel that chosen settings are about."""
    appended: tuple[str, ...] = ()
    """What chosen settings add to the kernel's command line."""
    left_out: tuple[str, ...] = ()
    """What they take from it."""
    texts: tuple[str, ...] = ()
    """The settings whose value is any text."""

    @property
    def chosen(self) -> Mapping[str, str]:
        """The settings that differ from their defaults."""
        return {name: value for name, value in self.values.items() if value != self.defaults[name]}

    def label(self, name: str) -> str:
        """A chosen value as part of a cell's name: a file by its base name, a commit by its first digits."""
        value = self.values[name]
        if name in self.forms:
            whole = self.forms[name].joined(map(self.forms[name].short, self.forms[name].parts(value)))
            return _UNSAFE.sub("_", whole)[:_LONGEST] or "none"
        if name in self.texts:
            return _UNSAFE.sub("_", value)
        if name in self.files:
            return _UNSAFE.sub("_", PurePath(value).name)[:_LONGEST] or "file"
        if name == self.revision and _COMMIT.match(value):
            return value[:_SHOWN]
        return _UNSAFE.sub("_", value)[:_LONGEST] if name == self.revision else value


def not_a_service(name: str) -> str:
    """The error message for a name that is no service; empty if it is one."""
    if name in SERVICES:
        return ""
    known = f"a service is one of {', '.join(SERVICES)}"
    return f"`{name}` is not a service; {suggestion(name, SERVICES, known)}"


def plain_name(name: str) -> str:
    """A system's name without its settings, which follow the first dot, and without its machine."""
    return off_machine(name).partition(".")[0]


class SystemKind(StrEnum):
    QEMU = "qemu"
    NATIVE = "native"


class AskMethod(StrEnum):
    """The way in which the guest is told which workload to run."""

    CMDLINE = "cmdline"
    SELFTEST = "selftest"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True)
class System:
    name: str
    kind: SystemKind
    about: str
    file: Path
    arch: Architecture = X86_64
    qemu: QemuWords = field(default_factory=QemuWords)
    boot: BootDefinition = field(default_factory=BootDefinition)
    build: Build | None = None
    ports: Mapping[str, Port] = field(default_factory=dict)
    """Maps a name to a port of the guest that the host can reach."""
    ask: AskMethod = AskMethod.CMDLINE
    script: Script | None = None
    """The script to type; None unless the guest is asked at a prompt."""
    modes: tuple[Mode, ...] = (Mode.PROCESS, Mode.THREAD)
    console: ConsoleWords = field(default_factory=ConsoleWords)
    result: ResultDefinition = field(default_factory=ResultDefinition)
    smoke: Smoke | None = None
    end: End = field(default_factory=End)
    deadlines: Deadlines = field(default_factory=Deadlines)
    settings: Settings = field(default_factory=Settings)
    """The values that replace `{name}` in what is booted, in the command line and in the build commands."""
    cpus: tuple[int, int] = (1, MAX_CPUS)
    """The smallest and the largest supported CPU count."""
    services: Mapping[str, str] = field(default_factory=dict)
    """Maps each of its SERVICES to what implements it there."""
    observe: ObserveDefinition | None = None
    """How its threads are seen on the instruction clock; None if they are not."""
    machine: AnyMachine | None = None
    """The machine that the instruction clock models; None for the ideal one."""

    def at(self, cpus: int) -> System:
        """This system with the files that it boots, and builds, at this CPU count."""
        return replace(self, boot=self.boot.at(cpus), build=self.build and self.build.at(cpus))

    @property
    def has_guest_per_count(self) -> bool:
        """Whether each CPU count has a guest of its own, because its kernel is built for it (`{n}`)."""
        return self.at(1) != self.at(2)

    @property
    def memory_machine(self) -> Machine | None:
        """Its machine, if that has a memory system."""
        return self.machine if isinstance(self.machine, Machine) else None

    def on(self, machine: AnyMachine) -> System:
        """This system on a machine, which its name says."""
        return replace(self, name=on_machine(self.name, machine.name), machine=machine)

    @property
    def on_ideal(self) -> System:
        """This system on the ideal machine."""
        return replace(self, name=off_machine(self.name), machine=None)

    @property
    def cold(self) -> System:
        """This system where a run boots it, under the same name."""
        return replace(self, boot=replace(self.boot, start=StartKind.COLD))

    @property
    def why_only_cold(self) -> str:
        """Why its runs cannot start at a snapshot; empty if they can."""
        if self.kind is SystemKind.NATIVE or self.ask is AskMethod.SELFTEST:
            return "only a guest starts warm that is told after its boot what to run"
        waits = self.boot.initrd == WORKLOAD_INITRD or self.boot.warm is not None
        if self.ask is AskMethod.CMDLINE and not waits:
            return (
                "its command line says what to run; only our PID 1, a prompt and a kernel that waits for its "
                "command line (`boot.warm`) are told after the boot"
            )
        if self.boot.tuning:
            return self.boot.tuning
        if self._not_saved:
            return self._not_saved
        if self.qemu.memory and not _SIZE.fullmatch(self.qemu.memory):
            return f"its `qemu.memory` is `{one_line(self.qemu.memory, 40)}`, not a size such as 256M"
        return ""

    @property
    def _not_saved(self) -> str:
        """What of it is in no snapshot; empty if everything is."""
        own = sorted(_NOT_SAVED.intersection(self.qemu.arguments))
        if self.ports or own:
            what = f"drive or network of `qemu.arguments` ({own[0]})" if own else "network"
            return f"a snapshot has no {what}"
        for disk in self.boot.disks:
            if disk.format != "raw" or disk.interface is Interface.NVME:
                other = "nvme" if disk.interface is Interface.NVME else disk.format
                return f"a snapshot has raw disks only, and none on nvme; {disk.image} is {other}"
        return ""

    @property
    def why_usually_cold(self) -> str:
        """Why its runs start at no snapshot unless somebody asks for it; empty if they do."""
        if self.why_only_cold:
            return self.why_only_cold
        if self.saved_since > (0, 0, 0):
            return "most QEMUs cannot save it"
        # our small configuration leaves CONFIG_PROC_PAGE_MONITOR out, by which PID 1 finds its pages
        return "a Linux that is built may not have what PID 1 needs to wait" if self.boot.source else ""

    @property
    def saved_since(self) -> tuple[int, int, int]:
        """The first version of QEMU that saves this machine with all its timers."""
        return _RISCV_SAVED if self.arch is RISCV64 else (0, 0, 0)

    @property
    def own_qemu(self) -> Path | None:
        """The QEMU that its YAML names."""
        return self.file.parent / self.qemu.binary if self.qemu.binary else None

    @property
    def emulator(self) -> str:
        """The key of the QEMU that boots it: its architecture, or the QEMU that its YAML names."""
        own = self.own_qemu
        return self.arch.kind("qemu") if own is None else f"{self.arch.kind('qemu')} {own}"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """The metrics of its self-test."""
        return {
            name: Metric(name, MetricKind.TIME, MetricDirection.LESS, "ns", of=name)
            for name in self.result.operations
        }

    @property
    def runs_selftest(self) -> bool:
        """Whether its YAML has the right answers, so that it runs no workload and needs no oracle."""
        answered = self.result.expect is not None or self.result.format is ResultFormat.BENCH_LINES
        return self.ask is AskMethod.SELFTEST or answered

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
        return workload.wrong_count(cpus)

    def _cannot_ask(self, workload: Workload, params: Params) -> str:
        """Why this system's guest cannot be asked for the workload; empty if it can."""
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
