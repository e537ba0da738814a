"""The types that flow from stage to stage: frozen, with units in their field names.

Takes nothing from the other modules but errors; gives every word of the design as a type. Construction
fails with ValueError where a value contradicts itself, so that no later stage needs to check it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

ParamValue = int | str
"""A workload's parameter: a whole number or a word."""


class Mode(StrEnum):
    PROCESS = "process"
    THREAD = "thread"


class Lane(StrEnum):
    """How time is taken and on what. Figures of different lanes never meet in one ratio."""

    KVM = "kvm"
    TCG = "tcg"
    NATIVE = "native"
    INSN = "insn"


class Accel(StrEnum):
    KVM = "kvm"
    TCG = "tcg"


class Placement(StrEnum):
    PHYSICAL = "physical"
    SMT = "smt"
    VIRTUAL = "virtual"
    OVERSUBSCRIBED = "oversubscribed"


class Ending(StrEnum):
    """How a run's machine came to its end, as seen from outside it."""

    DONE = "done"  # it ended by itself, as a good run does
    FAILED = "failed"  # it ended by itself and said that it failed
    PANIC = "panic"
    EOF = "eof"  # the console closed before the end line (QEMU killed or crashed)
    BOOT_DEADLINE = "boot-deadline"
    RUN_DEADLINE = "run-deadline"
    OUTPUT_LIMIT = "output-limit"  # it printed more than its log may hold, and was stopped
    NO_START = "no-start"  # QEMU never ran a guest
    INTERRUPTED = "interrupted"


class Outcome(StrEnum):
    """The `outcome` column of results.csv."""

    OK = "ok"
    WARMUP = "warmup"
    VOID = "void"
    INVALID = "invalid"
    CRASHED = "crashed"


class Word(StrEnum):
    """A verdict's first word."""

    PASS = "PASS"  # noqa: S105
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    INVALID = "INVALID"
    SKIP = "SKIP"


class Window(StrEnum):
    WORK = "work"
    TOTAL = "total"


@dataclass(frozen=True, slots=True)
class ParamSpec:
    """What a workload's YAML says of one parameter."""

    name: str
    default: ParamValue
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = 2**63 - 1
    unit: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class Workload:
    """What can run: one C source, one oracle, parameters with their ranges."""

    name: str
    mode: Mode
    source: Path
    oracle: str
    params: Mapping[str, ParamSpec]
    quick: Mapping[str, ParamValue] = field(default_factory=dict)
    about: str = ""
    file: str = ""
    """The YAML file of a user's own workload; empty for ours, which go by name."""


Params = tuple[tuple[str, ParamValue], ...]
"""A workload's parameters with all defaults filled in, sorted by name."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One (system, workload, parameters, CPU count). Plain values, so that it survives on disk."""

    system: str
    workload: str
    mode: Mode
    params: Params
    cpus: int
    label: str = ""
    """The workload's name plus the parameters that differ from their defaults; default: the name."""
    variant: str = ""
    """Sets a row beside its twin of the same CPU count apart, as in `smp8-smt`."""

    def __post_init__(self) -> None:
        if self.cpus < 1:
            raise ValueError(f"a cell needs at least one CPU, not {self.cpus}")
        if not self.label:
            object.__setattr__(self, "label", self.workload)

    @property
    def row(self) -> str:
        """The id without its CPU count: what the arms of one sweep share."""
        return f"{self.label}-{self.system}"

    @property
    def id(self) -> str:
        return f"{self.row}-smp{self.cpus}" + (f"-{self.variant}" if self.variant else "")

    def param(self, name: str) -> ParamValue:
        return dict(self.params)[name]


@dataclass(frozen=True, slots=True)
class Image:
    """A system made ready to boot: files, and digests of all they were made from."""

    kernel: Path | None
    initrd: Path | None
    program: Path | None
    """The binary to run, for a system that is a process (`native`)."""
    digests: Mapping[str, str]
    labels: tuple[str, ...] = ()
    """What every row made from it must say, e.g. `unreviewed image`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "digests", MappingProxyType(dict(self.digests)))


@dataclass(frozen=True, slots=True)
class Deadlines:
    boot_s: float
    run_s: float


@dataclass(frozen=True, slots=True)
class BootSpec:
    """Everything that is needed to start one machine; the argv is final but for its sockets."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    lane: Lane
    cpus: int
    pins: tuple[int, ...]
    """Host CPU of each vCPU or worker, in order; empty: not pinned."""
    deadlines: Deadlines


@dataclass(frozen=True, slots=True)
class RawRun:
    """One attempt as it stands on disk. `folder` holds run.json, serial.log and the rest."""

    cell: Cell
    folder: Path
    attempt: int
    """Counts every attempt of the session from 1, voided and crashed ones too."""
    order: int
    """The place in the recorded order of the sweep."""
    nonce: str
    seed: int
    lane: Lane
    placement: Placement
    pins: tuple[int, ...]
    warmup: bool
    ending: Ending
    exit_status: int | None
    guest_digest: str
    clock_log: Path | None = None
    """The instruction clock's own log, on that lane."""
    void_reason: str = ""
    """Why a detector that was named beforehand voids this run; empty: it does not."""
    host_delay_ns: int | None = None
    """How long its vCPU or worker threads were ready but did not run, by the host; None: not known."""
    host_span_ns: int | None = None
    """How long the machine ran, by the host's own clock: no window of its is longer. None: not known."""
    detail: str = ""
    """What the outside saw, in one sentence; empty where the ending says it all."""


@dataclass(frozen=True, slots=True)
class WorkerReport:
    id: int
    cpu: int
    cpu_end: int
    start: int
    end: int
    values: Mapping[str, int]


_VERIFY_ONLY = object()


@dataclass(frozen=True, slots=True)
class VerifiedRun:
    """A run whose verifier completed. Only `verify` can make one: it holds the key."""

    run: RawRun
    unit: str
    work: int
    total: int
    foreign: int | None
    workers: tuple[WorkerReport, ...]
    key: object = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.key is not _VERIFY_ONLY:
            raise TypeError("only benchgate.verify makes a VerifiedRun")
        if not 0 < self.work <= self.total:
            raise ValueError(f"work {self.work} and total {self.total} do not nest")


@dataclass(frozen=True, slots=True)
class Measurement:
    """One arm, one window: every sample in the order in which it was taken."""

    cell: Cell
    lane: Lane
    placement: Placement
    window: Window
    unit: str
    samples: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One gate's answer; the fields of verdicts.json, None where one does not apply."""

    id: str
    gate: str
    system: str
    workload: str
    params: Params
    mode: Mode
    metric: str
    base_cpus: int | None
    cpus: int
    lane: Lane | None
    threshold: float | None
    ratio: float | None
    low: float | None
    high: float | None
    runs: int
    outcome: Word
    reason: str
