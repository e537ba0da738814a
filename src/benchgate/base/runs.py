"""The states of a run as types: its start, its record on disk, the verified run, the samples of an arm.

Takes plain values, gives frozen objects with units in their field names. An inconsistent VerifiedRun fails
with ValueError, and one that was not made by judge/verify.py fails with TypeError.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from benchgate.base.cells import Cell, Lane, Placement, Window
from benchgate.base.exploration import Exploration
from benchgate.base.jsonfields import Between, PlainWord, Presence, Seconds
from benchgate.base.statistics.histogram import Histogram
from benchgate.base.statistics.stats import Interval
from benchgate.base.system.qemu import Qemu
from benchgate.base.workload.metrics import Metric


class Ending(StrEnum):
    """How a run ended, as seen from outside the guest."""

    DONE = "done"  # the guest ended by itself with a good status
    FAILED = "failed"  # the guest ended by itself and reported a failure
    PANIC = "panic"
    EOF = "eof"  # the console closed before the end line (QEMU killed or crashed)
    BOOT_DEADLINE = "boot-deadline"
    RUN_DEADLINE = "run-deadline"
    OUTPUT_LIMIT = "output-limit"  # stopped because it printed more than the log may hold, or repeated itself
    NO_START = "no-start"  # the program could not be started
    INTERRUPTED = "interrupted"


class Outcome(StrEnum):
    """The `outcome` column of results.csv."""

    OK = "ok"
    WARMUP = "warmup"
    VOID = "void"
    """Verified, but the host disturbed it or could not watch it: not a sample, and made again."""
    INVALID = "invalid"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class Image:
    """A system that is ready to boot: its files and their digests."""

    kernel: Path | None
    initrd: Path | None
    program: Path | None
    """The binary to run, for a system that is a process (`native`)."""
    digests: Mapping[str, str]
    labels: tuple[str, ...] = ()
    """Labels for every row that uses this image, such as `unreviewed image`."""
    tool: Path | None = None
    """The folder of the existing program that `program` runs, for a system that is a process."""
    data_folder: str = ""
    """The folder with the workload's files, as its program sees it; empty if it has none."""
    disks: tuple[Path, ...] = ()
    firmware: Path | None = None

    @property
    def files(self) -> Mapping[str, Path]:
        """The files that a boot reads, under the names of their digests."""
        named = {"kernel": self.kernel, "initrd": self.initrd, "program": self.program}
        disks = {f"disk{number}": path for number, path in enumerate(self.disks)}
        return {
            name: path
            for name, path in {**named, "firmware": self.firmware, **disks}.items()
            if path is not None
        }

    def __post_init__(self) -> None:
        object.__setattr__(self, "digests", MappingProxyType(dict(self.digests)))


@dataclass(frozen=True, slots=True)
class Deadlines:
    boot_s: Seconds
    run_s: Seconds

    def at_most(self, ns: int | None) -> Deadlines:
        """None of both is later than this; None: they stay as they are."""
        if ns is None:
            return self
        return Deadlines(min(self.boot_s, ns / 1e9), min(self.run_s, ns / 1e9))


@dataclass(frozen=True, slots=True)
class Uses:
    """What the command line of a boot names by path."""

    qemu: Qemu
    plugin: Path | None
    """Of the instruction clock."""
    files: Mapping[str, Path]
    """The guest's, as in `Image.files`."""


