"""A baseline as types: the accepted figures of an earlier session, and where they come from.

Takes plain values, gives frozen objects; evidence/baseline_file.py writes and reads the file. Fails with
ValueError for arms that cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Annotated

from benchgate.base.cells import Cell, Lane, Placement
from benchgate.base.jsonfields import As, PlainWord, Presence, Sha256, Sha256OrEmpty
from benchgate.base.runs import Measurement
from benchgate.base.system.machines import IDEAL, off_machine
from benchgate.base.text import one_line

LONGEST_NAME = 300


def line_of(text: str) -> str:
    """One line that is safe to show."""
    return one_line(text, LONGEST_NAME)


Line = Annotated[str, As(str, line_of, str)]


@dataclass(frozen=True, slots=True)
class SystemOrigin:
    """The origin of a system's figures, besides the guest itself."""

    definition: Sha256
    """The digest of its YAML and of its settings."""
    qemu: Sha256OrEmpty
    """The digest of its QEMU; empty if it needs none."""
    clock: Line
    """The instruction clock's level, mode and source digest; empty on wall time, or if not recorded."""
    machine: Annotated[Sha256OrEmpty, Presence.SPARSE] = ""
    """The digest of its machine; empty for the ideal machine."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a session's figures."""

    machine: Mapping[str, Line] = field(default_factory=dict)
    """The facts of the envelope that wall time depends on."""
    systems: Mapping[str, SystemOrigin] = field(default_factory=dict)
    """Maps a system's name to its origin."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "machine", MappingProxyType(dict(self.machine)))
        object.__setattr__(self, "systems", MappingProxyType(dict(self.systems)))


@dataclass(frozen=True, slots=True)
class SymbolCounts:
    """The window's instructions of one run, by symbol."""

    seed: int
    window: int
    """The window's length, in ns."""
    counts: Mapping[tuple[str, str], int]
    """Maps (`user` or `kernel`, symbol) to a number of instructions."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", MappingProxyType(dict(self.counts)))


@dataclass(frozen=True, slots=True)
class BaselineArm:
    """One cell of a baseline."""

    cell: Cell
    lane: Lane
    placement: Placement
    guest: str
    """The digest of the guest's files."""
    seeds: tuple[int, ...]
    """The seeds of its runs, in the order of the samples."""
    measurements: Mapping[str, Measurement]
    """Maps a metric's name to its measurement."""
    symbols: SymbolCounts | None = None
    """None unless the baseline was accepted with a profile."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "measurements", MappingProxyType(dict(self.measurements)))


@dataclass(frozen=True, slots=True)
class AddedCells:
    """Cells that were added later, and the session that they are of."""

    session: PlainWord
    finished: PlainWord
    manifest: Sha256
    commit: PlainWord
    cells: tuple[PlainWord, ...]
    """Their ids."""


@dataclass(frozen=True, slots=True)
class Baseline:
    session: str
    """The id of the session that was accepted."""
    finished: str
    accepted: str
    """The day on which it was accepted."""
    manifest: str
    """The digest of the session's manifest."""
    commit: str
    origin: Origin
    arms: tuple[BaselineArm, ...]
    added: tuple[AddedCells, ...] = ()

    def __post_init__(self) -> None:
        keys = [(same_in_all_sessions(arm.cell), arm.lane) for arm in self.arms]
        twice = next((cell.id for cell, lane in keys if keys.count((cell, lane)) > 1), None)
        if twice is not None:
            raise ValueError(f"{twice} is there twice")

    def other_machines_of(self, cell: Cell) -> tuple[str, ...]:
        """The machines other than the cell's on which the same cell was measured."""
        wanted = _on_any_machine(cell)
        result = {arm.cell.machine or IDEAL for arm in self.arms if _on_any_machine(arm.cell) == wanted}
        return tuple(sorted(result - {cell.machine or IDEAL}))

    def arms_of(self, cell: Cell) -> tuple[BaselineArm, ...]:
        """The arms of the cell, one for each lane."""
        wanted = same_in_all_sessions(cell)
        return tuple(arm for arm in self.arms if same_in_all_sessions(arm.cell) == wanted)


def same_in_all_sessions(cell: Cell) -> Cell:
    """The cell without its label and clock, which depend on what else its session measured."""
    return Cell(cell.system, cell.workload, cell.mode, cell.params, cell.cpus, variant=cell.variant)


def _on_any_machine(cell: Cell) -> Cell:
    return same_in_all_sessions(replace(cell, system=off_machine(cell.system)))


@dataclass(frozen=True, slots=True)
class BaselineSet:
    """The baselines that a session's gates may compare with, by the word of the mark."""

    origin: Origin = field(default_factory=Origin)
    """The origin of the session's own figures."""
    baselines: Mapping[str, Baseline] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "baselines", MappingProxyType(dict(self.baselines)))


NOTHING = BaselineSet()
