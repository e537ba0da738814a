"""What a story consists of: frozen data, with all times in ns on the story's axis.

`merged` takes parts of a story; gives the whole. Does not fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Track:
    """A line of the picture; tracks of one group stand together."""

    group: str
    name: str


@dataclass(frozen=True, slots=True)
class Span:
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
    """From what one track does at a time to what another one does then or later."""

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
    spans: tuple[Span, ...] = ()
    instants: tuple[Instant, ...] = ()
    arrows: tuple[Arrow, ...] = ()
    counters: tuple[Counter, ...] = ()
    notes: tuple[str, ...] = ()
    """What the reader must know: what is missing, and where two clocks meet."""


def merged(title: str, parts: Iterable[Story]) -> Story:
    every = tuple(parts)
    return Story(
        title,
        tuple(one for part in every for one in part.spans),
        tuple(one for part in every for one in part.instants),
        tuple(one for part in every for one in part.arrows),
        tuple(one for part in every for one in part.counters),
        tuple(one for part in every for one in part.notes),
    )
