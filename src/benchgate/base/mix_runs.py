"""A mix: parts that run at once in one guest; and what one run of it gave. docs/mix.md explains the terms.

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
"""What a mix is called where a cell has its workload."""
MOST_PARTS = 64
DISK_SERVICE, NETWORK_SERVICE = "disk", "network"
"""A part whose workload needs one of these gets a folder on a disk, or a network of its own."""
WHOLE_PPM = 1_000_000
COLD_RUNS = 1
"""So many first runs of each part are in no score. They have what only a first run pays for: pages of the
program that are not in memory yet, and empty caches. Alone and in company alike."""
MOST_RUNS = 2000
"""Of one part; as RUNS_MOST of guest/port/linux/mix/mix.h and kernel/user/mix.h."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.#+-]{0,63}\Z")

CPU, MEMORY = "cpu_ns", "memory_bytes"
READ, WRITTEN = "disk_read_bytes", "disk_written_bytes"
NETWORK = "network_bytes"
PART_USES = (CPU, MEMORY, READ, WRITTEN, NETWORK)
"""What is counted of each part."""
CACHE, MOVED = "cache_bytes", "moved_bytes"
GUEST_USES = (CACHE, MOVED)
"""What is counted of the whole guest: by its machine, or on wall time by the host."""


@dataclass(frozen=True, slots=True)
class PartLimits:
    """What a part may use at most; None: no limit."""

    cpu_ppm: int | None = None
    """Millionths of all the guest's CPUs."""
    memory_bytes: int | None = None
    disk_bytes_per_s: int | None = None
    """Of reads, and of writes."""
    network_bytes_per_s: int | None = None
    """In each direction."""


NO_LIMITS = PartLimits()


@dataclass(frozen=True, slots=True)
class Part:
    """One instance of an application."""

    name: str
    """Unique in its mix, such as `primes.small#1`."""
    workload: Workload | None
    """None: the dummy, which only waits."""
    params: Params = ()
    workers: int = 1
    limits: PartLimits = NO_LIMITS
    cpus: tuple[int, ...] = ()
    """The guest's CPUs on which it may run; empty: all."""
    score: str = ""
    """A metric of its workload, of which more is better; empty: completed runs per second."""

    @property
    def cell(self) -> Cell:
        """What each of its runs is: a program with as many CPUs as it has workers."""
        assert self.workload is not None
        return Cell("native", self.workload.name, self.workload.mode, self.params, self.workers)

    def needs(self, service: str) -> bool:
        """Whether its workload, or one of its parameters, needs this."""
        each = self.workload.needs_with(self.params) if self.workload else ()
        return any(service in needs for _, needs in each)

    def online(self, cpus: int) -> int:
        """How many of the guest's CPUs it may use."""
        return len(self.cpus) or cpus