@dataclass(frozen=True, slots=True)
class BootSpec:
    """Everything that is needed to start one guest or process."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    lane: Lane
    cpus: int
    pins: tuple[int, ...]
    """Host CPU of each vCPU or worker, in order; empty: not pinned."""
    deadlines: Deadlines
    host_cpus: tuple[int, ...] = ()
    """The host CPUs to which a guest without pins is kept; empty: any."""
    ports: Mapping[str, int] = field(default_factory=dict)
    """The host's port for each of the guest's, by name."""
    talks: bool = False
    """Something is typed at its console, on the instruction clock: in guest time (insn/talk.py)."""
    shape: str = ""
    """Its machine, as the clock reads it (insn/machine_shape.py); empty: the ideal one."""
    exploration: Exploration | None = None
    counts_memory: bool = False
    """The host counts what it holds of the caches and moves from memory, where the host can (resctrl)."""
    uses: Uses | None = None
    """What a worker of a fleet needs to carry it out; None: it is carried out here."""


@dataclass(frozen=True, slots=True)
class RawRun:
    """One run as recorded on disk. `folder` contains run.json, serial.log and the other files."""

    cell: Cell
    folder: Annotated[Path, Presence.APART]
    attempt: Annotated[int, Between(1)]
    """The number of this run in its session, from 1; invalid and crashed runs count too."""
    order: int
    """The position in the recorded order of the sweep."""
    nonce: PlainWord
    seed: int
    lane: Lane
    placement: Placement
    pins: tuple[int, ...]
    warmup: bool
    ending: Ending
    exit_status: Annotated[int, Between(-(2**63))] | None
    guest_digest: str
    clock_log: Annotated[Path | None, Presence.APART] = None
    """The instruction clock's log; None on the other lanes."""
    host_span_ns: int | None = None
    """How long the run took by the host's clock; its window cannot be longer. None: not known."""
    detail: str = ""
    """More about the ending, in one sentence; may be empty."""
    exploration: Annotated[Exploration | None, Presence.APART] = None
    """How its vCPUs were stalled; such a run is never a sample of a gate. None: it was not explored."""


@dataclass(frozen=True, slots=True)
class WorkerReport:
    id: int
    cpu: int
    cpu_end: int
    start: int
    end: int
    values: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Disorder:
    """Accesses to memory in one window that saw, or missed, a value of another time, because a vCPU was ahead
    of another. With a count of 0 the order of all accesses is that of their times."""

    count: int
    worst_ns: int
    """By how much, at most."""
    total_ns: int
    worst_line: int
    """The guest-physical address of the line of the worst one."""
    crossed: int = 0
    """Of `count`: writes that only another write should have followed, with no read between; no vCPU saw a
    wrong value of these."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What cannot be resolved in one window: by the instruction clock, in ns, or in a printed figure."""

    step: int
    """The largest quantum in force: how far the vCPUs can have been apart."""
    handovers: int
    """How often a vCPU saw what another had done, at most a step too late."""
    late: int
    """The length of all these delays together, at most. In the work window, if its lines say it; else in the
    timed window, or of a system without marks in the whole run."""
    printed: int = 0
    """By how much two figures that the guest prints differ at least, in the run's unit; 0: the window is no
    printed figure."""
    order: Disorder | None = None
    """None: the order of accesses was not watched."""
    late_in_total: int | None = None
    """`late` in the total window, if that has lines of its own; else it is `late`."""

    def late_in(self, window: Window) -> int:
        own = self.late_in_total if window is Window.TOTAL else None
        return self.late if own is None else own


@dataclass(frozen=True, slots=True)
class CpuUse:
    """How many CPUs a run used in one of its windows: the time of all of them together, over the window's
    length. Each is between two limits."""

    awake: Interval
    """Not halted."""
    worked: Interval | None = None
    """Outside loops that only wait; None: not known."""

    def at_most(self, cpus: float) -> CpuUse:
        awake, worked = self.awake, self.worked
        return CpuUse(
            Interval(min(awake.low, cpus), min(awake.high, cpus)),
            worked and Interval(min(worked.low, cpus), min(worked.high, cpus)),
        )


@dataclass(frozen=True, slots=True)
class OutsideUse:
    """What the CPUs executed just outside of a window between lines of the console: from the line before the
    one that was typed to the window's begin, and from its end to the last answer. In instructions of work."""

    busiest: int
    """Of the CPU that executed most, before and after."""
    together: int
    inside: int
    """Of all CPUs together, in the window."""


