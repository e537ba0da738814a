"""What makes the runs of an exploration, as its loop sees it.

Holds types only: an `ExplorationJob` is one run with everything that is needed to make it; a `Maker` carries
jobs out.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchgate.base.exploration import Exploration
from benchgate.explore.trouble import RunObservation
from benchgate.insn.symbols import Symbols
from benchgate.plan.planned import PlannedCell
from benchgate.session.exploration.rows import RowSelection


@dataclass(frozen=True, slots=True)
class ExplorationJob:
    planned: PlannedCell
    exploration: Exploration
    seed: int
    """The seed of the clock."""
    folder: Path
    """The folder exists, and no other run uses it."""
    number: int
    label: str
    """The name in the progress line."""
    deadline_ns: int | None = None
    """How much guest time the whole run may take; None: what the system's YAML says."""


@dataclass(frozen=True, slots=True)
class MakerResult:
    made: RunObservation
    seconds: float
    """The seconds on the host."""


class Maker(Protocol):
    def at_once(self, planned: PlannedCell) -> int:
        """How many runs this host can make at once."""

    def make(self, jobs: Iterable[ExplorationJob], at_once: int) -> Generator[MakerResult, None, None]:
        """The results in the jobs' order, as soon as each is known. Closing it ends what runs."""

    def read(self, job: ExplorationJob) -> RunObservation:
        """What a run was that was made before, from the files in the job's folder."""

    def symbols(self, planned: PlannedCell) -> Sequence[Symbols]:
        """The symbols of the kernel, then of the workload's program, if there are any."""

    def at(self, planned: PlannedCell, cpus: int) -> PlannedCell | None:
        """The cell with this many CPUs; None if it cannot run."""


@dataclass(frozen=True, slots=True)
class ExplorationBench:
    """What explores: the cells with their seats, what makes their runs, and what a replay needs."""

    cells: tuple[PlannedCell, ...]
    maker: Maker
    facts: dict[str, Any]


Open = Callable[[RowSelection], AbstractContextManager[ExplorationBench]]