@dataclass(frozen=True, slots=True)
class Mix:
    system: System
    cpus: int
    parts: tuple[Part, ...]
    least: int = 3
    """The window ends when each part has completed so many runs, cold ones included; dummies have none."""
    limit_ms: int = 10_000
    """Or after this guest time."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.parts) <= MOST_PARTS:
            raise ValueError(f"a mix has 1 to {MOST_PARTS} parts, not {len(self.parts)}")
        names = [one.name for one in self.parts]
        for one in self.parts:
            if why := self._problem(one, names):
                raise ValueError(f"part {one.name}: {why}")
        if self.least < 1 or self.limit_ms < 1:
            raise ValueError("a mix needs at least one run of each part, and a limit of at least 1 ms")

    def _problem(self, one: Part, names: list[str]) -> str:
        bounds = [getattr(one.limits, name) for name in PartLimits.__slots__]
        problems = {
            "its name must be letters, digits, `_`, `.`, `#`, `+` and `-`": not _NAME.match(one.name),
            "two parts have this name": names.count(one.name) > 1,
            f"its CPUs {','.join(map(str, one.cpus))} are not different ones of 0 to {self.cpus - 1}": (
                len(set(one.cpus)) < len(one.cpus) or not set(one.cpus) <= set(range(self.cpus))
            ),
            f"it has 1 to {MOST_PARTS} workers, not {one.workers}": not 1 <= one.workers <= MOST_PARTS,
            "a limit must be at least 1": any(bound is not None and bound < 1 for bound in bounds),
        }
        wrong = next((why for why, is_so in problems.items() if is_so), "")
        return wrong or (self._cannot_run(one, one.workload) if one.workload else "")

    @property
    def own_conductor(self) -> bool:
        """Whether the system's build makes a kernel that runs mixes; else PID 1 of the Linux guest does."""
        return self.system.build is not None and bool(self.system.build.mix)

    def _cannot_conduct(self, one: Part, workload: Workload) -> str:
        """A conductor of a kernel's own limits CPU time, and nothing else."""
        name, limits = self.system.name, one.limits
        others = [
            word for word in PartLimits.__slots__ if word != "cpu_ppm" and getattr(limits, word) is not None
        ]
        files = {
            other.file
            for other in (each.workload for each in self.parts)
            if other and other.name == workload.name
        }
        problems = {
            f"{name} cannot bind a part to CPUs": bool(one.cpus),
            f"{name} has no limit of {', '.join(others)}": bool(others),
            f"{name} has no files for {workload.name}": bool(workload.files),
            "its workload has the name of the conductor": workload.name == WORKLOAD,
            f"two workloads of one name ({workload.name}) cannot be in one kernel": len(files) > 1,
        }
        return next((why for why, is_so in problems.items() if is_so), "")

    def _cannot_run(self, one: Part, workload: Workload) -> str:
        if not self.own_conductor and self.system.boot.initrd != WORKLOAD_INITRD:
            return f"{self.system.name} runs no mixes: neither `initrd: workload` nor `build.mix` in its YAML"
        for who, needs in workload.needs_with(one.params):
            if lacks := [need for need in needs if need not in self.system.services]:
                return f"{who} needs {', '.join(lacks)}, which {self.system.name} does not have"
        if one.score and one.score not in workload.metrics:
            known = ", ".join(workload.metrics) or "none"
            return f"{workload.name} declares no metric {one.score}; it has {known}"
        return self._cannot_conduct(one, workload) if self.own_conductor else ""

    @property
    def programs(self) -> Mapping[str, Workload]:
        """Each workload of the parts once, by the folder of its program in the guest."""
        used = {one.workload.file: one.workload for one in self.parts if one.workload}
        return {f"parts/{number}": workload for number, workload in enumerate(used.values())}

    @property
    def program(self) -> Workload:
        """The mix itself where planning wants a workload."""
        file = data_root() / "guest" / "port" / "linux" / "mix" / "main.c"
        return Workload(WORKLOAD, Mode.PROCESS, file, file, Path(), {})

    @property
    def needs_disk(self) -> bool:
        return any(one.needs(DISK_SERVICE) for one in self.parts)

    @property
    def needs_network(self) -> bool:
        return any(one.needs(NETWORK_SERVICE) for one in self.parts)

    @property
    def digest(self) -> str:
        """16 hex digits of all that is asked for."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def _machine(self) -> str:
        """Of all that a machine is, because two may have one name."""
        one = self.system.machine
        if one is None:
            return ""
        return hashlib.sha256(
            repr(replace(one, file=Path(), text="", digest="", source="")).encode()
        ).hexdigest()[:16]

    @property
    def cell(self) -> Cell:
        """What run.json says was run."""
        return Cell(
            self.system.name,
            WORKLOAD,
            Mode.PROCESS,
            (("mix", self.digest),),
            self.cpus,
            label=f"{WORKLOAD}-{self.digest}",
        )

    def as_json(self) -> dict[str, object]:
        """What mix.json in a run's folder says."""
        return {
            "schema": 1,
            "system": self.system.name,
            "machine": self._machine,
            "cpus": self.cpus,
            "least": self.least,
            "limit_ms": self.limit_ms,
            "parts": [
                {
                    "name": one.name,
                    "workload": one.workload.name if one.workload else None,
                    "params": dict(one.params),
                    "workers": one.workers,
                    "limits": {name: getattr(one.limits, name) for name in PartLimits.__slots__},
                    "cpus": list(one.cpus),
                    "score": one.score,
                }
                for one in self.parts
            ],
        }


@dataclass(frozen=True, slots=True)
class PartRun:
    """What one part did in the window."""

    name: str
    score: Fraction
    """0 only of a part that completed no run that counts: a dummy, or a starved one."""
    runs: int
    """Completed and verified, with the cold ones."""
    use: Mapping[str, int | None]
    """Each of PART_USES; None: it could not be read, and MixRun.missing says why."""
    starved: str = ""
    """`memory`: the kernel ended it because it needs more than its limit allows."""
    run_ns: tuple[int, ...] = ()
    """The length of each completed run, from its start to its exit."""
    metrics: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Those of its workload, of each completed run."""
    unverified: bool = False
    """Its program is an existing one that does not verify its own work: no gate may use it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "use", MappingProxyType(dict(self.use)))
        object.__setattr__(self, "metrics", MappingProxyType(dict(self.metrics)))


@dataclass(frozen=True, slots=True)
class MixRun:
    """One verified run of a mix."""

    window_ns: int
    """From the opening of the gate to the stop."""
    cpus: int
    parts: tuple[PartRun, ...]
    foreign_ns: int | None
    """CPU time in the window of what is in no part; None: not known."""
    memory_bytes: int
    """What the guest's kernel could give to the parts, at the gate."""
    use: Mapping[str, int | None] = field(default_factory=dict)
    """Each of GUEST_USES, of the whole guest. CACHE: what its machine brought from memory in the window, at
    most the size of the shared caches; on wall time the most that it held of the host's last caches."""
    cache_bytes: int | None = None
    """Of the host's last caches, on wall time; None: not known."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """A sentence about each use that is None."""
    ended: str = "least"
    """`least`: each part had completed enough runs. `limit`: the time was over. `full`: a part had completed
    as many runs as can be kept. `starved`: a part could not go on."""
    void: str = ""
    """By which counters the host disturbed the run more than the rule allows: then it is no sample."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "use", MappingProxyType(dict(self.use)))
        object.__setattr__(self, "missing", MappingProxyType(dict(self.missing)))
