"""The story of a run on wall time: what the host recorded at its moments, and the workers.

Takes the run's files; gives parts of a story in host time. The guest's clock and the host's have no common
zero, so the total window is placed to end at the moment `result`, and a note says so. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from benchgate.base.errors import VerifyError
from benchgate.base.workload.metrics import SECOND_NS
from benchgate.judge.accounts.story import words
from benchgate.judge.accounts.story.words import Counter, Instant, Story, StorySpan, Track, told
from benchgate.judge.run_files import Moment, RunFiles

_MS = 1e6
RESULT = "result"


def parts(files: RunFiles) -> Iterator[Story]:
    try:
        moments = files.moments
    except VerifyError as error:
        yield Story(notes=(str(error),))
        moments = ()
    zero = moments[0].t_ns if moments else 0
    yield _moments(moments, zero)
    yield _threads(moments, zero)
    yield told(lambda: _workers(files, moments, zero), "no workers: ")


def _moments(moments: Sequence[Moment], zero: int) -> Story:
    track = Track("run", "phases")
    spans = [
        StorySpan(track, f"{moment.name} to {after.name}", moment.t_ns - zero, after.t_ns - zero)
        for moment, after in pairwise(moments)
        if after.t_ns > moment.t_ns
    ]
    instants = [Instant(Track("run", "moments"), moment.name, moment.t_ns - zero) for moment in moments]
    return Story(spans=tuple(spans), instants=tuple(instants))


def _threads(moments: Sequence[Moment], zero: int) -> Story:
    """How long each vCPU's thread had run, and had waited for a host CPU, in ms since it began."""
    order = list(dict.fromkeys(thread for moment in moments for thread in moment.vcpus))
    counters = []
    for moment in moments:
        for number, thread in enumerate(order):
            use = moment.vcpus.get(thread)
            if use is None or use.run_ns is None or use.delay_ns is None:
                continue
            values = {"ran ms": use.run_ns / _MS, "waited ms": use.delay_ns / _MS}
            if use.migrations is not None:
                values["migrations"] = use.migrations
            counters.append(Counter(Track("host threads", f"vCPU {number}"), moment.t_ns - zero, values))
    return Story(counters=tuple(counters))


def _workers(files: RunFiles, moments: Sequence[Moment], zero: int) -> Story:
    seen = files.transcript
    if seen.hz is None:
        return Story(notes=("no workers: the guest does not say how long its unit of time is",))
    length = (seen.total_end - seen.total_start) * SECOND_NS // seen.hz
    end = next((moment.t_ns - zero for moment in moments if moment.name == RESULT), length)
    story = words.workers_part(seen, max(end - length, 0), max(end, length))
    note = "the guest's clock has another zero than the host's: its window is placed to end at `result`"
    return Story(spans=story.spans, notes=(note,))
