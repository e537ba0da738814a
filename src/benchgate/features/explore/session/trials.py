"""Runs that may fail in the same way as a find: the means by which a find is made small.

Takes a find, its folder, a Maker and how many runs may be made; gives which of several cases fails first, and
keeps the smallest one that failed. SpentError: no more runs may be made. Errors of the Maker and of the
folder pass through.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from benchgate.base.exploration import MOST_POINTS, Exploration, StallPoint
from benchgate.base.text import counted
from benchgate.features.explore import narrow, trouble
from benchgate.features.explore.exploration_result import Find
from benchgate.features.explore.session.folder import ExplorationFolder
from benchgate.features.explore.session.loop import ExplorationJob, Maker
from benchgate.features.explore.session.request import ExplorationRequest
from benchgate.features.explore.trouble import RunObservation, TroubleKind
from benchgate.plan.planned import PlannedCell
from benchgate.session.progress import Progress

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Case:
    """One run that may fail in the same way."""

    planned: PlannedCell
    seed: int
    exploration: Exploration
    deadline_ns: int | None

    @property
    def key(self) -> object:
        return self.planned.cell, self.seed, self.exploration, self.deadline_ns

    @property
    def points(self) -> tuple[StallPoint, ...]:
        return self.exploration.points

    def at(self, points: Sequence[StallPoint]) -> Case:
        """The case with these stalls, in any order."""
        return replace(self, exploration=self.exploration.at_points(narrow.listed(points)))

    def explored(self, exploration: Exploration) -> Case:
        return replace(self, exploration=exploration)

    def job(self, place: Path, number: int, label: str = "") -> ExplorationJob:
        made = self.planned, self.exploration, self.seed
        return ExplorationJob(*made, place, number, label, self.deadline_ns)


class SpentError(Exception):
    """No more runs may be made."""


@dataclass
class Trials:
    asked: ExplorationRequest
    find: Find
    folder: ExplorationFolder
    maker: Maker
    progress: Progress
    best: Case
    """The smallest case that fails so far."""
    last: RunObservation
    """The outcome of the best case's run."""
    usual_ns: float | None = None
    """The median window of the find's cell, for a find that is slow."""
    in_pieces: bool = False
    """Several stalls at one instruction stay as they were made; else they are one stall, for longer. A vCPU
    that is held by priorities looks again after each piece, and what the others do meanwhile may differ."""
    runs: int = 0
    most: int = 0
    """How many runs may be made; 0: as many as were asked for."""
    _known: dict[object, bool] = field(default_factory=dict)

    def first(self, cases: Sequence[Case | None], *, adopts: bool = True) -> int | None:
        """The number of the first one that fails; with `adopts` it is the best from here on. None is a case
        that does not exist."""
        numbered = enumerate(cases)
        wanted = [(n, case) for n, case in numbered if case and self._known.get(case.key) is not False]
        if not wanted:
            return None
        with closing(self._results([case for _, case in wanted], keeps=adopts)) as results:
            for (n, one), made in zip(wanted, results, strict=False):
                fails = self._known[one.key] = self.is_same(made)
                if fails:
                    if adopts:
                        self._adopt(one, made)
                    return n
        return None

    def _adopt(self, case: Case, made: RunObservation) -> None:
        if (left := made.all_stalls) != self.last.all_stalls:
            self.progress.note(f"{self.find.name}: {counted(left, 'stall')} left after run {self.runs}")
        self.best, self.last = case, made

    def fails(self, case: Case | None, *, adopts: bool = True) -> bool:
        return self.first([case], adopts=adopts) == 0

    def becomes(self, cases: Sequence[Case], most: int = MOST_POINTS) -> bool:
        """True if one fails with at most so many stalls, and again with these as a list, which is then the
        best."""
        before = self.best, self.last
        fits = self.first(cases) is not None and self.last.is_whole and self.last.all_stalls <= most
        if fits and self.fails(self.listed):
            return True
        self.best, self.last = before
        return False

    @property
    def listed(self) -> Case:
        """The best case with the stalls of its run as a list."""
        return self.best.at(self.stalls)

    @property
    def stalls(self) -> tuple[StallPoint, ...]:
        """The stalls of the best case's run, in the order in which they were made."""
        points = tuple(stall.point for stall in self.last.stalls if stall.ns)
        return points if self.in_pieces else narrow.in_time(points)

    def made(self, case: Case) -> RunObservation:
        """What comes of this run, whether it fails or not."""
        (made,) = self._results([case], keeps=False)
        return made

    def search(
        self,
        search: Generator[list[T], int | None, T],
        case: Callable[[T], Case | None],
        *,
        adopts: bool = True,
    ) -> T:
        """Carries out a search of explore/narrow.py."""
        try:
            candidates = next(search)
            while True:
                candidates = search.send(self.first([case(one) for one in candidates], adopts=adopts))
        except StopIteration as end:
            result: T = end.value
            return result

    def is_same(self, made: RunObservation) -> bool:
        """True if this is the find's kind of failure."""
        usual_ns = self.usual_ns if self.find.kind is TroubleKind.SLOW else None
        result = trouble.trouble(made, usual_ns, self.asked.slower)
        return result is not None and result.kind is self.find.kind

    def _results(self, cases: Sequence[Case], *, keeps: bool) -> Generator[RunObservation, None, None]:
        """Gives results in order. If `keeps`, a failing run's folder becomes that of the small find."""
        jobs: list[ExplorationJob] = []

        def taken() -> Iterator[ExplorationJob]:
            for case in cases:
                if self.runs >= (self.most or self.asked.small_runs):
                    raise SpentError
                self.runs += 1
                jobs.append(self._job(case))
                yield jobs[-1]

        at_once = self.asked.jobs or self.maker.at_once(self.best.planned)
        try:
            with closing(self.maker.make(taken(), at_once)) as results:
                for number, result in enumerate(results):
                    if keeps and self.is_same(result.made):
                        with suppress(OSError):
                            jobs[number].folder.rename(self.folder.small_folder(self.find.name))
                    yield result.made
        finally:
            for job in jobs:  # this includes runs that were stopped because an earlier one had failed
                self.folder.forget(job.folder)

    def _job(self, case: Case) -> ExplorationJob:
        place = self.folder.new_run(f"{self.find.name}-small-{self.runs}")
        return case.job(place, self.runs, f"{self.find.name} smaller, run {self.runs}")
