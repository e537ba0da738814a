"""A mix: parts that run at once in one guest; and what one run gave. `benchgate docs mix` explains the terms.

Takes plain values, gives frozen objects with units in their field names; scores are exact fractions. A mix
that no guest can run fails with ValueError, which names the part.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

from benchgate.base.cells import Cell, Mode, Params
from benchgate.base.paths import data_root
from benchgate.base.system.boots import WORKLOAD_INITRD
from benchgate.base.system.systems import System
from benchgate.base.workload.workloads import Workload

WORKLOAD = "mix"
"""The name of a mix where a cell has the name of its workload."""
MOST_PARTS = 64
DISK_SERVICE, NETWORK_SERVICE = "disk", "network"
"""A part whose workload needs one of these gets a folder on a disk, or a network of its own."""
WHOLE_PPM = 1_000_000
COLD_RUNS = 1
"""So many first runs of each part count in no score, whether it runs alone or in company. A first run is
slower because pages of the program are not in memory yet and the caches are empty."""
MOST_RUNS = 2000
"""The most runs of one part; equal to RUNS_MOST of guest/port/linux/mix/mix.h and kernel/user/mix.h."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.#+-]{0,63}\Z")

CPU, MEMORY = "cpu_ns", "memory_bytes"
READ, WRITTEN = "disk_read_bytes", "disk_written_bytes"
NETWORK = "network_bytes"
PART_USES = (CPU, MEMORY, READ, WRITTEN, NETWORK)
"""The uses that are counted for each part."""
CACHE, MOVED = "cache_bytes", "moved_bytes"
GUEST_USES = (CACHE, MOVED)
"""The uses that are counted for the whole guest: by its machine, or on wall time by the host."""


@dataclass(frozen=True, slots=True)
class PartLimits:
    """The most that a part may use; None means no limit."""

    cpu_ppm: int | None = None
    """The CPU time, in millionths of all the guest's CPUs."""
    memory_bytes: int | None = None
    disk_bytes_per_s: int | None = None
    """The limit holds for reads and for writes separately."""
    network_bytes_per_s: int | None = None
    """The limit holds in each direction separately."""


NO_LIMITS = PartLimits()


@dataclass(frozen=True, slots=True)
class Part:
    """One instance of an application."""

    name: str
    """A name that is unique in its mix, such as `primes.small#1`."""
    workload: Workload | None
    """The workload; None for the dummy, which only waits."""
    params: Params = ()
    workers: int = 1
    limits: PartLimits = NO_LIMITS
    cpus: tuple[int, ...] = ()
    """The guest's CPUs on which it may run; empty for all."""
    score: str = ""
    """A metric of its workload for which more is better; empty for completed runs per second."""

    @property
    def cell(self) -> Cell:
        """The cell of each of its runs: a program with as many CPUs as it has workers."""
        assert self.workload is not None
        return Cell("native", self.workload.name, self.workload.mode, self.params, self.workers)

    def needs(self, service: str) -> bool:
        """Whether its workload, or one of its parameters, needs this service."""
        each = self.workload.needs_with(self.params) if self.workload else ()
        return any(service in needs for _, needs in each)

    def online(self, cpus: int) -> int:
        """The number of the guest's CPUs that it may use."""
        return len(self.cpus) or cpus


