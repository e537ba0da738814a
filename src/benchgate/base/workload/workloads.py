"""A workload: the contents of its YAML file as types. plan/workloadfile.py reads the file.

Takes the values of the file, gives a frozen `Workload`. Built-in workloads and a user's own have the same
form. A `Tool` is an existing program as a workload: the section `program:`, which workloadfile.py checks;
judge/console/tool_result.py reads what the program printed. Nothing fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from benchgate.base.cells import Mode, Params, ParamValue, program_of
from benchgate.base.text import counted
from benchgate.base.workload.metrics import Metric
from benchgate.base.workload.operations import SpanRule
from benchgate.base.workload.witness import Promise

TOOL_FOLDER = "{tool}"
"""The placeholder for the folder with the program's files, which differs between guest and host."""
SERVICE = "programs"
"""The service that a system must have: it executes programs of the distribution."""
UNVERIFIED = "unverified by the tool"
GUEST_FILES = "files"
"""The folder of a guest that has the workload's `files`; also the manifest's word for that folder, and the
service that a workload with files needs."""


class Take(StrEnum):
    """Selects which of several matches is the result."""

    ONLY = "only"
    """There must be exactly one."""
    SUM = "sum"
    MOST = "most"
    LEAST = "least"


@dataclass(frozen=True, slots=True)
class Capture:
    """One number that the program prints. Its value is whole: the printed number times 10**decimals."""

    name: str
    regex: str = ""
    """Has one group, the number; `^` and `$` match at line ends. Empty: `path` is used."""
    path: str = ""
    """The place in the JSON document that the program prints, such as `threads.0.latency.max`; `*` stands for
    every key or index."""
    decimals: int = 0
    take: Take = Take.ONLY


@dataclass(frozen=True, slots=True)
class Tool:
    package: str
    """The distribution's package that has the program."""
    program: str
    """The program's file name in bin, sbin, usr/bin or usr/sbin."""
    arguments: tuple[str, ...] = ()
    """The arguments, in which parameters and `cpus` in braces are replaced."""
    captures: tuple[Capture, ...] = ()
    exit: int = 0
    worked: tuple[str, ...] = ()
    """Regular expressions that the output must match, or the program did not do its work."""
    verifies: bool = False
    """Whether the program checks its own work and `worked` shows that it found it right. If not, its figures
    inform, and no gate may use them."""


@dataclass(frozen=True, slots=True)
class ParamSpec:
    """One parameter, as the workload's YAML file declares it."""

    name: str
    default: ParamValue
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = 2**63 - 1
    unit: str = ""
    about: str = ""
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The services that some of the choices need, beside those that the workload needs."""


@dataclass(frozen=True, slots=True)
class ThreadPlan:
    """What is known in advance of the threads of a workload, whose runs are judged by the record of them."""

    kind: str
    """What such a workload is called (hooks.WorkloadKind)."""
    cpus: int
    """How many CPUs its guest has."""
    roles: tuple[str, ...]
    """What the workers are called, by their numbers. Further ones have no role."""
    stops_threads: bool
    """Whether the kernel stops threads that could run. They leave their queue, which no hook shows."""
    content: object
    """What the file of this kind says, for the check of its feature (hooks.RunCheck)."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A program to measure: one C source or an existing program, one oracle, parameters, metrics."""

    name: str
    mode: Mode
    file: Path
    """The workload's YAML file; source and oracle are in the same folder."""
    source: Path
    """The C source; no file if `tool` is set, or if it has no program."""
    oracle: Path
    """The oracle; no file if `tool` is set and nothing of its output can be checked."""
    params: Mapping[str, ParamSpec]
    quick: Mapping[str, ParamValue] = field(default_factory=dict)
    about: str = ""
    needs: tuple[str, ...] = ()
    """The services (SERVICES in systems.py) that it uses; a system without one of them cannot run it."""
    own_workers: bool = False
    """Whether it decides how many workers there are. Otherwise there is one for each CPU."""
    lasts: str = ""
    """The parameter that says how long it runs on every system; empty if it runs until it is done."""
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    """The declared metrics by name, without `work` and `total` (metrics.WINDOWS)."""
    tool: Tool | None = None
    """The existing program that it runs; None if it has a C source of its own."""
    files: tuple[str, ...] = ()
    """The files that it reads while it runs: paths below the folder of its YAML file."""
    promises: tuple[Promise, ...] = ()
    """What the machine must have seen if its figures are right."""
    roles: tuple[str, ...] = ()
    """What its workers are called, by the value `role` that each reports."""
    trusts: tuple[str, ...] = ()
    """What of its figures nothing but the guest shows, and why."""
    machine: Mapping[str, SpanRule] = field(default_factory=dict)
    """Maps the names of histograms to how the machine itself measures them."""
    threads: ThreadPlan | None = None
    """None: any number of CPUs may run it, and any threads."""

    @property
    def program(self) -> str:
        """The name of its program, which all workloads of one kind share."""
        return program_of(self.name)

    @property
    def has_program(self) -> bool:
        """Whether it has a program; if not, a system that has the program is asked for it at its prompt."""
        return self.tool is not None or self.source != Path()

    @property
    def has_oracle(self) -> bool:
        return self.oracle != Path()

    @property
    def services(self) -> frozenset[str]:
        """The services that it may need, with any parameters."""
        return frozenset(self.needs).union(
            *(need for spec in self.params.values() for need in spec.needs.values())
        )

    def needs_with(self, params: Params) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Pairs of who needs services with these parameters (the workload, or a parameter's value) and these
        services."""
        chosen = (
            (f"{self.name} with {name}={value}", self.params[name].needs.get(str(value), ()))
            for name, value in params
            if name in self.params
        )
        return (self.name, self.needs), *chosen

    def wrong_count(self, cpus: int) -> str:
        """Why it cannot run on so many CPUs; empty if it can."""
        if self.threads is None or self.threads.cpus == cpus:
            return ""
        return f"{self.name} is a {self.threads.kind} of a guest with {counted(self.threads.cpus, 'CPU')}"
