"""Checks a trace against the rules of Chrome's trace event format, which Perfetto's importer keeps too.

Written from the format's description, not from benchgate's code.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

NEEDED = {
    "X": {"name", "ts", "dur", "pid", "tid"},
    "i": {"name", "ts", "pid", "tid", "s"},
    "C": {"name", "ts", "pid", "args"},
    "s": {"name", "cat", "id", "ts", "pid", "tid"},
    "f": {"name", "cat", "id", "ts", "pid", "tid", "bp"},
    "M": {"name", "pid", "args"},
}
METADATA = {
    "process_name": ("name", str),
    "thread_name": ("name", str),
    "process_sort_index": ("sort_index", int),
    "thread_sort_index": ("sort_index", int),
}

Event = dict[str, Any]


def check(text: str) -> list[Event]:
    """The events; AssertionError if a viewer would refuse or misread one."""
    whole = json.loads(text)
    assert "NaN" not in text
    assert "Infinity" not in text
    assert set(whole) <= {"traceEvents", "displayTimeUnit", "otherData"}
    assert whole["displayTimeUnit"] in ("ms", "ns")
    events: list[Event] = whole["traceEvents"]
    for event in events:
        _one(event)
    _nested(events)
    _flows(events)
    _named(events)
    return events


def _one(event: Event) -> None:
    assert event["ph"] in NEEDED, event
    assert NEEDED[event["ph"]] <= set(event), event
    for key in ("ts", "dur"):
        value = event.get(key, 0)
        assert isinstance(value, int | float), event
        assert not isinstance(value, bool), event
        assert value >= 0, event
    assert all(type(event.get(key, 0)) is int for key in ("pid", "tid")), event
    assert isinstance(event["name"], str), event
    assert event["name"], event
    if event["ph"] == "i":
        assert event["s"] in ("g", "p", "t"), event
    if event["ph"] == "C":
        assert event["args"], event
        assert all(isinstance(value, int | float) for value in event["args"].values()), event
    if event["ph"] == "M":
        key, kind = METADATA[event["name"]]
        assert isinstance(event["args"][key], kind), event


def _ns(event: Event) -> tuple[int, int]:
    begin = round(event["ts"] * 1000)
    return begin, begin + round(event.get("dur", 0) * 1000)


def _nested(events: list[Event]) -> None:
    """Complete events of one thread either nest or do not overlap."""
    threads: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append(_ns(event))
    for spans in threads.values():
        open_until: list[int] = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_until and open_until[-1] <= begin:
                open_until.pop()
            assert not open_until or end <= open_until[-1], (begin, end, open_until)
            open_until.append(end)


def _flows(events: list[Event]) -> None:
    """Each flow has a begin and an end with one id, name and category, in order."""
    begins = {(event["cat"], event["name"], event["id"]): event for event in events if event["ph"] == "s"}
    ends = {(event["cat"], event["name"], event["id"]): event for event in events if event["ph"] == "f"}
    assert begins.keys() == ends.keys()
    assert len(begins) == sum(event["ph"] == "s" for event in events)
    for key, begin in begins.items():
        assert begin["ts"] <= ends[key]["ts"]


def _named(events: list[Event]) -> None:
    """Every process and thread has a name."""
    processes = {event["pid"] for event in events if event["ph"] == "M" and event["name"] == "process_name"}
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["ph"] == "M" and event["name"] == "thread_name"
    }
    for event in events:
        assert event["pid"] in processes, event
        assert event["ph"] in ("M", "C") or (event["pid"], event["tid"]) in threads, event
