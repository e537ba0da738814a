"""What a story consists of: frozen data, with all times in ns on the story's axis.

`merged` takes parts of a story; gives the whole. `told` takes what reads a part; gives it, or a note.
`workers_part` takes a console's transcript; gives the part of its workers. None fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from benchgate.base.errors import VerifyError
from benchgate.judge.wire import Transcript


@dataclass(frozen=True, slots=True)
class Track:
    """A line of the picture; tracks of one group stand together."""

    group: str
    name: str


@dataclass(frozen=True, slots=True)
class StorySpan:
    track: Track
    name: str
    begin: int
    end: int
    more: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Instant:
    track: Track
    name: str
    time: int


@dataclass(frozen=True, slots=True)
class Arrow:
    """Leads from what one track does at a time to what another one does then or later."""

    name: str
    source: Track
    time: int
    target: Track
    arrives: int


@dataclass(frozen=True, slots=True)
class Counter:
    """Values that hold from `time` on."""

    track: Track
    time: int
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Story:
    title: str = ""
    spans: tuple[StorySpan, ...] = ()
    instants: tuple[Instant, ...] = ()
    arrows: tuple[Arrow, ...] = ()
    counters: tuple[Counter, ...] = ()
    notes: tuple[str, ...] = ()
    """What the reader must know: what is missing, and where two clocks meet."""


def told(read: Callable[[], Story], what: str = "") -> Story:
    """A part of a story; if its files cannot be read, a note that says so."""
    try:
        return read()
    except VerifyError as error:
        return Story(notes=(f"{what}{error}",))


def merged(title: str, parts: Iterable[Story]) -> Story:
    every = tuple(parts)
    names = ("spans", "instants", "arrows", "counters", "notes")
    return Story(title, *(tuple(one for part in every for one in getattr(part, name)) for name in names))


# ---- workers


def workers_part(seen: Transcript, begin: int, end: int) -> Story:
    """The guest's own times are stretched to the total window, `begin` to `end`."""
    length = max(seen.total_end - seen.total_start, 1)

    def at(time: int) -> int:
        return begin + (time - seen.total_start) * (end - begin) // length

    windows = Track("window", "window")
    spans = [
        StorySpan(windows, "total", begin, end),
        StorySpan(windows, "work", at(seen.work_start), at(seen.work_end)),
    ]
    for report in seen.reports:
        moved = (
            f"CPU {report.cpu}" if report.cpu == report.cpu_end else f"CPU {report.cpu} to {report.cpu_end}"
        )
        more = {"cpu": report.cpu, "cpu_end": report.cpu_end}
        track = Track("workers", f"worker {report.id}")
        spans.append(
            StorySpan(track, f"worker {report.id} on {moved}", at(report.start), at(report.end), more)
        )
    return Story(spans=tuple(spans))
