"""A story as a trace in Chrome's trace event format, which Perfetto's viewer and chrome://tracing open.

Takes a `Story`; gives the JSON text. Times are in us, to the ns. A group of tracks is a process of the trace,
a track a thread. Deterministic; does not fail.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from benchgate.base.text import one_line
from benchgate.judge.accounts.story.words import Arrow, Counter, Instant, Story, StorySpan, Track

Event = dict[str, Any]


def trace(story: Story) -> str:
    places = _Places()
    events = [*_events(story, places)]
    whole = {
        "displayTimeUnit": "ns",
        "otherData": {"title": one_line(story.title), "notes": [one_line(note, 400) for note in story.notes]},
        "traceEvents": [*places.names(), *events],
    }
    return json.dumps(whole, allow_nan=False) + "\n"


class _Places:
    """Numbers of processes and threads, in the order in which the tracks appear."""

    def __init__(self) -> None:
        self._groups: dict[str, int] = {}
        self._tracks: dict[Track, int] = {}

    def of(self, track: Track) -> Event:
        group = self._groups.setdefault(track.group, len(self._groups) + 1)
        return {"pid": group, "tid": self._tracks.setdefault(track, len(self._tracks) + 1)}

    def names(self) -> Iterator[Event]:
        for name, group in self._groups.items():
            yield {"ph": "M", "name": "process_name", "pid": group, "args": {"name": one_line(name)}}
            yield {"ph": "M", "name": "process_sort_index", "pid": group, "args": {"sort_index": group}}
        for track, number in self._tracks.items():
            place = {"pid": self._groups[track.group], "tid": number}
            yield {"ph": "M", "name": "thread_name", **place, "args": {"name": one_line(track.name)}}
            yield {"ph": "M", "name": "thread_sort_index", **place, "args": {"sort_index": number}}


def _events(story: Story, places: _Places) -> Iterator[Event]:
    for span in story.spans:
        yield _span(span, places)
    for instant in story.instants:
        yield _instant(instant, places)
    for counter in story.counters:
        yield _counter(counter, places)
    for number, arrow in enumerate(story.arrows, 1):
        yield from _arrow(arrow, number, places)


def _us(time: int) -> float:
    return time / 1000


def _span(span: StorySpan, places: _Places) -> Event:
    more = {"args": {key: _plain(value) for key, value in span.more.items()}} if span.more else {}
    length = _us(span.end - span.begin)
    named = {"ph": "X", "name": one_line(span.name), "cat": one_line(span.track.group)}
    return {**named, "ts": _us(span.begin), "dur": length, **places.of(span.track), **more}


def _plain(value: str | int) -> str | int:
    return one_line(value) if isinstance(value, str) else value


def _instant(instant: Instant, places: _Places) -> Event:
    named = {"ph": "i", "name": one_line(instant.name), "cat": one_line(instant.track.group), "s": "t"}
    return {**named, "ts": _us(instant.time), **places.of(instant.track)}


def _counter(counter: Counter, places: _Places) -> Event:
    """A counter belongs to a process; its name tells those of one process apart."""
    place = {"pid": places.of(counter.track)["pid"]}
    return {
        "ph": "C",
        "name": one_line(counter.track.name),
        "ts": _us(counter.time),
        **place,
        "args": counter.values,
    }


def _arrow(arrow: Arrow, number: int, places: _Places) -> Iterator[Event]:
    named = {"name": one_line(arrow.name), "cat": "wake", "id": number}
    yield {"ph": "s", **named, "ts": _us(arrow.time), **places.of(arrow.source)}
    yield {"ph": "f", "bp": "e", **named, "ts": _us(arrow.arrives), **places.of(arrow.target)}
