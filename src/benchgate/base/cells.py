"""The types of what is measured: cells, lanes, placements and windows.

Takes plain values, gives frozen objects with units in their field names. A cell with an invalid CPU count
fails with ValueError, so that no later stage needs to check it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from benchgate.base.jsonfields import As, Between, Matches, PlainWord, PlainWordOrEmpty, Presence
from benchgate.base.system.machines import machine_in

ParamValue = int | str
"""The value of a workload's parameter: a whole number or a word."""


SMOKE = "smoke"
"""In place of a workload: the boot test of a system."""


class Mode(StrEnum):
    PROCESS = "process"
    THREAD = "thread"


class Lane(StrEnum):
    """The clock that measures, and what it measures on. A ratio never mixes figures of different lanes."""

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


class Window(StrEnum):
    WORK = "work"
    TOTAL = "total"


def program_of(workload: str) -> str:
    return workload.partition("-")[0]


def _sorted(params: Mapping[str, ParamValue]) -> Params:
    return tuple(sorted(params.items()))


_StoredParams = Mapping[str, Annotated[int, Between(-(2**63))] | str]
Params = Annotated[tuple[tuple[str, ParamValue], ...], As(_StoredParams, _sorted, dict)]
"""A workload's parameters with all defaults filled in, sorted by name."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One (system, workload, parameters, CPU count). Holds plain values only, so that JSON can store it."""

    system: PlainWord
    workload: PlainWord
    mode: Mode
    params: Params
    cpus: Annotated[int, Between(1)]
    label: str = ""
    """The workload's name plus the parameters that differ from their defaults; default: the name."""
    variant: PlainWordOrEmpty = ""
    """Distinguishes two cells of a row that have the same CPU count, as in `smp8-smt`."""
    clock: Annotated[str, Matches("(wall|insn)?", "one of wall, insn"), Presence.SPARSE] = ""
    """`wall` or `insn` if the session measures on both clocks (clocks.py); otherwise empty."""

    def __post_init__(self) -> None:
        if self.cpus < 1:
            raise ValueError(f"a cell needs at least one CPU, not {self.cpus}")
        if not self.label:
            object.__setattr__(self, "label", self.workload)

    @property
    def row(self) -> str:
        """The id without CPU count and variant. All arms of one sweep have the same row."""
        return f"{self.label}-{self.system}" + (f"-{self.clock}" if self.clock else "")

    @property
    def id(self) -> str:
        return f"{self.row}-smp{self.cpus}" + (f"-{self.variant}" if self.variant else "")

    @property
    def program(self) -> str:
        """The name of the program that runs it. All workloads of a kind (hooks.WorkloadKind) share one; no
        other workload has a `-` in its name."""
        return program_of(self.workload)

    @property
    def is_smoke(self) -> bool:
        """Whether it is a system's own boot test."""
        return self.workload == SMOKE

    @property
    def machine(self) -> str:
        """The machine whose memory system the instruction clock models; empty for the ideal one."""
        return machine_in(self.system)

    def param(self, name: str) -> ParamValue:
        return dict(self.params)[name]