@dataclass(frozen=True, slots=True)
class CpuWork:
    """What is known of the CPUs of one run: how many it used, and why that may be few."""

    used: Mapping[Window, CpuUse] = field(default_factory=dict)
    """Empty: not known."""
    outside: OutsideUse | None = None
    """None: not known, or its window lies between marks in the wire format."""
    sleeps: bool = False
    """Whether its workload may leave all CPUs idle: it sleeps, or waits for a device."""
    takes_turns: bool = False
    """Whether its workers share CPUs or make calls: how often they switch depends on the interleaving."""


_VERIFY_ONLY = object()


@dataclass(frozen=True, slots=True)
class VerifiedRun:
    """A run that passed verification. Only judge/verify.py can make one, because only it has the key."""

    run: RawRun
    unit: str
    work: int
    total: int
    foreign: int | None
    workers: tuple[WorkerReport, ...]
    key: object = field(repr=False, compare=False)
    resolution: Resolution | None = None
    """None on the other lanes if the guest printed no figure, and if QEMU was killed before it wrote the
    clock's totals."""
    void: str = ""
    """How the host disturbed it more than the policy allows, or what it could not see of it; then it is no
    sample. Empty: neither."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """By name: `work` and `total` in the run's unit, and those that the workload declares, in theirs."""
    unverified: bool = False
    """True if the workload is a program that does not verify its own work: no gate may use the run."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Metrics of its workload that it lacks because the guest skipped them, and why."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Metrics of its workload that have no value in it, and why: a percentile of nothing."""
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    """By name, those of all its workers together, in the guest's unit."""
    hz: int | None = None
    """How many of the guest's unit are one second; None: the guest did not say."""
    lead: int | None = None
    """How long after the beginning of the total window the work window began, in the run's unit; None: not
    known, as for a system that prints its windows itself."""
    arch: str = ""
    """The architecture of its guest; empty: not known."""
    cpu_work: CpuWork = field(default_factory=CpuWork)

    def __post_init__(self) -> None:
        if self.key is not _VERIFY_ONLY:
            raise TypeError("only benchgate.judge.verify makes a VerifiedRun")
        if not 0 < self.work <= self.total:
            raise ValueError(f"the work window {self.work} is not inside the total window {self.total}")
        windows = {Window.WORK: self.work, Window.TOTAL: self.total}
        metrics = {**self.metrics, **{str(window): float(length) for window, length in windows.items()}}
        object.__setattr__(self, "metrics", MappingProxyType(metrics))

    @property
    def busy(self) -> float | None:
        """The time that all workers together spent in their work, in the guest's own unit. None unless there
        are as many as CPUs: others wait for each other, which counts here as work. Where as many share a CPU,
        they took no longer than all CPUs were awake."""
        if len(self.workers) != self.run.cell.cpus:
            return None
        spent = sum(one.end - one.start for one in self.workers)
        length = max(one.end for one in self.workers) - min(one.start for one in self.workers)
        use = self.cpu_work.used.get(Window.WORK)
        return min(spent, use.awake.high * length) if use else spent


@dataclass(frozen=True, slots=True)
class Measurement:
    """One arm, one metric: every sample in the order in which it was taken."""

    cell: Cell
    lane: Lane
    placement: Placement
    metric: Metric
    unit: str
    """The metric's, or for a window the run's."""
    samples: tuple[float, ...]
    busy: tuple[float, ...] = ()
    """VerifiedRun.busy of each sample; empty if a run has none."""
    blur: tuple[float, ...] = ()
    """By which share each sample may be off: because of the steps of the instruction clock, or in wall time
    because of what other tasks of the guest used. Empty if that is not known of a run."""
    step: float = 0.0
    """By how much each sample may be off, because the guest prints its figure in such steps."""
    seeds: tuple[int, ...] = ()
    """Of each sample; empty: not known."""
    guest: str = ""
    """The digest of the guest's files."""
    hz: tuple[int, ...] = ()
    """Of each sample, how many of `unit` are a second; empty: not known, or no time of the guest's clock."""
    arch: str = ""
    """The architecture of the guest; empty: not known."""
    cpu_work: tuple[CpuWork, ...] = ()
    """Of each sample; empty: not known."""
