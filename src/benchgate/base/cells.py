"""What is measured: cells, lanes, placements and windows, as types.

Takes plain values, gives frozen objects with units in their field names. A cell with an invalid CPU count
fails with ValueError, so that no later stage needs to check it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from benchgate.base.machines import machine_in

ParamValue = int | str
"""The value of a workload's parameter: a whole number or a word."""


class Mode(StrEnum):
    PROCESS = "process"
    THREAD = "thread"


class Lane(StrEnum):
    """Which clock measures, and on what. A ratio never mixes figures of different lanes."""

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


Params = tuple[tuple[str, ParamValue], ...]
"""A workload's parameters with all defaults filled in, sorted by name."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One (system, workload, parameters, CPU count). Holds plain values only, so that JSON can store it."""

    system: str
    workload: str
    mode: Mode
    params: Params
    cpus: int
    label: str = ""
    """The workload's name plus the parameters that differ from their defaults; default: the name."""
    variant: str = ""
    """Distinguishes two cells of a row that have the same CPU count, as in `smp8-smt`."""
    clock: str = ""
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
    def machine(self) -> str:
        """The machine with a memory system that the instruction clock gives it; empty: ideal."""
        return machine_in(self.system)

    def param(self, name: str) -> ParamValue:
        return dict(self.params)[name]
