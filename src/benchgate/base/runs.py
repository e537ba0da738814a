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
from typing import TYPE_CHECKING, Annotated

from benchgate.base.cells import Cell, Lane, Placement, Window
from benchgate.base.exploration import Exploration
from benchgate.base.jsonfields import Between, PlainWord, Presence, Seconds
from benchgate.base.snapshots import DISK
from benchgate.base.statistics.histogram import Histogram, merged
from benchgate.base.statistics.stats import Interval
from benchgate.base.system.machines import MemoryRange
from benchgate.base.system.qemu import Qemu
from benchgate.base.workload.metrics import Metric
from benchgate.base.workload.witness import WitnessedPromise
from benchgate.base.yaml.keys import Number

if TYPE_CHECKING:
    from benchgate.base.snapshots import GuestSnapshot

MOST_BOOT_S, MOST_RUN_S = 3600.0, 86400.0


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
    """The binary of a system that is a process (`native`), or what a kernel gets after a warm start."""
    digests: Mapping[str, str]
    labels: tuple[str, ...] = ()
    """The labels for every row that uses this image, such as `unreviewed image`."""
    tool: Path | None = None
    """The folder of the existing program that `program` runs, for a system that is a process."""
    data_folder: str = ""
    """The folder with the workload's files, as its program sees it; empty if it has none."""
    disks: tuple[Path, ...] = ()
    firmware: Path | None = None
    start: Path | None = None
    """The archive with the PID 1 that waits in a snapshot until it gets `initrd`; None if it boots that."""
    later: frozenset[str] = frozenset()
    """The names of the digests of what comes after a warm start."""

    @property
    def files(self) -> Mapping[str, Path]:
        """The files that a boot reads, under the names of their digests."""
        named = {"kernel": self.kernel, "initrd": self.initrd, "program": self.program, "start": self.start}
        every = {**named, "firmware": self.firmware, **self.disk_files}
        return {name: path for name, path in every.items() if path is not None}

    @property
    def disk_files(self) -> Mapping[str, Path]:
        return {f"{DISK}{number}": path for number, path in enumerate(self.disks)}

    @property
    def brought(self) -> Path | None:
        """The file that a guest gets after a warm start; None if it gets none."""
        return self.program if self.start is None else self.initrd

    def __post_init__(self) -> None:
        object.__setattr__(self, "digests", MappingProxyType(dict(self.digests)))


@dataclass(frozen=True, slots=True)
class Deadlines:
    boot_s: Annotated[Seconds, Number("until `console.ready`", low=0.1, high=MOST_BOOT_S)] = 60.0
    run_s: Annotated[Seconds, Number("from there to the end", low=0.1, high=MOST_RUN_S)] = 120.0

    def at_most(self, ns: int | None) -> Deadlines:
        """The deadlines, limited to this time; None leaves them unchanged."""
        if ns is None:
            return self
        return Deadlines(min(self.boot_s, ns / 1e9), min(self.run_s, ns / 1e9))


@dataclass(frozen=True, slots=True)
class Uses:
    """The files that the command line of a boot names by path."""

    qemu: Qemu
    plugin: Path | None
    """The plugin of the instruction clock; None without it."""
    files: Mapping[str, Path]
    """The guest's files, as in `Image.files`."""


