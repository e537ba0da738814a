"""The loop of an exploration: makes the runs that are missing, and keeps what goes wrong.

Takes an `ExplorationRequest`, planned cells, a folder, a Maker and a Progress; gives the state after it. A
`Maker` carries out `ExplorationJob`s, each of them one run with everything that is needed to make it. A run
is recorded as soon as it has ended, so an interrupt loses only the runs that it stops. Errors of the Maker
and of the folder pass through.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from benchgate.base.exploration import Exploration
from benchgate.base.interrupts import held
from benchgate.base.text import one_line
from benchgate.features.explore import trouble
from benchgate.features.explore.exploration_result import (
    FIRST,
    FOUND,
    OK,
    ExplorationAttempt,
    Find,
    RunLine,
    first_runs,
    schedule,
)
from benchgate.features.explore.session.folder import ExplorationFolder
from benchgate.features.explore.session.request import ExplorationRequest
from benchgate.features.explore.session.rows import RowSelection
from benchgate.features.explore.trouble import RunObservation, Trouble
from benchgate.insn.symbols import Symbols
from benchgate.plan.planned import PlannedCell
from benchgate.session.progress import Progress


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


LONGER, AT_LEAST_NS = 30, 200_000_000
"""A run hangs if it takes longer than so many times the first run of its cell, plus so many ns."""
LONGEST_WHAT = 400


def limit_ns(end_ns: int | None) -> int | None:
    """How long a run may take, in guest time. `end_ns`: how long the first run of its cell took; None: it did
    not end well, or that is not known."""
    return None if end_ns is None else LONGER * end_ns + AT_LEAST_NS


def window_from(planned: PlannedCell, typed_ns: int | None) -> int | None:
    """The guest time at which `--window` begins: that of the first typed line. None: marks tell."""
    return None if planned.system.result.is_marked else typed_ns or 0


@dataclass
class ExplorationLoop:
    asked: ExplorationRequest
    cells: Sequence[PlannedCell]
    folder: ExplorationFolder
    maker: Maker
    progress: Progress
    _lines: dict[str, RunLine] = field(default_factory=dict)
    _usual: dict[str, float | None] = field(default_factory=dict)
    _first_of: dict[str, str] = field(default_factory=dict)
    """By its group, the first find of each defect."""

    def __post_init__(self) -> None:
        self._lines = {line.key: line for line in self.folder.lines()}
        for find in self.folder.finds():
            self._first_of.setdefault(find.group, find.name)
        self._by_id = {cell.cell.id: cell for cell in self.cells}

    def run(self) -> None:
        """Makes every run that is asked for and has no line yet."""
        missing = [attempt for attempt in chain(*self._parts()) if attempt.key not in self._lines]
        self.progress.expect(len(missing))
        for part in self._parts():
            if not self._is_over():
                self._make(part)

    def _parts(self) -> tuple[Iterable[ExplorationAttempt], Iterable[ExplorationAttempt]]:
        """The first run of each cell, and what comes after all of them."""
        ids, asked = [*self._by_id], self.asked
        later = schedule(ids, asked.strategies, asked.runs, asked.first_seed)
        return first_runs(ids, asked.first_seed), later

    @property
    def expected(self) -> int:
        return sum(1 for _ in chain(*self._parts()))

    def _is_over(self) -> bool:
        return self.asked.stop_at_first and any(line.find for line in self._lines.values())

    def _make(self, attempts: Iterable[ExplorationAttempt]) -> None:
        made: list[tuple[ExplorationAttempt, ExplorationJob]] = []

        def jobs() -> Iterator[ExplorationJob]:
            for attempt in attempts:
                if attempt.key not in self._lines and not self._is_over():
                    made.append((attempt, self._job(attempt)))
                    yield made[-1][1]

        at_once = self.asked.jobs or min(self.maker.at_once(cell) for cell in self.cells)
        with closing(self.maker.make(jobs(), at_once)) as results:
            for number, result in enumerate(results):
                self._record(*made[number], result)
                if self._is_over():
                    return

    def _first(self, cell: str) -> RunLine | None:
        return self._lines.get(f"{cell}#{FIRST}")

    def _job(self, attempt: ExplorationAttempt) -> ExplorationJob:
        first = self._first(attempt.cell)
        exploration = self.exploration(attempt, first)
        planned, number = self._by_id[attempt.cell], attempt.number
        label = f"run {number} of {self.asked.runs}, {attempt.strategy}" if number else "first run"
        place = self.folder.new_run(attempt.key)
        limit = limit_ns(first.end_ns) if first and number else None
        return ExplorationJob(planned, exploration, attempt.seed, place, number, label, limit)

    def exploration(self, attempt: ExplorationAttempt, first: RunLine | None) -> Exploration:
        steps = (first.steps or 0) if first else 0
        typed_ns = first.typed_ns if first else None
        begin_ns = window_from(self._by_id[attempt.cell], typed_ns)
        return self.asked.exploration(attempt.strategy, attempt.seed, steps, begin_ns)

    # ---- what came of a run

    def _record(self, attempt: ExplorationAttempt, job: ExplorationJob, result: MakerResult) -> None:
        made = result.made
        found = trouble.trouble(made, self._usual_of(attempt.cell), self.asked.slower)
        with held():  # a find's folder and its line belong together
            name = self._keep(attempt, job, made, found) if found else ""
            line = RunLine(
                **asdict(attempt),
                outcome=FOUND if found else OK,
                work_ns=made.work_ns,
                end_ns=None if found else made.end_ns,
                steps=made.steps,
                stalls=made.all_stalls,
                delayed_ns=made.delayed_ns,
                seconds=round(result.seconds, 2),
                find=name,
                typed_ns=made.typed_ns,
            )
            self.folder.keep(line)
            self._lines[line.key] = line
            if not found:
                self.folder.forget(job.folder)
        if not found:
            self.progress.ended(attempt.cell, job.label, "nothing wrong", is_news=False)
        else:
            self._tell(attempt, job, found, name)

    def _tell(self, attempt: ExplorationAttempt, job: ExplorationJob, found: Trouble, name: str) -> None:
        """A defect is news once: its later runs name the first one."""
        first = self._first_of.setdefault(self.folder.find(name).group, name)
        if name != first:
            self.progress.ended(attempt.cell, job.label, f"{name}: as {first}", is_news=True)
            return
        said = f"{name}: {found.kind}: {one_line(found.what, 200)}"
        self.progress.ended(attempt.cell, job.label, said, is_news=True)
        self.progress.note(f"{name}: {command(self.folder, name)}")

    def _keep(
        self, attempt: ExplorationAttempt, job: ExplorationJob, made: RunObservation, found: Trouble
    ) -> str:
        name = self.folder.new_find(job.folder)
        find = Find(
            name=name,
            **asdict(attempt),
            kind=found.kind,
            what=one_line(found.what, LONGEST_WHAT),
            group=one_line(trouble.group_of(found, made), LONGEST_WHAT),
            last_lines=made.last_lines,
            places=made.places,
            deadline_ns=job.deadline_ns or 0,
        )
        self.folder.keep_find(find)
        return name

    def _usual_of(self, cell: str) -> float | None:
        """Takes the first verified runs of the cell, in the order of their numbers."""
        if self._usual.get(cell) is None:
            good = [line for line in self._lines.values() if line.cell == cell and line.outcome == OK]
            good.sort(key=lambda line: line.number)
            self._usual[cell] = trouble.usual([line.work_ns for line in good if line.work_ns is not None])
        return self._usual[cell]


def command(folder: ExplorationFolder, name: str) -> str:
    """The command that replays a find, with the YAML files of its system and workload if they are the user's
    own."""
    cell, facts = folder.find(name).cell, folder.facts()
    words = ["benchgate", "explore", "replay", _below(folder.find_folder(name))]
    for option, key, before in (("--system", "systems", "-"), ("--workload", "workloads", "")):
        files: dict[str, str] = facts.get(key, {})
        mine = [file for file in sorted(files, key=len) if f"{before}{file}" in cell and "/" in files[file]]
        words += [option, _below(Path(files[mine[-1]]))] if mine else []
    return shlex.join(words)


def _below(path: Path) -> str:
    """The path from here, if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
