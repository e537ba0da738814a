"""A story becomes a trace that keeps the rules of the trace event format (tests/traceformat.py)."""

from __future__ import annotations

import json

import pytest

from benchgate.judge.accounts.story.words import Arrow, Counter, Instant, Story, StorySpan, Track
from benchgate.render.trace import trace
from tests import traceformat

ONE, TWO = Track("vCPUs", "vCPU 0"), Track("vCPUs", "vCPU 1")
STORY = Story(
    "primes-linux-smp2, run 0001",
    spans=(
        StorySpan(ONE, "works", 1_000, 2_500, {"cpu": 0}),
        StorySpan(TWO, "halted", 0, 2_001, {"woken by": "vCPU 0"}),
    ),
    instants=(Instant(ONE, "work begins", 1_001),),
    arrows=(Arrow("wakes", ONE, 2_001, TWO, 2_001),),
    counters=(Counter(Track("host", "vCPU 0"), 7, {"ran ms": 1.5}),),
    notes=("a note",),
)


def test_a_trace_keeps_the_rules_and_times_to_the_nanosecond() -> None:
    events = traceformat.check(trace(STORY))
    (works,) = (event for event in events if event["name"] == "works")
    assert (works["ts"], works["dur"], works["args"]) == (1, 1.5, {"cpu": 0})
    (begins,) = (event for event in events if event["name"] == "work begins")
    assert begins["ts"] == 1.001
    source, target = (next(event for event in events if event["ph"] == kind) for kind in "sf")
    assert (source["tid"], source["ts"]) == (works["tid"], 2.001)
    assert target["tid"] != source["tid"]
    assert json.loads(trace(STORY))["otherData"]["notes"] == ["a note"]


def test_the_same_story_gives_the_same_text() -> None:
    assert trace(STORY) == trace(STORY)


def test_an_empty_story_is_a_trace() -> None:
    assert traceformat.check(trace(Story())) == []


def test_untrusted_text_is_visible_and_short() -> None:
    text = trace(Story(instants=(Instant(ONE, "\x1b[2J" + "x" * 10_000, 0),)))
    assert len(text) < 2_000
    assert "\\\\x1b[2J" in text


@pytest.mark.parametrize(
    "broken",
    [
        Story(spans=(StorySpan(ONE, "a", 0, 10), StorySpan(ONE, "b", 5, 15))),
        Story(spans=(StorySpan(ONE, "a", 10, 5),)),
        Story(instants=(Instant(ONE, "a", -1),)),
        Story(arrows=(Arrow("wakes", ONE, 9, TWO, 8),)),
        Story(instants=(Instant(ONE, "", 1),)),
    ],
)
def test_the_check_finds_what_a_viewer_would_misread(broken: Story) -> None:
    with pytest.raises(AssertionError):
        traceformat.check(trace(broken))