@dataclass(frozen=True, slots=True)
class BootSpec:
    """Everything that is needed to start one guest or process."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    lane: Lane
    cpus: int
    pins: tuple[int, ...]
    """The host CPU of each vCPU or worker, in order; empty if they are not pinned."""
    deadlines: Deadlines
    host_cpus: tuple[int, ...] = ()
    """The host CPUs to which a guest without pins is restricted; empty for no restriction."""
    ports: Mapping[str, int] = field(default_factory=dict)
    """Maps the name of each guest port to its port on the host."""
    talks: bool = False
    """Whether something is typed at its console in guest time (insn/talk.py)."""
    shape: str = ""
    """Its machine, as the clock reads it (insn/machine_shape.py); empty for the ideal one."""
    exploration: Exploration | None = None
    start: GuestSnapshot | None = None
    """The snapshot from which it starts; None if it boots."""
    words: str = ""
    """The words of its kernel command line, if they come after its start."""
    kept_memory: tuple[MemoryRange, ...] = ()
    """The parts of the guest's memory of which digests are kept at its end (run/end_memory.py)."""
    counts_memory: bool = False
    """Whether the host counts the guest's use of caches and memory, if the host can (resctrl)."""
    uses: Uses | None = None
    """What another machine needs to start it; None if it is started on this machine."""


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
    """None if the host ended it, at a moment of its own."""
    guest_digest: str
    clock_log: Annotated[Path | None, Presence.APART] = None
    """The instruction clock's log; None on the other lanes."""
    host_span_ns: int | None = None
    """The run's length by the host's clock, which its window cannot exceed; None if unknown."""
    detail: str = ""
    """A sentence about the ending; may be empty."""
    exploration: Annotated[Exploration | None, Presence.APART] = None
    """How its vCPUs were stalled; None if it was not explored. An explored run is never a gate's sample."""


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
    """Accesses to memory in one window that saw or missed a value of another time, because one vCPU was ahead
    of another. If the count is 0, all accesses happened in the order of their times."""

    count: int
    worst_ns: int
    """The largest difference in time, in ns."""
    total_ns: int
    worst_line: int
    """The guest-physical address of the memory line with the largest difference."""
    crossed: int = 0
    """How many of `count` were writes that only another write should have followed. No vCPU saw a wrong
    value because of these."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The resolution of one window: of the instruction clock, in ns, or of a printed figure."""

    step: int
    """The largest quantum in force: how far the vCPUs can have been apart."""
    handovers: int
    """How often a vCPU saw what another had done; each time it may be up to a step too late."""
    late: int
    """The upper bound on the sum of these delays: in the work window if its lines tell, else in the timed
    window or, without marks, in the whole run."""
    printed: int = 0
    """The smallest difference between two figures that the guest prints, in the run's unit; 0 if the window
    is no printed figure."""
    order: Disorder | None = None
    """The accesses out of order; None if their order was not watched."""
    late_in_total: int | None = None
    """The same as `late` for the total window; None if that has no lines of its own."""

    def late_in(self, window: Window) -> int:
        own = self.late_in_total if window is Window.TOTAL else None
        return self.late if own is None else own


@dataclass(frozen=True, slots=True)
class CpuUse:
    """How many CPUs a run used in one window: the sum of their times divided by the window's length. Each
    field is a pair of limits."""

    awake: Interval
    """The CPUs that were not halted."""
    worked: Interval | None = None
    """The CPUs that executed more than loops that only wait; None if unknown."""

    def at_most(self, cpus: float) -> CpuUse:
        awake, worked = self.awake, self.worked
        return CpuUse(
            Interval(min(awake.low, cpus), min(awake.high, cpus)),
            worked and Interval(min(worked.low, cpus), min(worked.high, cpus)),
        )


@dataclass(frozen=True, slots=True)
class OutsideUse:
    """The work, in instructions, just outside of a window between console lines: from the line before the
    typed one to the window's begin, and from its end to the last answer."""

    busiest: int
    """The instructions of the busiest CPU, before and after the window."""
    together: int
    inside: int
    """The instructions of all CPUs together in the window."""
    polled: int = 0
    """All CPUs together, in the loop in which idle CPUs poll. The other counts outside are without these."""
    polled_inside: int = 0
    """The part of `inside` that was executed in that loop's code."""


