"""The workers of a run, from its console, placed on the story's axis.

Takes a transcript and where its total window lies on the axis; gives a part of a story. Does not fail.
"""

from __future__ import annotations

from benchgate.judge.story.words import Span, Story, Track
from benchgate.judge.wire import Transcript


def part(seen: Transcript, begin: int, end: int) -> Story:
    """The guest's own times are stretched to the total window, `begin` to `end`."""
    length = max(seen.total_end - seen.total_start, 1)

    def at(time: int) -> int:
        return begin + (time - seen.total_start) * (end - begin) // length

    windows = Track("window", "window")
    spans = [
        Span(windows, "total", begin, end),
        Span(windows, "work", at(seen.work_start), at(seen.work_end)),
    ]
    for one in seen.reports:
        moved = f"CPU {one.cpu}" if one.cpu == one.cpu_end else f"CPU {one.cpu} to {one.cpu_end}"
        more = {"cpu": one.cpu, "cpu_end": one.cpu_end}
        track = Track("workers", f"worker {one.id}")
        spans.append(Span(track, f"worker {one.id} on {moved}", at(one.start), at(one.end), more))
    return Story(spans=tuple(spans))
