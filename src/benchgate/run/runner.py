"""Who carries out attempts: this machine, or a fleet of workers (fleet/runner.py).

A `Runner` takes jobs and gives their RawRuns, with all files in the folders of their requests; `Here` is this
machine. Fails like run/attempt.py and run/parallel.py.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Protocol

from benchgate.base.runs import RawRun
from benchgate.run.attempt import RunRequest
from benchgate.run.parallel import Job, execute_all


class Runner(Protocol):
    looks_ahead: bool
    """Whether `ahead` does anything."""

    def slots(self, here: int) -> int:
        """How many attempts may run at once. `here`: how many this machine could run."""
        ...

    def ahead(self, requests: Sequence[RunRequest]) -> None:
        """All that will be asked for next, in this order; it may begin now, and what is not named any more
        may be dropped. The folders of these requests are not used, and need not exist."""
        ...

    def execute_all(self, jobs: Iterable[Job], at_once: int) -> Generator[tuple[int, RawRun], None, None]:
        """The index and the RawRun of each job, in the jobs' order."""
        ...

    def facts(self) -> Mapping[str, object]:
        """Who made the runs, for session.json; nothing if this machine did."""
        ...

    def close(self) -> None:
        """Ends what was begun and is not asked for any more."""
        ...


class Here:
    """This machine."""

    looks_ahead = False

    def slots(self, here: int) -> int:
        return here

    def ahead(self, requests: Sequence[RunRequest]) -> None:
        """Nothing: a run that begins early would only delay the one that is waited for."""

    def execute_all(self, jobs: Iterable[Job], at_once: int) -> Generator[tuple[int, RawRun], None, None]:
        return execute_all(jobs, at_once)

    def facts(self) -> Mapping[str, object]:
        return {}

    def close(self) -> None:
        """Nothing is left."""