@dataclass(frozen=True, slots=True)
class CpuWork:
    """What is known about the CPUs of one run: how many it used, and why they may be few."""

    used: Mapping[Window, CpuUse] = field(default_factory=dict)
    """The CPUs used in each window; empty if unknown."""
    outside: OutsideUse | None = None
    """None if unknown, or if its window lies between marks of the wire format."""
    sleeps: bool = False
    """Whether its workload may leave all CPUs idle, because it sleeps or waits for a device."""
    takes_turns: bool = False
    """Whether its workers share CPUs or make calls: how often they switch depends on the interleaving."""
    programs: int | None = None
    """The instructions of user programs in the work window, outside loops that only wait; None if unknown."""


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
    """None if QEMU was killed before it wrote the clock's totals or, on the other lanes, if the guest printed
    no figure."""
    void: str = ""
    """Why the run is void, and no sample: the host disturbed it more than the policy allows, or could not
    watch it. Empty if it is not void."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """The figures by name: `work` and `total` in the run's unit, declared ones in their own units."""
    unverified: bool = False
    """True if the workload is a program that does not verify its own work: no gate may use the run."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Maps each metric that the guest skipped to the reason."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Maps each metric without a value, such as a percentile of nothing, to the reason."""
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    """Maps a name to the histogram of all workers together, in the guest's unit or, if the machine measured
    it, in ns."""
    measured: frozenset[str] = frozenset()
    """The histograms that the machine measured itself, not the guest."""
    hz: int | None = None
    """How many of the guest's unit are one second; None if the guest did not report it."""
    lead: int | None = None
    """The time from the begin of the total window to that of the work window, in the run's unit; None if
    unknown, as for a system that prints its windows itself."""
    arch: str = ""
    """The architecture of its guest; empty if unknown."""
    cpu_work: CpuWork = field(default_factory=CpuWork)
    result: Mapping[str, int] = field(default_factory=dict)
    """What it reported as its result; empty if a system prints its answers in its own form."""
    promises: tuple[WitnessedPromise, ...] = ()
    """What the machine saw of each promise of its workload."""
    start: tuple[int, str] | None = None
    """The number of the boot whose snapshot it began at, and the snapshot's digest; None if it booted."""

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
        are as many workers as CPUs, because others wait for each other, which counts here as work. Workers
        that share a CPU are taken to work no longer than all CPUs were awake."""
        if len(self.workers) != self.run.cell.cpus:
            return None
        spent = sum(worker.end - worker.start for worker in self.workers)
        length = max(worker.end for worker in self.workers) - min(worker.start for worker in self.workers)
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
    """The metric's unit, or for a window the run's."""
    samples: tuple[float, ...]
    busy: tuple[float, ...] = ()
    """The value of VerifiedRun.busy for each sample; empty if a run has none."""
    blur: tuple[float, ...] = ()
    """The share by which each sample may be off, because of the instruction clock's steps or, in wall time,
    of other tasks in the guest. Empty if it is unknown for a run."""
    step: float = 0.0
    """The step in which the guest prints its figure, by which each sample may be off."""
    seeds: tuple[int, ...] = ()
    """The seed of each sample; empty if unknown."""
    guest: str = ""
    """The digest of the guest's files."""
    hz: tuple[int, ...] = ()
    """How many of `unit` are one second, for each sample; empty if unknown, or if it is no guest time."""
    arch: str = ""
    """The architecture of the guest; empty if unknown."""
    cpu_work: tuple[CpuWork, ...] = ()
    """What is known about the CPUs in each sample; empty if nothing is."""
    runs: tuple[str, ...] = ()
    """The folder of each sample's run, relative to the session's; empty if unknown."""


@dataclass(frozen=True, slots=True)
class OracleRun:
    """The fourth parameter of a `check`. Times are the guest's own, in its unit."""

    cpus: int
    unit: str
    hz: int | None
    """How many of `unit` are one second; None if the guest did not say."""
    work: int
    total: int
    by_worker: Mapping[str, tuple[Histogram, ...]]
    """Each histogram's name, and one for each worker in the order of their ids."""

    @property
    def histograms(self) -> Mapping[str, Histogram]:
        """The histograms by name, each merged over all workers."""
        return MappingProxyType({name: merged(of_workers) for name, of_workers in self.by_worker.items()})