@dataclass(frozen=True, slots=True)
class Mix:
    system: System
    cpus: int
    parts: tuple[Part, ...]
    least: int = 3
    """The window ends when each part has completed so many runs, cold ones included; dummies have none."""
    limit_ms: int = 10_000
    """The window also ends after this guest time."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.parts) <= MOST_PARTS:
            raise ValueError(f"a mix has 1 to {MOST_PARTS} parts, not {len(self.parts)}")
        names = [part.name for part in self.parts]
        for part in self.parts:
            if why := self._problem(part, names):
                raise ValueError(f"part {part.name}: {why}")
        if self.least < 1 or self.limit_ms < 1:
            raise ValueError("a mix needs at least one run of each part, and a limit of at least 1 ms")

    def _problem(self, part: Part, names: list[str]) -> str:
        bounds = [getattr(part.limits, name) for name in PartLimits.__slots__]
        problems = {
            "its name must be letters, digits, `_`, `.`, `#`, `+` and `-`": not _NAME.match(part.name),
            "two parts have this name": names.count(part.name) > 1,
            f"its CPUs {','.join(map(str, part.cpus))} are not different ones of 0 to {self.cpus - 1}": (
                len(set(part.cpus)) < len(part.cpus) or not set(part.cpus) <= set(range(self.cpus))
            ),
            f"it has 1 to {MOST_PARTS} workers, not {part.workers}": not 1 <= part.workers <= MOST_PARTS,
            "a limit must be at least 1": any(bound is not None and bound < 1 for bound in bounds),
        }
        wrong = next((why for why, is_so in problems.items() if is_so), "")
        return wrong or (self._cannot_run(part, part.workload) if part.workload else "")

    @property
    def own_conductor(self) -> bool:
        """Whether the system's build makes a kernel that runs mixes; else PID 1 of the Linux guest does."""
        return self.system.build is not None and bool(self.system.build.mix)

    def _cannot_conduct(self, part: Part, workload: Workload) -> str:
        """Why the kernel's own conductor, which limits only CPU time, cannot run it; empty if it can."""
        name, limits = self.system.name, part.limits
        others = [
            word for word in PartLimits.__slots__ if word != "cpu_ppm" and getattr(limits, word) is not None
        ]
        others_of = (each.workload for each in self.parts if each.workload)
        files = {other.file for other in others_of if other.name == workload.name}
        problems = {
            f"{name} cannot bind a part to CPUs": bool(part.cpus),
            f"{name} has no limit of {', '.join(others)}": bool(others),
            f"{name} has no files for {workload.name}": bool(workload.files),
            "its workload has the name of the conductor": workload.name == WORKLOAD,
            f"two workloads of one name ({workload.name}) cannot be in one kernel": len(files) > 1,
        }
        return next((why for why, is_so in problems.items() if is_so), "")

    def _cannot_run(self, part: Part, workload: Workload) -> str:
        if self.own_conductor and self.system.boot.waiting is not None:
            return f"{self.system.name} runs mixes from a cold start only: leave out start=warm"
        if not self.own_conductor and self.system.boot.initrd != WORKLOAD_INITRD:
            return f"{self.system.name} runs no mixes: neither `initrd: workload` nor `build.mix` in its YAML"
        for who, needs in workload.needs_with(part.params):
            if lacks := [need for need in needs if need not in self.system.services]:
                return f"{who} needs {', '.join(lacks)}, which {self.system.name} does not have"
        if part.score and part.score not in workload.metrics:
            known = ", ".join(workload.metrics) or "none"
            return f"{workload.name} declares no metric {part.score}; it has {known}"
        return self._cannot_conduct(part, workload) if self.own_conductor else ""

    @property
    def programs(self) -> Mapping[str, Workload]:
        """Maps the folder of each program in the guest to its workload."""
        used = {part.workload.file: part.workload for part in self.parts if part.workload}
        return {f"parts/{number}": workload for number, workload in enumerate(used.values())}

    @property
    def program(self) -> Workload:
        """The mix itself where planning wants a workload."""
        file = data_root() / "guest" / "port" / "linux" / "mix" / "main.c"
        return Workload(WORKLOAD, Mode.PROCESS, file, file, Path(), {})

    @property
    def needs_disk(self) -> bool:
        return any(part.needs(DISK_SERVICE) for part in self.parts)

    @property
    def needs_network(self) -> bool:
        return any(part.needs(NETWORK_SERVICE) for part in self.parts)

    @property
    def digest(self) -> str:
        """16 hex digits that identify everything that the mix asks for."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def _machine(self) -> str:
        """The digest of the machine, because two machines may have one name."""
        machine = self.system.machine
        if machine is None:
            return ""
        plain = replace(machine, file=Path(), text="", digest="", source="")
        return hashlib.sha256(repr(plain).encode()).hexdigest()[:16]

    @property
    def cell(self) -> Cell:
        """The cell that run.json names."""
        params, label = (("mix", self.digest),), f"{WORKLOAD}-{self.digest}"
        return Cell(self.system.name, WORKLOAD, Mode.PROCESS, params, self.cpus, label)

    def as_json(self) -> dict[str, object]:
        """The content of mix.json in a run's folder."""
        return {
            "schema": 1,
            "system": self.system.name,
            "machine": self._machine,
            "cpus": self.cpus,
            "least": self.least,
            "limit_ms": self.limit_ms,
            "parts": [
                {
                    "name": part.name,
                    "workload": part.workload.name if part.workload else None,
                    "params": dict(part.params),
                    "workers": part.workers,
                    "limits": {name: getattr(part.limits, name) for name in PartLimits.__slots__},
                    "cpus": list(part.cpus),
                    "score": part.score,
                }
                for part in self.parts
            ],
        }


@dataclass(frozen=True, slots=True)
class PartRun:
    """The result of one part in the window."""

    name: str
    score: Fraction
    """The score; 0 only for a part that completed no run that counts: a dummy, or a starved one."""
    runs: int
    """The number of completed and verified runs, including the cold ones."""
    use: Mapping[str, int | None]
    """A value for each of PART_USES. None could not be read, and MixRun.missing says why."""
    starved: str = ""
    """`memory`: the kernel ended it because it needs more than its limit allows."""
    run_ns: tuple[int, ...] = ()
    """The length of each completed run, from its start to its exit."""
    metrics: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Maps each metric of its workload to its values in the completed runs."""
    unverified: bool = False
    """True if its program does not verify its own work: no gate may use its figures."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "use", MappingProxyType(dict(self.use)))
        object.__setattr__(self, "metrics", MappingProxyType(dict(self.metrics)))


@dataclass(frozen=True, slots=True)
class MixRun:
    """One verified run of a mix."""

    window_ns: int
    """The time from the opening of the gate to the stop."""
    cpus: int
    parts: tuple[PartRun, ...]
    foreign_ns: int | None
    """The CPU time in the window that belongs to no part; None if unknown."""
    memory_bytes: int
    """The memory that the guest's kernel could give to the parts when the gate opened."""
    use: Mapping[str, int | None] = field(default_factory=dict)
    """A value for each of GUEST_USES. CACHE is what the machine loaded from memory in the window, at most the
    size of the shared caches; on wall time it is the most that the guest held of the host's last caches."""
    cache_bytes: int | None = None
    """The size of the host's last caches, on wall time; None if unknown."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """A sentence about each use that is None."""
    ended: str = "least"
    """`least`: each part had completed enough runs. `limit`: the time was over. `full`: a part had completed
    as many runs as can be kept. `starved`: a part could not go on."""
    void: str = ""
    """The counters that exceed the void rule and make the run no sample; empty if there are none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "use", MappingProxyType(dict(self.use)))
        object.__setattr__(self, "missing", MappingProxyType(dict(self.missing)))
