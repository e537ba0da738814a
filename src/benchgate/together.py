"""Several attempts at once, each in a thread that waits for its guest; one attempt in the caller's own.

Takes jobs; gives each one's place among them and its RawRun, as far as they could be carried out. What
stopped one of them is raised after the others were given, so that nothing measured is lost. An interrupt of
the caller ends every guest first, in the way in which it would end a single one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial

from benchgate.model import RawRun
from benchgate.run import RunRequest, execute

OnPhase = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Job:
    request: RunRequest
    on_phase: OnPhase


def execute_all(jobs: Sequence[Job]) -> Iterator[tuple[int, RawRun]]:
    if len(jobs) == 1:
        yield 0, execute(jobs[0].request, jobs[0].on_phase)
        return
    given_up, stops, futures = threading.Event(), list[BaseException](), list[Future[RawRun]]()
    with ThreadPoolExecutor(len(jobs)) as pool:
        try:
            for job in jobs:
                futures.append(pool.submit(execute, job.request, partial(_heard, job, given_up)))
            wait(futures)
        except BaseException as stop:  # the block now waits for the threads, and they for their guests' ends
            given_up.set()
            stops.append(stop)
    for place, future in enumerate(futures):
        wrong = future.exception()
        if wrong is None:
            yield place, future.result()
        else:
            stops.append(wrong)
    if stops:
        raise stops[0]


def _heard(job: Job, given_up: threading.Event, phase: str) -> None:
    """A guest's phase is told at least once a second: the moment to pass an interrupt on."""
    if given_up.is_set():
        raise KeyboardInterrupt
    job.on_phase(phase)
