"""Runs attempts, on this machine (`LocalRunner`) or elsewhere (hooks.RunMaker).

A `Runner` takes jobs and gives their RawRuns, with all files in the folders of their requests.
`execute_ahead` also announces jobs before they are executed. Fails like run/attempt.py and run/parallel.py.
"""

from __future__ import annotations

import gc
import statistics
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Protocol

from benchgate.base.process import reap_adopted
from benchgate.base.runs import RawRun
from benchgate.run import forked
from benchgate.run.attempt import RunRequest
from benchgate.run.parallel import AttemptJob, execute_all
from benchgate.run.templates import Templates


class Runner(Protocol):
    looks_ahead: bool
    """Whether `ahead` does anything."""

    def slots(self, here: int) -> int:
        """How many attempts may run at once. `here` is how many this machine could run."""
        ...

    def ahead(self, requests: Iterable[RunRequest]) -> None:
        """Announces all requests that follow, in this order. The runner may begin them now, and drop earlier
        ones that are not among them. It reads as many as it has room for, also later while jobs are executed.
        The folders of these requests are not used, and need not exist."""
        ...

    def execute_all(self, jobs: Iterable[AttemptJob], at_once: int) -> Generator[tuple[int, RawRun]]:
        """Gives the index and the RawRun of each job, in the jobs' order."""
        ...

    def facts(self) -> Mapping[str, object]:
        """Says who made the runs, for session.json; empty if this machine did."""
        ...

    def close(self) -> None:
        """Ends attempts that were begun ahead and are no longer needed."""
        ...


class LocalRunner:
    """Runs attempts on this machine, as forks of templates if it has some."""

    looks_ahead = False

    def __init__(self, templates: Templates | None = None) -> None:
        self._templates = templates
        self._forks = 0
        self._private_kib: list[int] = []
        """What forks shared with nobody at their end, of those that were weighed."""

    def slots(self, here: int) -> int:
        return here

    def ahead(self, requests: Iterable[RunRequest]) -> None:
        """Does nothing, because a run that begins early would only delay the one that is waited for."""

    def execute_all(self, jobs: Iterable[AttemptJob], at_once: int) -> Generator[tuple[int, RawRun]]:
        fork = None if self._templates is None else self._templates.fork
        gc.freeze()  # what is there now stays: no collection during the runs looks at it
        for index, raw in execute_all(jobs, at_once, fork):
            if forked.is_fork(raw.folder):
                self._forks += 1
                own = forked.private_kib(raw.folder)
                self._private_kib += [] if own is None else [own]
            yield index, raw
            reap_adopted()

    def facts(self) -> Mapping[str, object]:
        if not self._private_kib:
            return {}
        most, usual = max(self._private_kib), round(statistics.median(self._private_kib))
        return {"forks": {"runs": self._forks, "private_kib": usual, "most_private_kib": most}}

    def close(self) -> None:
        """Ends the templates; no attempt is left."""
        if self._templates is not None:
            self._templates.close()


def execute_ahead(runner: Runner, jobs: Iterable[AttemptJob], at_once: int) -> Generator[tuple[int, RawRun]]:
    """Does what `execute_all` does. A runner that looks ahead is told of as many jobs as it has room for. An
    error of the iterator comes after the results of the jobs before it. Closing this ends what runs."""
    if not runner.looks_ahead:
        yield from runner.execute_all(jobs, at_once)
        return
    coming = _JobQueue(iter(jobs))
    try:
        runner.ahead(coming.requests())
        yield from runner.execute_all(coming.jobs(), at_once)
    finally:
        runner.ahead(())


class _JobQueue:
    """Takes each job once from its iterator: first for its request, and later to execute it."""

    def __init__(self, jobs: Iterator[AttemptJob]) -> None:
        self._jobs = jobs
        self._drawn: deque[AttemptJob] = deque()
        self._error: Exception | None = None

    def requests(self) -> Iterator[RunRequest]:
        while self._draw():
            yield self._drawn[-1].request

    def jobs(self) -> Iterator[AttemptJob]:
        while self._drawn or self._draw():
            yield self._drawn.popleft()
        if self._error is not None:
            raise self._error

    def _draw(self) -> bool:
        if self._error is not None:
            return False
        try:
            job = next(self._jobs, None)
        except Exception as error:
            self._error = error
            return False
        if job is not None:
            self._drawn.append(job)
        return job is not None
